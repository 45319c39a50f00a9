"""The helper model is asked through the real litellm, at local servers that speak the providers' protocols."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from metaclaw.config.models import Llm, Openrouter, Rl, Settings
from metaclaw.helper_llm import HelperError, HelperLlm, endpoint

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ASK = [{"role": "system", "content": "Count."}, {"role": "user", "content": "How many?"}]
Reply = Callable[[dict[str, Any]], web.Response]


def chat(text: str, finish: str = "stop") -> web.Response:
    message = {"role": "assistant", "content": text}
    usage = {
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "total_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 3},
    }
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m-served", "choices": [choice]}
    return web.json_response(body | {"usage": usage})


class Server:
    """Answers each call with the next reply, the last one for ever; keeps what it was asked."""

    def __init__(self, *replies: Reply | web.Response | str) -> None:
        self.replies = list(replies)
        self.calls: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.calls.append((request.path_qs, {k.lower(): v for k, v in request.headers.items()}, body))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, str):
            return chat(reply)
        return reply if isinstance(reply, web.Response) else reply(body)


@asynccontextmanager
async def serving(*replies: Reply | web.Response | str) -> AsyncIterator[Server]:
    server = Server(*replies)
    app = web.Application()
    app.router.add_post("/{path:.*}", server.handle)
    running = TestServer(app)
    await running.start_server()
    server.url = str(running.make_url("")).rstrip("/")
    try:
        yield server
    finally:
        await running.close()


def helper(base: str, **fields: Any) -> HelperLlm:
    llm = Llm(**({"provider": "custom", "api_base": base, "model_id": "vendor/m", "api_key": "sk-key-1234"} | fields))
    return HelperLlm(llm, timeout=20, pause=0.01)


async def test_plain_text_comes_with_usage_and_the_model_that_answered() -> None:
    async with serving("<think>well</think>\nTwo.") as server:
        reply = await helper(server.url).complete(ASK)
    assert reply.text == "Two." and reply.parsed is None and reply.model == "m-served"
    assert reply.usage == {"prompt": 5, "completion": 2, "cached": 3}
    path, headers, body = server.calls[0]
    assert path == "/v1/chat/completions" and headers["authorization"] == "Bearer sk-key-1234"
    assert body["model"] == "vendor/m" and "response_format" not in body


@pytest.mark.parametrize("base", ["/v1", "/paas/v4", "/paas/v4/", "/paas/v4/chat/completions", "/d/gpt?api-version=1"])
async def test_every_form_of_base_url_works(base: str) -> None:
    async with serving("Two.") as server:
        await helper(server.url + base).complete(ASK)
    path = base.rstrip("/").removesuffix("/chat/completions")
    first, _, query = path.partition("?")
    assert server.calls[0][0] == f"{first}/chat/completions" + (f"?{query}" if query else "")


async def test_a_schema_is_asked_for_and_the_answer_is_checked() -> None:
    async with serving('{"n": 2}') as server:
        reply = await helper(server.url).complete(ASK, schema=SCHEMA, purpose="skill writer")
    assert reply.parsed == {"n": 2}
    body = server.calls[0][2]
    assert body["response_format"]["json_schema"]["name"] == "skill_writer"
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert '"integer"' in body["messages"][0]["content"] and body["messages"][0]["content"].startswith("Count.")


async def test_a_server_that_takes_no_schema_is_asked_without_and_that_is_remembered() -> None:
    def picky(body: dict[str, Any]) -> web.Response:
        if "response_format" in body:
            return web.json_response({"error": {"message": "response_format is not supported"}}, status=400)
        return chat('```json\n{"n": 2}\n```')

    async with serving(picky) as server:
        asked = helper(server.url)
        assert (await asked.complete(ASK, schema=SCHEMA)).parsed == {"n": 2}
        assert (await asked.complete(ASK, schema=SCHEMA)).parsed == {"n": 2}
    assert ["response_format" in call[2] for call in server.calls] == [True, False, False]


async def test_a_wrong_answer_is_sent_back_once_with_what_is_wrong() -> None:
    async with serving('{"n": "two"}', '{"n": 2}') as server:
        reply = await helper(server.url).complete(ASK, schema=SCHEMA)
    assert reply.parsed == {"n": 2} and reply.usage["prompt"] == 10
    again = server.calls[1][2]["messages"]
    assert again[-2] == {"role": "assistant", "content": '{"n": "two"}'}
    assert "is not of type 'integer'" in again[-1]["content"]


async def test_two_wrong_answers_are_a_failure() -> None:
    async with serving("no idea") as server:
        with pytest.raises(HelperError) as caught:
            await helper(server.url).complete(ASK, schema=SCHEMA)
    assert caught.value.reason == "invalid" and len(server.calls) == 2


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (lambda _: chat('{"n": 2}', "length"), "truncated"),
        (lambda _: chat("", "length"), "truncated"),
        (lambda _: chat("", "stop"), "empty"),
        (lambda _: chat("<think>endless", "stop"), "empty"),
        (lambda _: chat("", "content_filter"), "refused"),
        (lambda _: web.json_response({"error": {"message": "no such key"}}, status=401), "refused"),
        (lambda _: web.json_response({"error": {"message": "broken"}}, status=500), "failed"),
        (lambda _: web.json_response({"error": {"message": "busy"}}, status=529), "failed"),
    ],
)
async def test_each_failure_has_its_reason_and_is_no_empty_answer(reply: Reply, reason: str) -> None:
    async with serving(reply) as server:
        with pytest.raises(HelperError) as caught:
            await helper(server.url).complete(ASK)
    assert caught.value.reason == reason
    assert "sk-key-1234" not in str(caught.value) and "://" not in str(caught.value)
    assert len(server.calls) == (3 if reason == "failed" else 1)


async def test_trouble_that_passes_is_waited_out() -> None:
    busy = web.json_response({"error": {"message": "busy"}}, status=429, headers={"retry-after": "0"})
    broken = web.json_response({"error": {"message": "x"}}, status=503)
    async with serving(busy, broken, "Two.") as server:
        assert (await helper(server.url).complete(ASK)).text == "Two."
    assert len(server.calls) == 3


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with serving("x") as server:
        pass
    with pytest.raises(HelperError) as caught:
        await helper(server.url).complete(ASK)
    assert caught.value.reason == "unreachable"


async def test_a_messages_endpoint_is_asked_in_its_protocol() -> None:
    def answer(body: dict[str, Any]) -> web.Response:
        content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": '{"n": 2}'}]
        usage = {"input_tokens": 5, "output_tokens": 2}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m-served", "content": content}
        return web.json_response(message | {"stop_reason": "end_turn", "stop_sequence": None, "usage": usage})

    async with serving(answer) as server:
        reply = await helper(server.url + "/anthropic").complete(ASK, schema=SCHEMA, max_tokens=99)
    assert reply.parsed == {"n": 2}
    path, headers, body = server.calls[0]
    assert path == "/anthropic/v1/messages" and body["max_tokens"] == 99 and body["model"] == "vendor/m"
    assert headers["x-api-key"] == "sk-key-1234" and headers["authorization"] == "Bearer sk-key-1234"
    assert not {"response_format", "tools", "output_format"} & set(body)


async def test_a_responses_endpoint_is_asked_in_its_protocol() -> None:
    def answer(body: dict[str, Any]) -> web.Response:
        text = {"type": "output_text", "text": "Two.", "annotations": []}
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
        usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
        whole = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
        more = {"output": [item], "usage": usage, "parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
        return web.json_response(whole | more)

    async with serving(answer) as server:
        reply = await helper(server.url, protocol="responses").complete(ASK)
    assert reply.text == "Two." and server.calls[0][0] == "/v1/responses"


async def test_no_key_of_the_environment_goes_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another")
    async with serving("Two.") as server:
        await helper(server.url, api_key="").complete(ASK)
    assert "sk-of-another" not in json.dumps(server.calls[0][1])


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with serving("Two.") as server:
        assert (await helper(server.url).complete(ASK)).text == "Two."


@pytest.mark.skipif(os.name == "nt", reason="the stand-in program is a script with a shebang")
async def test_a_subscription_answers_through_the_vendors_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"type": "result", "is_error": False, "result": '{"n": 2}', "usage": {"input_tokens": 5, "output_tokens": 2}}
    program = tmp_path / "claude"
    program.write_text(f"#!{sys.executable}\nprint({json.dumps(said)!r})\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    llm = Llm(auth_method="oauth_token", provider="anthropic", oauth_token="t-1")
    reply = await HelperLlm(llm, timeout=20).complete(ASK, schema=SCHEMA)
    assert reply.parsed == {"n": 2} and reply.usage["prompt"] == 5


@pytest.mark.parametrize(
    ("llm", "said"),
    [
        (Llm(), "no model"),
        (Llm(model_id="m"), "metaclaw setup"),
        (Llm(provider="kimi", model_id="m"), "no key"),
        (Llm(provider="kimi", auth_method="oauth_token"), "no subscription program"),
    ],
)
async def test_what_is_not_configured_is_said_without_asking_anybody(llm: Llm, said: str) -> None:
    with pytest.raises(HelperError, match=said) as caught:
        await HelperLlm(llm).complete(ASK)
    assert caught.value.reason == "not_configured"
    assert said in HelperLlm(llm).missing()
    assert HelperLlm(Llm(provider="kimi", model_id="m", api_key="sk-a")).missing() == ""


def test_each_role_has_its_own_endpoint_or_the_main_one() -> None:
    main = Llm(provider="kimi", model_id="main", api_key="sk-main")
    rl = Rl(evolver_api_base="https://e.example.com", evolver_api_key="sk-e", evolver_model="writer")
    settings = Settings(llm=main, rl=rl)
    evolver = endpoint(settings, "evolver")
    assert (evolver.api_base, evolver.model_id) == ("https://e.example.com", "writer")
    assert evolver.api_key.get_secret_value() == "sk-e"
    assert endpoint(settings, "judge") is not None and endpoint(settings, "judge").model_id == "main"
    assert endpoint(settings, "extractor") == main


def test_the_main_key_goes_to_no_other_host() -> None:
    main = Llm(provider="kimi", model_id="main", api_key="sk-main")
    elsewhere = endpoint(Settings(llm=main, rl=Rl(prm_url="https://j.example.com/v1")), "judge")
    assert elsewhere.api_key.get_secret_value() == ""
    same = endpoint(Settings(llm=main, rl=Rl(prm_url="https://api.moonshot.cn/v1", prm_model="j")), "judge")
    assert same.api_key.get_secret_value() == "sk-main" and same.model_id == "j"


def test_a_role_may_change_the_model_alone() -> None:
    main = Llm(provider="kimi", model_id="main", api_key="sk-main")
    changed = endpoint(Settings(llm=main, rl=Rl(evolver_model="writer")), "evolver")
    assert (changed.provider, changed.model_id, changed.api_key.get_secret_value()) == ("kimi", "writer", "sk-main")


async def test_openrouter_extras_come_along() -> None:
    async with serving("Two.") as server:
        llm = Llm(provider="openrouter", api_base=server.url + "/api/v1", model_id="a/b", api_key="k")
        extras = Openrouter(fallback_models="c/d", data_policy="deny")
        await HelperLlm(llm, openrouter=extras, timeout=20).complete(ASK)
    _, headers, body = server.calls[0]
    assert headers["x-title"] == "MetaClaw" and body["models"] == ["a/b", "c/d"]
    assert body["provider"] == {"data_collection": "deny"} and "extra_body" not in body
