"""The few ASGI moves the hot path needs: read a body, answer JSON, see that a client has left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class ClientGone(Exception):
    """The client closed its connection."""


class TooLarge(Exception):
    """The request's body passes the limit."""


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole request body. Raises TooLarge as soon as the limit is passed, ClientGone when the client leaves."""
    declared = header(scope, b"content-length")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLarge
        parts.append(part)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def header(scope: Scope, name: bytes) -> str:
    """A request header, or the empty string."""
    return next((v.decode("latin-1") for k, v in scope["headers"] if k == name), "")


def headers(scope: Scope) -> dict[str, str]:
    """All request headers, lower case."""
    return {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}


async def respond(send: Send, status: int, body: bytes, extra: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Answer with JSON."""
    start = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})
