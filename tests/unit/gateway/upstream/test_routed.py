"""Providers with a protocol of their own, asked through the real litellm at a local server that speaks it."""

from __future__ import annotations

import asyncio
import binascii
import json
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from metaclaw.config.models import Llm
from metaclaw.gateway.upstream.base import Answer, Request, UpstreamError
from metaclaw.gateway.upstream.routed import Routed
from metaclaw.gateway.upstream.translated import Translated

Handler = Callable[[web.Request], Any]


def event(name: str, payload: dict[str, Any]) -> bytes:
    """One message of Amazon's event stream encoding."""
    headers = b""
    for key, value in ((":event-type", name), (":content-type", "application/json"), (":message-type", "event")):
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    prelude += struct.pack(">I", binascii.crc32(prelude))
    message = prelude + headers + body
    return message + struct.pack(">I", binascii.crc32(message))


TEXT = [
    event("messageStart", {"role": "assistant"}),
    event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hel"}}),
    event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "lo"}}),
    event("contentBlockStop", {"contentBlockIndex": 0}),
    event("messageStop", {"stopReason": "end_turn"}),
    event("metadata", {"usage": {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9}, "metrics": {"latencyMs": 1}}),
]
TOOLS = [
    event("messageStart", {"role": "assistant"}),
    event(
        "contentBlockStart",
        {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "tooluse_a:b.C-1", "name": "look"}}},
    ),
    event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"q":'}}}),
    event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '"x"}'}}}),
    event("contentBlockStop", {"contentBlockIndex": 0}),
    event("messageStop", {"stopReason": "tool_use"}),
    event("metadata", {"usage": {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9}, "metrics": {"latencyMs": 1}}),
]
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@asynccontextmanager
async def bedrock(handler: Handler) -> AsyncIterator[Routed]:
    app = web.Application()
    app.router.add_post("/model/{model}/{call}", handler)
    server = TestServer(app)
    await server.start_server()
    llm = Llm(
        provider="bedrock",
        model_id="anthropic.claude-3-5-sonnet-20240620-v1:0",
        api_key="bedrock-key-1234",
        api_base=str(server.make_url("")).rstrip("/"),
    )
    try:
        yield Routed("bedrock", llm, idle_timeout=20)
    finally:
        await server.close()


def request(**fields: Any) -> Request:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}
    return Request("chat", json.dumps(body).encode(), {}, stream=bool(fields.get("stream")), model="m")


async def read(answer: Answer) -> list[dict[str, Any]]:
    text = b"".join([chunk async for chunk in answer.chunks]).decode()
    await answer.aclose()
    frames = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert frames[-1] == "[DONE]"
    return [json.loads(frame) for frame in frames[:-1]]


def streaming(events: list[bytes], seen: list[Any] | None = None) -> Handler:
    async def handle(req: web.Request) -> web.StreamResponse:
        if seen is not None:
            seen.append((req.path, dict(req.headers), await req.json()))
        response = web.StreamResponse(headers={"content-type": "application/vnd.amazon.eventstream"})
        await response.prepare(req)
        for one in events:
            await response.write(one)
        return response

    return handle


async def test_a_stream_comes_out_in_the_chat_protocol_with_usage() -> None:
    seen: list[Any] = []
    async with bedrock(streaming(TEXT, seen)) as upstream:
        answer = await upstream.send(request(stream=True, stream_options={"include_usage": True}))
        frames = await read(answer)
    assert dict(answer.headers)["content-type"].startswith("text/event-stream")
    assert "".join(f["choices"][0]["delta"].get("content") or "" for f in frames if f["choices"]) == "Hello"
    assert [f["choices"][0]["finish_reason"] for f in frames if f["choices"]][-1] == "stop"
    assert frames[-1]["usage"]["prompt_tokens"] == 7 and frames[-1]["usage"]["completion_tokens"] == 2
    path, headers, _ = seen[0]
    assert path.endswith("/converse-stream") and headers["Authorization"] == "Bearer bedrock-key-1234"


async def test_usage_stays_away_from_a_client_that_did_not_ask() -> None:
    async with bedrock(streaming(TEXT)) as upstream:
        frames = await read(await upstream.send(request(stream=True)))
    assert all("usage" not in frame and frame["choices"] for frame in frames)


async def test_tool_call_ids_pass_verbatim_both_ways() -> None:
    seen: list[Any] = []
    call = {"id": "tooluse_Z-9", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "tooluse_Z-9", "content": "found"},
    ]
    async with bedrock(streaming(TOOLS, seen)) as upstream:
        frames = await read(await upstream.send(request(stream=True, tools=[LOOK], messages=history)))
    calls = [c for f in frames for c in f["choices"][0]["delta"].get("tool_calls", [])]
    assert calls[0]["id"] == "tooluse_a:b.C-1"
    assert "".join(c["function"]["arguments"] or "" for c in calls) == '{"q":"x"}'
    assert frames[-1]["choices"][0]["finish_reason"] == "tool_calls"
    sent = json.dumps(seen[0][2])
    assert sent.count("tooluse_Z-9") == 2


async def test_an_answer_without_streaming_is_one_json_body() -> None:
    async def handle(req: web.Request) -> web.Response:
        return web.json_response(
            {
                "output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
                "stopReason": "end_turn",
                "usage": {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9},
                "metrics": {"latencyMs": 1},
            }
        )

    async with bedrock(handle) as upstream:
        answer = await upstream.send(request())
        body = json.loads(b"".join([chunk async for chunk in answer.chunks]))
    assert body["choices"][0]["message"]["content"] == "Hello"
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"]["total_tokens"] == 9


async def test_a_clients_body_never_becomes_an_argument_beyond_the_list() -> None:
    seen: list[Any] = []
    async with bedrock(streaming(TEXT, seen)) as upstream:
        frames = await read(
            await upstream.send(
                request(
                    stream=True,
                    api_base="http://127.0.0.1:1",
                    api_key="stolen",
                    mock_response="mocked",
                    aws_bedrock_runtime_endpoint="http://127.0.0.1:1",
                    fallbacks=["openai/gpt-4"],
                    temperature=0.5,
                )
            )
        )
    assert "mocked" not in json.dumps(frames)
    assert seen[0][2]["inferenceConfig"]["temperature"] == 0.5
    assert "stolen" not in json.dumps(seen[0])


@pytest.mark.parametrize(("status", "told"), [(400, 400), (401, 401), (403, 403), (404, 404), (429, 429), (529, 529)])
async def test_the_upstreams_own_status_and_sentence_are_told_once_asked(status: int, told: int) -> None:
    calls = 0

    async def handle(req: web.Request) -> web.Response:
        nonlocal calls
        calls += 1
        return web.json_response({"message": "not like this"}, status=status, headers={"retry-after": "17"})

    async with bedrock(handle) as upstream:
        answer = await upstream.send(request())
        body = json.loads(b"".join([chunk async for chunk in answer.chunks]))
    assert answer.status == told
    assert "not like this" in body["error"]["message"]
    assert "bedrock-key-1234" not in json.dumps(body) and "://" not in json.dumps(body)
    assert calls == 1
    if status == 429:
        assert dict(answer.headers)["retry-after"] == "17"


async def test_an_upstream_that_cannot_be_reached_is_a_retryable_502() -> None:
    async with bedrock(streaming(TEXT)) as upstream:
        pass
    with pytest.raises(UpstreamError) as caught:
        await upstream.send(request(stream=True))
    assert caught.value.status == 502 and caught.value.retryable
    assert "://" not in caught.value.public


async def test_a_stream_that_breaks_ends_as_a_broken_stream() -> None:
    async def handle(req: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/vnd.amazon.eventstream"})
        response.content_length = 100_000
        await response.prepare(req)
        await response.write(TEXT[0] + TEXT[1])
        assert req.transport is not None
        req.transport.close()
        return response

    async with bedrock(handle) as upstream:
        answer = await upstream.send(request(stream=True))
        with pytest.raises(UpstreamError):
            await read(answer)


async def test_hanging_up_reaches_the_upstream() -> None:
    gone = asyncio.Event()

    async def handle(req: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/vnd.amazon.eventstream"})
        await response.prepare(req)
        try:
            while True:
                await response.write(TEXT[1])
                await asyncio.sleep(0.02)
        finally:
            gone.set()

    async with bedrock(handle) as upstream:
        answer = await upstream.send(request(stream=True))
        await anext(aiter(answer.chunks))
        await answer.aclose()
        await asyncio.wait_for(gone.wait(), 5)


async def test_hanging_up_on_a_silent_upstream_reaches_it_too() -> None:
    gone = asyncio.Event()

    async def handle(req: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/vnd.amazon.eventstream"})
        await response.prepare(req)
        await response.write(TEXT[1])
        try:
            await _until_gone(req)
        finally:  # the server may also cancel the handler of a client that has left
            gone.set()
        return response

    async with bedrock(handle) as upstream:
        answer = await upstream.send(request(stream=True))
        chunks = aiter(answer.chunks)
        await anext(chunks)
        reading = asyncio.create_task(_drain(chunks))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await answer.aclose()
        await asyncio.wait_for(gone.wait(), 5)


async def _until_gone(req: web.Request) -> None:
    while req.transport is not None and not req.transport.is_closing():  # noqa: ASYNC110 - a transport has no event
        await asyncio.sleep(0.02)


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    async for _ in chunks:
        pass


async def test_a_call_that_is_given_up_before_the_answer_is_taken_back() -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def handle(req: web.Request) -> web.StreamResponse:
        asked.set()
        try:
            await _until_gone(req)
        finally:  # the server may also cancel the handler of a client that has left
            gone.set()
        return web.Response()

    async with bedrock(handle) as upstream:
        sending = asyncio.create_task(upstream.send(request()))
        await asyncio.wait_for(asked.wait(), 30)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await asyncio.wait_for(gone.wait(), 5)


async def test_a_messages_client_is_served_through_the_translator() -> None:
    async with bedrock(streaming(TOOLS)) as upstream:
        tool = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
        body = {"model": "m", "max_tokens": 50, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
        sent = Request("messages", json.dumps(body | {"tools": [tool]}).encode(), {}, stream=True, model="m")
        answer = await Translated(upstream, "chat").send(sent)
        text = b"".join([chunk async for chunk in answer.chunks]).decode()
        await answer.aclose()
    assert '"tooluse_a:b.C-1"' in text and '"stop_reason":"tool_use"' in text.replace(" ", "")
    assert "message_stop" in text


async def test_a_thousand_equal_chunks_are_no_reason_to_stop() -> None:
    row = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "| --- "}})
    async with bedrock(streaming([TEXT[0], *[row] * 1000, *TEXT[3:]])) as upstream:
        frames = await read(await upstream.send(request(stream=True)))
    text = "".join(f["choices"][0]["delta"].get("content") or "" for f in frames)
    assert text == "| --- " * 1000


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "http://localhost:1/x", "file:///etc/passwd", "x"])
async def test_pictures_are_not_fetched_from_this_machine_or_its_network(url: str) -> None:
    async with bedrock(streaming(TEXT)) as upstream:
        picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
        with pytest.raises(UpstreamError) as caught:
            await upstream.send(request(messages=[picture]))
    assert caught.value.status == 400


@pytest.mark.parametrize("body", [b"", b"[]", b'{"messages": "x"}', b"{"])
async def test_what_is_no_request_is_refused(body: bytes) -> None:
    async with bedrock(streaming(TEXT)) as upstream:
        with pytest.raises(UpstreamError) as caught:
            await upstream.send(Request("chat", body, {}))
    assert caught.value.status == 400
