"""The upstream around another one, with an inner upstream whose bytes come when the test says so."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from metaclaw.gateway.upstream.base import Answer, Request, UpstreamError, WireName
from metaclaw.gateway.upstream.translated import Translated

_FIRST = b'data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'
_REST = b'data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
_EVENTS = ("content-type", "text/event-stream")


class Inner:
    """Answers with what is put into `chunks`: bytes, an error to raise, or None for the end."""

    name = "example"

    def __init__(self, *headers: tuple[str, str], status: int = 200) -> None:
        self.chunks: asyncio.Queue[bytes | UpstreamError | None] = asyncio.Queue()
        self.asked: list[Request] = []
        self.closed = 0
        self._headers = list(headers) or [_EVENTS]
        self._status = status

    def put(self, *chunks: bytes | UpstreamError | None) -> Inner:
        for chunk in chunks:
            self.chunks.put_nowait(chunk)
        return self

    def speaks(self, wire: WireName) -> bool:
        return wire == "chat"

    async def send(self, request: Request) -> Answer:
        self.asked.append(request)
        return _Counted(self, self._status, list(self._headers), self._stream())

    async def _stream(self) -> AsyncIterator[bytes]:
        while (chunk := await self.chunks.get()) is not None:
            if isinstance(chunk, UpstreamError):
                raise chunk
            yield chunk

    async def aclose(self) -> None:
        self.closed += 100


class _Counted(Answer):
    def __init__(self, inner: Inner, *fields: Any) -> None:
        super().__init__(*fields)
        self._inner = inner

    async def aclose(self) -> None:
        self._inner.closed += 1
        await Answer.aclose(self)


def _request(stream: bool = True, **headers: str) -> Request:
    body = {"model": "m", "max_tokens": 9, "stream": stream, "messages": [{"role": "user", "content": "hi"}]}
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("messages", json.dumps(body).encode(), sent, "beta=true", stream, "m")


def test_it_speaks_the_other_two_protocols() -> None:
    upstream = Translated(Inner(), "chat")
    wires: list[WireName] = ["messages", "responses", "chat", "embeddings", "models", "count_tokens", "completions"]
    assert [wire for wire in wires if upstream.speaks(wire)] == ["messages", "responses"]
    with pytest.raises(ValueError, match="embeddings"):
        Translated(Inner(), "embeddings")


async def test_the_first_bytes_leave_before_the_rest_has_come() -> None:
    inner = Inner().put(_FIRST)
    answer = await Translated(inner, "chat").send(_request())
    first = await asyncio.wait_for(anext(answer.chunks), 5)
    assert b"message_start" in first
    assert b'"text":"Hel"' in first
    inner.put(_REST, None)
    rest = b"".join([chunk async for chunk in answer.chunks])
    assert b'"text":"lo"' in rest
    assert rest.endswith(b'{"type":"message_stop"}\n\n')
    await answer.aclose()
    assert inner.closed == 1


async def test_hanging_up_before_the_first_byte_hangs_up_on_the_provider() -> None:
    inner = Inner()
    answer = await Translated(inner, "chat").send(_request())
    await answer.aclose()
    assert inner.closed == 1


async def test_the_request_is_the_providers_and_bears_nothing_of_the_clients_protocol() -> None:
    inner = Inner().put(_FIRST, _REST, None)
    await Translated(inner, "chat").send(
        _request(
            anthropic_version="2023-06-01", anthropic_beta="x", x_api_key="sk-1", content_length="9", user_agent="a"
        )
    )
    asked = inner.asked[0]
    assert (asked.wire, asked.query, asked.stream, asked.model) == ("chat", "", True, "m")
    assert asked.headers == {
        "user-agent": "a",
        "content-type": "application/json",
        "accept-encoding": "identity",
        "authorization": "Bearer sk-1",
    }
    assert json.loads(asked.body)["stream_options"] == {"include_usage": True}


async def test_headers_that_tell_about_limits_stay_and_those_of_the_body_go() -> None:
    inner = Inner(_EVENTS, ("content-length", "5"), ("x-ratelimit-remaining-requests", "3"), ("x-request-id", "r"))
    answer = await Translated(inner.put(_FIRST, _REST, None), "chat").send(_request())
    assert answer.headers == [("x-ratelimit-remaining-requests", "3"), ("x-request-id", "r"), _EVENTS]
    await answer.aclose()


async def test_a_break_is_told_to_the_client_and_to_the_gateway() -> None:
    inner = Inner().put(_FIRST, UpstreamError(504, "the upstream example fell silent"))
    answer = await Translated(inner, "chat").send(_request())
    told = b""
    with pytest.raises(UpstreamError, match="fell silent"):
        async for chunk in answer.chunks:
            told += chunk
    assert told.count(b"event: error") == 1
    assert b"fell silent" in told
    assert b"message_stop" not in told


async def test_a_compressed_answer_is_read_all_the_same() -> None:
    packed = gzip.compress(_FIRST + _REST)
    inner = Inner(_EVENTS, ("content-encoding", "gzip")).put(packed[:20], packed[20:], None)
    answer = await Translated(inner, "chat").send(_request())
    assert b"message_stop" in b"".join([chunk async for chunk in answer.chunks])
    assert all(name != "content-encoding" for name, _ in answer.headers)


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ([("content-type", "application/json")], b"<html>", 502),
        ([("content-type", "application/json")], b"[]", 502),
        ([("content-type", "application/json"), ("content-encoding", "br")], b"x", 502),
    ],
)
async def test_an_answer_that_cannot_be_read_is_the_providers_fault(
    headers: list[tuple[str, str]], body: bytes, status: int
) -> None:
    inner = Inner(*headers).put(body, None)
    with pytest.raises(UpstreamError) as caught:
        await Translated(inner, "chat").send(_request(stream=False))
    assert caught.value.status == status
    assert inner.closed == 1


async def test_an_error_in_a_document_with_status_200_is_an_error() -> None:
    body = b'{"error":{"message":"quota","code":402}}'
    inner = Inner(("content-type", "application/json")).put(body, None)
    answer = await Translated(inner, "chat").send(_request(stream=False))
    told = json.loads(b"".join([chunk async for chunk in answer.chunks]))
    assert (answer.status, told["error"]) == (402, {"type": "billing_error", "message": "quota"})


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff"])
async def test_a_request_that_is_no_object_is_a_400_and_asks_nobody(body: bytes) -> None:
    inner = Inner()
    with pytest.raises(UpstreamError) as caught:
        await Translated(inner, "chat").send(Request("messages", body, {}))
    assert caught.value.status == 400
    assert not inner.asked
