"""Chat completions written by ourselves, for upstreams that are no HTTP server speaking them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from metaclaw.gateway.upstream.base import Answer, Request, UpstreamError

DONE = b"data: [DONE]\n\n"
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read_body(request: Request) -> dict[str, Any]:
    """The request's body. Raises UpstreamError 400 when it is no chat completion request."""
    try:
        body = json.loads(request.body)
    except ValueError:
        raise UpstreamError(400, "the request body is not JSON") from None
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        raise UpstreamError(400, "the request body has no messages")
    return body


def wants_usage(body: Mapping[str, Any]) -> bool:
    """Whether the client asked for usage at the end of the stream."""
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def frame(data: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n\n"


class Writer:
    """Writes the chunks of one answer, or the answer as a whole."""

    def __init__(self, model: str) -> None:
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}

    def delta(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        """One piece of the message."""
        return self._chunk([{"index": 0, "delta": dict(delta), "finish_reason": finish}])

    def usage(self, usage: Mapping[str, Any]) -> bytes:
        """The tokens it took."""
        return self._chunk([], usage=dict(usage))

    def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        return frame(self._head | {"object": "chat.completion.chunk", "choices": choices} | more)

    def whole(self, message: Mapping[str, Any], finish: str, usage: Mapping[str, Any]) -> bytes:
        """The answer to a request without streaming."""
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        body = self._head | {"object": "chat.completion", "choices": [choice], "usage": dict(usage)}
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


class Chunks:
    """An answer's body with a hang-up that works even when nothing of it was read."""

    def __init__(self, source: AsyncIterator[bytes], hang_up: Callable[[], Awaitable[None]]) -> None:
        self._source = source
        self._hang_up = hang_up

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        return await self._source.__anext__()

    async def aclose(self) -> None:
        """Hang up on what makes the body."""
        await self._hang_up()


async def _nothing() -> None:
    return


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def json_answer(body: bytes, *, upstream: str, model: str, status: int = 200, retry_after: str = "") -> Answer:
    """An answer that is there already."""
    headers = [("content-type", "application/json")]
    if retry_after:
        headers.append(("retry-after", retry_after))
    return Answer(status, headers, Chunks(_once(body), _nothing), upstream, model)


def stream_answer(
    source: AsyncIterator[bytes], hang_up: Callable[[], Awaitable[None]], *, upstream: str, model: str
) -> Answer:
    """An answer that streams."""
    headers = [("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")]
    return Answer(200, headers, Chunks(source, hang_up), upstream, model)


def error_answer(status: int, message: str, *, upstream: str, model: str, retry_after: str = "") -> Answer:
    """What the upstream refused with."""
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    body = json.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}}, ensure_ascii=False)
    return json_answer(
        body.encode("utf-8", "replace"), upstream=upstream, model=model, status=status, retry_after=retry_after
    )
