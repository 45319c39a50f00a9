"""Windows, model lists and the test call, against local servers that answer as the providers do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from metaclaw import model_table
from metaclaw.config.models import Llm, Settings
from metaclaw.model_info import Model, ModelInfoError, context_window, list_models, live_test_call

CHAT = {"choices": [{"message": {"role": "assistant", "content": "OK"}, "finish_reason": "stop"}]}


class Server:
    """Answers by path; keeps what it was asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.calls: list[tuple[str, dict[str, str], Any]] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else None
        self.calls.append((request.path, {k.lower(): v for k, v in request.headers.items()}, body))
        answer = self.answers.get(request.path)
        if answer is None:
            return web.json_response({"error": {"message": "no such page"}}, status=404)
        if isinstance(answer, tuple):
            return web.json_response({"error": {"message": answer[1]}}, status=answer[0])
        return web.Response(text=answer) if isinstance(answer, str) else web.json_response(answer)


@asynccontextmanager
async def serving(answers: dict[str, Any]) -> AsyncIterator[Server]:
    server = Server(answers)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    running = TestServer(app)
    await running.start_server()
    server.url = str(running.make_url("")).rstrip("/")
    try:
        yield server
    finally:
        await running.close()


def settings(url: str, **fields: Any) -> Settings:
    llm = {"provider": "custom", "api_base": url, "model_id": "m", "api_key": "sk-1"}
    return Settings(llm=Llm(**(llm | fields)), context_window=fields.pop("window", 0))


@pytest.mark.parametrize(
    "entry",
    [
        {"context_length": 7777},
        {"context_window": 7777},
        {"max_model_len": 7777},
        {"max_input_tokens": 7777},
        {"context_size": 7777},
        {"meta": {"n_ctx_train": 7777}},
        {"top_provider": {"context_length": 7777}},
        {"loaded_context_length": 7777, "max_context_length": 99999},
        {"capabilities": {"max_context_window": 7777.0}},
    ],
)
async def test_the_upstreams_list_says_the_window(entry: dict[str, Any]) -> None:
    listed = {"object": "list", "data": [{"id": "other", "context_length": 1}, {"id": "M", **entry}]}
    async with serving({"/v1/models": listed}) as server:
        assert await context_window(settings(server.url)) == 7777
    assert server.calls[0][1]["authorization"] == "Bearer sk-1"


async def test_the_configuration_outranks_the_upstream_and_nobody_is_asked() -> None:
    async with serving({}) as server:
        llm = settings(server.url).llm
        assert await context_window(Settings(llm=llm, context_window=123)) == 123
    assert server.calls == []


@pytest.mark.parametrize(
    "listed",
    [
        None,
        (401, "no key"),
        (500, "broken"),
        "<html>",
        [],
        {"data": "x"},
        {"data": [{"id": "kimi-k2.5"}, 3, {"id": 4}]},
    ],
)
async def test_where_the_upstream_says_nothing_the_table_does(listed: Any) -> None:
    async with serving({"/v1/models": listed}) as server:
        assert await context_window(settings(server.url, model_id="kimi-k2.5")) == 262144


async def test_a_model_that_nobody_knows_has_no_window() -> None:
    async with serving({"/v1/models": {"data": []}}) as server:
        assert await context_window(settings(server.url, model_id="nobody-knows-it")) == 0
    assert await context_window(Settings()) == 0


async def test_a_silent_upstream_is_not_waited_for() -> None:
    release = asyncio.Event()

    async def silent(_: web.Request) -> web.Response:
        await release.wait()
        return web.Response()

    app = web.Application()
    app.router.add_get("/v1/models", silent)
    running = TestServer(app)
    await running.start_server()
    url = str(running.make_url("")).rstrip("/")
    try:
        assert await context_window(settings(url, model_id="kimi-k2.5"), timeout=0.2) == 262144
    finally:
        release.set()
        await running.close()


@pytest.mark.parametrize(
    ("provider", "model", "window"),
    [
        ("kimi", "kimi-k2.5", 262144),
        ("openrouter", "moonshotai/kimi-k2.5:free", 262144),
        ("anthropic", "claude-sonnet-4-5", 200000),
        ("anthropic", "Claude-Sonnet-4-5-20990101", 200000),
        ("custom", "MiniMaxAI/MiniMax-M2.7", 196608),
        ("custom", "no-such-model", 0),
        ("custom", "", 0),
    ],
)
def test_the_table_knows_models_under_the_names_people_use(provider: str, model: str, window: int) -> None:
    assert model_table.window(provider, model) == window


def test_the_table_is_read_without_importing_litellm() -> None:
    code = (
        "import sys; from metaclaw import model_table as t; t.window('kimi', 'x'); sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


async def test_the_list_keeps_the_providers_order_and_windows() -> None:
    async with serving({"/v1/models": {"data": [{"id": "b", "context_length": 8}, {"id": "a"}]}}) as server:
        assert await list_models(settings(server.url).llm) == [Model("b", 8), Model("a", 0)]


async def test_a_local_server_says_the_window_in_effect() -> None:
    shown = {"model_info": {"qwen3.context_length": 40960}, "parameters": "temperature 1\nnum_ctx    8192"}
    async with serving({"/api/show": shown, "/v1/models": {"data": [{"id": "m"}]}}) as server:
        assert await context_window(settings(server.url, provider="ollama")) == 8192
        shown["parameters"] = ""
        assert await context_window(settings(server.url, provider="ollama")) == 40960
    native = {"data": [{"id": "m", "max_context_length": 9999, "loaded_context_length": 4096}]}
    async with serving({"/api/v0/models": native}) as server:
        assert await context_window(settings(server.url, provider="lmstudio")) == 4096


async def test_a_list_that_is_not_there_says_what_was_asked_and_what_came_back() -> None:
    async with serving({}) as server:
        with pytest.raises(ModelInfoError, match=r"/v1/models answered 404: no such page"):
            await list_models(settings(server.url).llm)
        with pytest.raises(ModelInfoError, match="no model list"):
            await list_models(Llm(provider="bedrock", model_id="m"))
    with pytest.raises(ModelInfoError, match="can't be reached"):
        await list_models(settings(server.url).llm)
    with pytest.raises(ModelInfoError, match="metaclaw setup"):
        await list_models(Llm())


@pytest.mark.parametrize(
    ("protocol", "path", "answer", "asked"),
    [
        ("chat", "/v1/chat/completions", CHAT, "max_tokens"),
        ("messages", "/v1/messages", {"content": [{"type": "text", "text": "OK"}]}, "max_tokens"),
        ("responses", "/v1/responses", {"output": []}, "max_output_tokens"),
    ],
)
async def test_a_live_call_tells_latency_and_window(protocol: str, path: str, answer: Any, asked: str) -> None:
    listed = {"data": [{"id": "m", "context_length": 5000}]}
    async with serving({path: answer, "/v1/models": listed}) as server:
        report = await live_test_call(settings(server.url, protocol=protocol).llm)
    assert report.ok and report.latency_ms > 0 and report.context_window == 5000 and report.error == ""
    assert server.calls[0][0] == path and server.calls[0][2][asked] == 64


async def test_a_live_call_with_a_wrong_key_tells_the_providers_sentence_and_not_the_key() -> None:
    async with serving({"/v1/chat/completions": (401, "bad key sk-1234567890")}) as server:
        report = await live_test_call(settings(server.url).llm)
    assert not report.ok and report.status == 401
    assert "bad key" in report.error and "sk-1234567890" not in report.error


async def test_a_base_url_that_lacks_a_version_is_found_out() -> None:
    async with serving({"/llm/v1/chat/completions": CHAT}) as server:
        report = await live_test_call(settings(f"{server.url}/llm").llm)
    assert not report.ok and report.error == f"set llm.api_base to {server.url}/llm/v1: there it answers"


async def test_a_wrong_base_url_says_all_that_was_tried() -> None:
    async with serving({}) as server:
        secret = server.url.replace("http://", "http://user:pw@")
        report = await live_test_call(settings(f"{secret}/v1").llm)
    assert report.tried == (f"{server.url}/v1/chat/completions", f"{server.url}/chat/completions")
    assert all(url in report.error for url in report.tried) and "pw" not in report.error


async def test_a_page_that_is_no_model_is_not_taken_for_one() -> None:
    async with serving({"/v1/chat/completions": "<html>welcome</html>"}) as server:
        report = await live_test_call(settings(server.url).llm)
    assert not report.ok and "not as a model does" in report.error


async def test_a_live_call_never_raises() -> None:
    assert "metaclaw setup" in (await live_test_call(Llm())).error
    async with serving({}) as server:
        pass
    report = await live_test_call(settings(server.url).llm)
    assert not report.ok and "can't be reached" in report.error
    report = await live_test_call(Llm(auth_method="oauth_token", provider="kimi"))
    assert not report.ok and report.error


async def test_no_proxy_stands_in_front_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with serving({"/v1/chat/completions": CHAT}) as server:
        assert (await live_test_call(settings(server.url).llm)).ok
