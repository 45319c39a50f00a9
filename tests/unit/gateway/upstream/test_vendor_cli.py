"""A vendor's program as upstream: with programs that note how they were called, and with the real ones."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from metaclaw.config.models import Llm
from metaclaw.gateway.upstream.base import Answer, Request, UpstreamError
from metaclaw.gateway.upstream.vendor_cli import VendorCli
from metaclaw.subscription import PROGRAMS, Conversation, start
from tests import tools

TOKEN = "sk-ant-oat01-not-a-real-token"

CLAUDE_EVENTS = [
    {"type": "system", "subtype": "init"},
    {"type": "stream_event", "event": {"type": "message_start", "message": {}}},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"thinking": "hm"}}},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"text": "Hel"}}},
    {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"text": "lo"}}},
    {"type": "stream_event", "event": {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}},
    {
        "type": "result",
        "is_error": False,
        "result": "Hello",
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 2},
    },
]


class Fake:
    """An executable that writes down its arguments, environment and stdin, then prints what it is told."""

    def __init__(self, folder: Path, name: str, script: str) -> None:
        self.note = folder / "note.json"
        program = folder / name
        program.write_text(
            f"#!{sys.executable}\n"
            "import json, os, sys, time, subprocess\n"
            "folder = os.getcwd()\n"
            "files = {f: open(os.path.join(d, f)).read() for d, _, fs in os.walk('..') for f in fs}\n"
            "seen = {'argv': sys.argv[1:], 'env': dict(os.environ), 'stdin': sys.stdin.buffer.read().decode(),\n"
            "        'files': files, 'cwd': folder, 'here': os.listdir('.'), 'pid': os.getpid()}\n"
            f"open({str(self.note)!r}, 'w').write(json.dumps(seen))\n"
            "def say(data):\n    print(json.dumps(data), flush=True)\n" + script,
            encoding="utf-8",
        )
        program.chmod(0o755)
        self.environ = {"PATH": str(folder), "HOME": str(folder), "ANTHROPIC_BASE_URL": "http://127.0.0.1:30000"}
        self.environ |= {"ANTHROPIC_API_KEY": "sk-a", "OPENAI_API_KEY": "sk-b", "METACLAW_LLM_API_KEY": "c"}

    def wait(self) -> None:
        while not self.note.exists() or not self.note.read_text():
            time.sleep(0.02)

    def seen(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.note.read_text(encoding="utf-8"))
        return data


def printing(events: list[dict[str, Any]]) -> str:
    return "".join(f"say({event!r})\n" for event in events)


def cli(fake: Fake, provider: str = "anthropic", *, idle: float = 20, **fields: Any) -> VendorCli:
    llm = Llm(auth_method="oauth_token", provider=provider, model_id="m-1", oauth_token=TOKEN, **fields)  # type: ignore[arg-type]
    return VendorCli("subscription", llm, idle_timeout=idle, environ=fake.environ)


def request(messages: list[dict[str, Any]] | None = None, **fields: Any) -> Request:
    body = {"model": "m-1", "messages": messages or [{"role": "user", "content": "Say hello"}], **fields}
    return Request("chat", json.dumps(body).encode(), {}, stream=bool(fields.get("stream")), model="m-1")


async def text(answer: Answer) -> str:
    try:
        return b"".join([chunk async for chunk in answer.chunks]).decode()
    finally:
        await answer.aclose()


async def frames(answer: Answer) -> list[dict[str, Any]]:
    parts = [part.removeprefix("data: ") for part in (await text(answer)).split("\n\n") if part]
    assert parts[-1] == "[DONE]"
    return [json.loads(part) for part in parts[:-1]]


posix = pytest.mark.skipif(os.name == "nt", reason="the recording program is a script with a shebang")


@posix
async def test_claude_streams_text_reasoning_finish_and_usage(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", printing(CLAUDE_EVENTS))
    found = await frames(await cli(fake).send(request(stream=True, stream_options={"include_usage": True})))
    deltas = [f["choices"][0]["delta"] for f in found if f["choices"]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert [d.get("reasoning_content") or d.get("content") for d in deltas[1:-1]] == ["hm", "Hel", "lo"]
    assert found[-2]["choices"][0]["finish_reason"] == "length"
    assert found[-1]["usage"]["prompt_tokens"] == 7 and found[-1]["usage"]["completion_tokens"] == 2
    assert found[-1]["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}


@posix
async def test_the_program_gets_the_prompt_on_stdin_and_no_tool(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", printing(CLAUDE_EVENTS))
    messages = [{"role": "system", "content": "Be terse, secretly."}, {"role": "user", "content": "Say hello"}]
    await text(await cli(fake).send(request(messages)))
    seen = fake.seen()
    argv = seen["argv"]
    assert seen["stdin"] == "Say hello"
    assert seen["files"]["instructions.md"] == "Be terse, secretly."
    assert argv[argv.index("--tools") + 1] == ""
    assert argv[argv.index("--model") + 1] == "m-1"
    assert "Say hello" not in argv and "Be terse, secretly." not in argv
    assert seen["here"] == []
    assert seen["cwd"] not in [str(path) for path in Path(seen["cwd"]).parents[1].glob("*/work")]


@posix
@pytest.mark.parametrize("provider", ["anthropic", "openai-codex", "gemini"])
async def test_no_program_is_given_a_way_around_permissions_or_a_secret_in_its_arguments(
    tmp_path: Path, provider: str
) -> None:
    names = {"anthropic": "claude", "openai-codex": "codex", "gemini": "gemini"}
    fake = Fake(tmp_path, names[provider], "")
    await text(await cli(fake, provider).send(request()))
    argv = " ".join(fake.seen()["argv"])
    for word in ("dangerously", "bypass", "yolo", "full-access", "skip-permissions", "skip-trust", "auto_edit", TOKEN):
        assert word not in argv


@posix
async def test_the_token_goes_by_environment_and_other_keys_and_addresses_do_not(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", printing(CLAUDE_EVENTS))
    await text(await cli(fake).send(request()))
    env = fake.seen()["env"]
    assert env["CLAUDE_CODE_OAUTH_TOKEN"] == TOKEN
    assert not {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "METACLAW_LLM_API_KEY"} & set(env)


@posix
async def test_a_conversation_becomes_one_prompt_with_calls_and_results(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", printing(CLAUDE_EVENTS))
    call = {"id": "c:1", "type": "function", "function": {"name": "look", "arguments": '{"q":1}'}}
    picture = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:x"}}]
    messages = [
        {"role": "user", "content": "find it 🙂"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c:1", "content": "found"},
        {"role": "user", "content": picture},
    ]
    await text(await cli(fake).send(request(messages, response_format={"type": "json_object"})))
    prompt = fake.seen()["stdin"]
    for part in ("find it 🙂", '<tool_call id="c:1" name="look">{"q":1}', 'answers="c:1"', "see\n[image left out]"):
        assert part in prompt
    assert "JSON" in fake.seen()["files"]["instructions.md"]


@posix
async def test_codex_answers_in_one_piece(tmp_path: Path) -> None:
    events = [
        {"type": "thread.started"},
        {"type": "item.completed", "item": {"type": "error", "message": "an odd setting"}},
        {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Hello"}},
        {"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}},
    ]
    fake = Fake(tmp_path, "codex", printing(events))
    body = json.loads(await text(await cli(fake, "openai-codex").send(request())))
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "Hello", "reasoning_content": "hm"}
    assert body["usage"]["total_tokens"] == 7
    seen = fake.seen()
    assert seen["env"]["CODEX_ACCESS_TOKEN" if not TOKEN.startswith("sk-") else "CODEX_API_KEY"] == TOKEN
    assert seen["argv"][seen["argv"].index("--sandbox") + 1] == "read-only"
    assert "features.shell_tool=false" in seen["argv"] and seen["argv"][-1] == "-"


@posix
async def test_gemini_gets_settings_without_tools(tmp_path: Path) -> None:
    events = [
        {"type": "message", "role": "user", "content": "Say hello"},
        {"type": "message", "role": "assistant", "content": "Hel", "delta": True},
        {"type": "message", "role": "assistant", "content": "lo", "delta": True},
        {"type": "result", "status": "success", "stats": {"input_tokens": 5, "output_tokens": 2, "cached": 1}},
    ]
    fake = Fake(tmp_path, "gemini", printing(events))
    found = await frames(await cli(fake, "gemini").send(request(stream=True)))
    assert "".join(f["choices"][0]["delta"].get("content", "") for f in found) == "Hello"
    assert json.loads(fake.seen()["files"]["settings.json"])["tools"] == {"core": []}


@posix
@pytest.mark.parametrize(
    ("provider", "name", "events", "status"),
    [
        ("anthropic", "claude", [{"type": "result", "is_error": True, "api_error_status": 529, "result": "x"}], 529),
        ("anthropic", "claude", [{"type": "result", "is_error": True, "api_error_status": 401, "result": "x"}], 401),
        (
            "openai-codex",
            "codex",
            [{"type": "error", "message": "Reconnecting... 2/5 (unexpected status 401 Unauthorized: x)"}],
            401,
        ),
        ("openai-codex", "codex", [{"type": "turn.failed", "error": {"message": "unexpected status 429 x"}}], 429),
        ("gemini", "gemini", [{"type": "result", "status": "error", "error": {"message": "x"}}], 502),
    ],
)
async def test_what_the_vendor_refused_with_is_told_with_its_status(
    tmp_path: Path, provider: str, name: str, events: list[dict[str, Any]], status: int
) -> None:
    fake = Fake(tmp_path, name, printing(events) + "time.sleep(30)\n")
    answer = await cli(fake, provider).send(request(stream=True))
    assert answer.status == status
    assert json.loads(await text(answer))["error"]["message"]


@posix
async def test_addresses_and_tokens_in_a_failure_are_not_repeated(tmp_path: Path) -> None:
    said = f"unexpected status 400 for {TOKEN}, url: https://user:pw@api.example.com/v1"
    fake = Fake(tmp_path, "codex", printing([{"type": "turn.failed", "error": {"message": said}}]))
    told = await text(await cli(fake, "openai-codex").send(request()))
    assert "example.com" not in told and TOKEN not in told


@posix
@pytest.mark.parametrize(
    ("name", "provider", "script"),
    [
        ("claude", "anthropic", "say({'type': 'result', 'is_error': True, 'result': 'Not logged in · run /login'})"),
        ("gemini", "gemini", "sys.stderr.write('Please set an Auth method in settings.json'); sys.exit(41)"),
    ],
)
async def test_not_logged_in_says_how_to_log_in(tmp_path: Path, name: str, provider: str, script: str) -> None:
    fake = Fake(tmp_path, name, script + "\n")
    with pytest.raises(UpstreamError) as caught:
        await cli(fake, provider).send(request())
    assert caught.value.status == 503 and "metaclaw auth paste-token" in caught.value.public


async def test_a_missing_program_says_how_to_install_it(tmp_path: Path) -> None:
    llm = Llm(auth_method="oauth_token", provider="anthropic")
    with pytest.raises(UpstreamError, match="npm install") as caught:
        await VendorCli("s", llm, environ={"PATH": str(tmp_path)}).send(request())
    assert caught.value.status == 503


@posix
async def test_a_program_that_dies_without_a_word_is_a_502(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", "sys.stderr.write('boom'); sys.exit(3)\n")
    answer = await cli(fake).send(request())
    assert answer.status == 502 and "code 3: boom" in await text(answer)


@posix
async def test_a_program_that_breaks_off_ends_as_a_broken_stream(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", printing(CLAUDE_EVENTS[:4]) + "sys.exit(1)\n")
    answer = await cli(fake).send(request(stream=True))
    with pytest.raises(UpstreamError):
        await text(answer)


@posix
async def test_a_silent_program_is_ended_with_all_it_started(tmp_path: Path) -> None:
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    fake = Fake(tmp_path, "claude", printing(CLAUDE_EVENTS[:4]) + child + "time.sleep(60)\n")
    answer = await cli(fake, idle=0.7).send(request(stream=True))
    with pytest.raises(UpstreamError) as caught:
        await text(answer)
    assert caught.value.status == 504
    assert not psutil.pid_exists(fake.seen()["pid"])


@posix
async def test_a_client_that_leaves_ends_the_program(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", printing(CLAUDE_EVENTS[:4]) + "time.sleep(60)\n")
    answer = await cli(fake).send(request(stream=True))
    pid = fake.seen()["pid"]
    assert psutil.pid_exists(pid)
    began = time.monotonic()
    await answer.aclose()
    assert not psutil.pid_exists(pid) and time.monotonic() - began < 10


@posix
async def test_a_cancelled_call_ends_the_program(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", "time.sleep(60)\n")
    sending = asyncio.create_task(cli(fake).send(request()))
    await asyncio.to_thread(fake.wait)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert not psutil.pid_exists(fake.seen()["pid"])


@posix
async def test_a_huge_prompt_and_a_program_that_reads_none_of_it_do_not_lock(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text(f"#!{sys.executable}\nprint('''{json.dumps(CLAUDE_EVENTS[-1])}''')\n", encoding="utf-8")
    program.chmod(0o755)
    llm = Llm(auth_method="oauth_token", provider="anthropic")
    upstream = VendorCli("s", llm, environ={"PATH": str(tmp_path)}, idle_timeout=20)
    answer = await upstream.send(request([{"role": "user", "content": "x" * 5_000_000}]))
    assert json.loads(await text(answer))["choices"][0]["message"]["content"] == "Hello"


async def test_a_model_name_that_is_a_flag_is_refused() -> None:
    body = {"model": "--dangerously-skip-permissions", "messages": [{"role": "user", "content": "hi"}]}
    upstream = VendorCli("s", Llm(auth_method="oauth_token", provider="anthropic"))
    with pytest.raises(UpstreamError) as caught:
        await upstream.send(Request("chat", json.dumps(body).encode(), {}))
    assert caught.value.status == 400


async def test_a_forced_tool_call_is_refused_and_a_provider_without_program_too() -> None:
    upstream = VendorCli("s", Llm(auth_method="oauth_token", provider="anthropic"))
    tool = {"type": "function", "function": {"name": "look"}}
    with pytest.raises(UpstreamError) as caught:
        await upstream.send(request(tools=[tool], tool_choice="required"))
    assert caught.value.status == 400
    with pytest.raises(UpstreamError) as caught:
        await VendorCli("s", Llm(auth_method="oauth_token", provider="kimi")).send(request())
    assert caught.value.status == 503


# The real programs, against a local server that stands in for the vendor.

MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
MESSAGES_STREAM = [
    {"type": "message_start", "message": MESSAGE | {"usage": {"input_tokens": 3, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
GEMINI_CHUNK = {
    "response": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7},
    }
}
RESPONSE_ITEM = {
    "type": "message",
    "id": "m1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
}
RESPONSE_USAGE = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
RESPONSES_STREAM = [
    {"type": "response.created", "response": {"id": "r1", "status": "in_progress", "output": []}},
    {"type": "response.output_item.done", "output_index": 0, "item": RESPONSE_ITEM},
    {
        "type": "response.completed",
        "response": {"id": "r1", "status": "completed", "output": [RESPONSE_ITEM], "usage": RESPONSE_USAGE},
    },
]
VENDOR_STREAMS: dict[str, list[dict[str, Any]]] = {
    "/v1/messages": MESSAGES_STREAM,
    "/v1internal:streamGenerateContent": [GEMINI_CHUNK],
    "/v1/responses": RESPONSES_STREAM,
}


@asynccontextmanager
async def vendor(seen: list[tuple[str, str, Any]]) -> AsyncIterator[str]:
    async def handle(req: web.Request) -> web.StreamResponse:
        raw = await req.text()
        seen.append((req.path, req.headers.get("authorization", ""), json.loads(raw) if raw else None))
        if "loadCodeAssist" in req.path:
            return web.json_response({"currentTier": {"id": "standard-tier"}, "cloudaicompanionProject": "p"})
        events = VENDOR_STREAMS.get(req.path)
        if events is None:
            return web.json_response({"error": {"message": "no"}}, status=404)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(req)
        for data in events:
            name = f"event: {data['type']}\n" if "type" in data else ""
            await response.write(f"{name}data: {json.dumps(data)}\n\n".encode())
        return response

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", handle)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("")).rstrip("/")
    finally:
        await server.close()


def real(name: str, tmp_path: Path) -> dict[str, str]:
    places = [tools.folder() / folder / "node_modules" / ".bin" for folder in ("clients", name)]
    found = [place for place in places if (place / name).exists()]
    if not found:
        pytest.skip(f"the real {name} is not in {tools.folder()} (`python tests/tools.py clients` fetches clients)")
    return {"PATH": os.pathsep.join([str(found[0]), tools.path_with_node()]), "HOME": str(tmp_path)}


async def test_the_real_claude_answers_without_tools_by_the_token(tmp_path: Path) -> None:
    environ = real("claude", tmp_path)
    seen: list[tuple[str, str, Any]] = []
    async with vendor(seen) as url:
        llm = Llm(auth_method="oauth_token", provider="anthropic", oauth_token=TOKEN)
        upstream = VendorCli("s", llm, environ=environ, extra={"ANTHROPIC_BASE_URL": url}, idle_timeout=60)
        body = {"model": "sonnet", "stream": True, "messages": [{"role": "system", "content": "Be terse."}]}
        body["messages"].append({"role": "user", "content": "Say hello"})  # type: ignore[union-attr]
        answer = await upstream.send(Request("chat", json.dumps(body).encode(), {}, stream=True))
        found = await frames(answer)
    assert [f["choices"][0]["delta"].get("content") for f in found] == ["", "Hel", "lo", None]
    calls = [(authorization, sent) for path, authorization, sent in seen if path == "/v1/messages"]
    assert len(calls) == 1 and calls[0][0] == f"Bearer {TOKEN}"
    assert calls[0][1]["tools"] == [] and "Be terse." in json.dumps(calls[0][1]["system"])


async def test_the_real_gemini_answers_without_tools_by_the_token(tmp_path: Path) -> None:
    environ = real("gemini", tmp_path)
    seen: list[tuple[str, str, Any]] = []
    async with vendor(seen) as url:
        llm = Llm(auth_method="oauth_token", provider="gemini", oauth_token="ya29.not-a-real-token")
        upstream = VendorCli("s", llm, environ=environ, extra={"CODE_ASSIST_ENDPOINT": url}, idle_timeout=60)
        body = {"model": "gemini-2.5-pro", "messages": [{"role": "user", "content": "Say hello"}]}
        answer = json.loads(await text(await upstream.send(Request("chat", json.dumps(body).encode(), {}))))
    assert answer["choices"][0]["message"]["content"] == "Hello"
    sent = next(data for path, _, data in seen if path.endswith("streamGenerateContent"))
    assert not sent["request"]["tools"][0]["functionDeclarations"]


async def test_the_real_programs_without_login_say_how_to_log_in(tmp_path: Path) -> None:
    environ = real("claude", tmp_path)
    llm = Llm(auth_method="oauth_token", provider="anthropic")
    with pytest.raises(UpstreamError, match="metaclaw auth paste-token") as caught:
        await VendorCli("s", llm, environ=environ, idle_timeout=60).send(request())
    assert caught.value.status == 503


async def test_the_real_codex_answers_and_knows_every_argument(tmp_path: Path) -> None:
    environ = real("codex", tmp_path)
    seen: list[tuple[str, str, Any]] = []
    codex = PROGRAMS["codex"]
    async with vendor(seen) as url:
        provider = f'model_providers.local={{name="local",base_url="{url}/v1",wire_api="responses",env_key="LOCAL"}}'
        pointed = ["-c", "model_provider=local", "-c", provider]
        local = replace(
            codex,
            arguments=lambda folder, model: codex.arguments(folder, model)[:-1] + pointed + ["--strict-config", "-"],
        )
        said = Conversation("Be terse.", "Say hello")
        call = await start(local, said, model="gpt-5.2", idle=30, environ=environ, extra={"LOCAL": "sk-x"})
        try:
            events = [event async for event in call.events()]
        finally:
            await call.aclose()
    assert ("".join(event.text for event in events), events[-1].finish) == ("Hello", "stop")
    sent = next(data for path, _, data in seen if path == "/v1/responses")
    assert [tool.get("name") for tool in sent["tools"]] == ["request_user_input"]  # which only asks, and nobody answers
    assert "Be terse." in json.dumps(sent["input"][0]) and "Say hello" in json.dumps(sent["input"][-1])
