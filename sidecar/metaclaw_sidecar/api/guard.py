"""Who may talk to the service: known `Host` names, no foreign `Origin`, JSON only, a body of some size, the key."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from ..settings import Settings

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_OPEN = frozenset(("/health", "/readyz"))
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_WITH_BODY = ("POST", "PUT", "PATCH")


class Guard:
    """Stands in front of every route; tells them by `metaclaw.known` and `metaclaw.owner` who asks."""

    def __init__(self, app: App, settings: Settings, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._key = settings.api_key.get_secret_value().encode()
        self._limit = settings.max_body_bytes
        own = f"[{settings.host}]" if ":" in settings.host and not settings.host.startswith("[") else settings.host
        names = {*_LOOPBACK, own.lower(), *(name.lower() for name in settings.allowed_hosts)}
        self._hosts = names | {f"{name}:{port}" for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        scope["metaclaw.owner"] = _same(client.get("x-metaclaw-token", ""), self._token)
        scope["metaclaw.known"] = not self._key or scope["metaclaw.owner"] or self._has_key(client)
        refusal = self._refusal(scope, client)
        if refusal is None and scope["method"] in _WITH_BODY:
            body = await _read(receive, self._limit)
            if body is None:
                return
            refusal = self._too_large() if len(body) > self._limit else None
            receive = _replay(body, receive)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, client: dict[str, str]) -> tuple[int, str, str] | None:
        """Why a request is refused: status, type, message."""
        host = client.get("host", "").lower()
        if host not in self._hosts:
            return 421, "host", f"no answer to the host name {host!r}; METACLAW_SIDECAR_ALLOWED_HOSTS can add it"
        origin = client.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() not in self._hosts:
            return 403, "forbidden", "requests from web pages of other origins are refused"
        if scope["method"] in _WITH_BODY and not _is_json(client):
            return 415, "media_type", "send the body as content-type: application/json"
        if not scope["metaclaw.known"] and scope["path"] not in _OPEN:
            return 403, "forbidden", "this memory service wants its key, as bearer token, x-api-key or x-metaclaw-key"
        length = client.get("content-length", "")
        return self._too_large() if length.isdecimal() and int(length) > self._limit else None

    def _too_large(self) -> tuple[int, str, str]:
        return (
            413,
            "too_large",
            f"the body passes {self._limit} bytes; METACLAW_SIDECAR_MAX_BODY_BYTES raises the limit",
        )

    def _has_key(self, client: dict[str, str]) -> bool:
        bearer = client.get("authorization", "")
        given = [client.get("x-metaclaw-key", ""), client.get("x-api-key", "")]
        if bearer[:7].lower() == "bearer ":
            given.append(bearer[7:].strip())
        return any(_same(value, self._key) for value in given)


def _same(given: str, wanted: bytes) -> bool:
    """Whether two secrets are equal, in time that doesn't depend on where they differ; blank is never right."""
    return bool(given) and hmac.compare_digest(given.encode("latin-1", "replace"), wanted)


def _is_json(client: dict[str, str]) -> bool:
    if client.get("content-length") == "0" or not ("content-length" in client or "transfer-encoding" in client):
        return True
    kind = client.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


async def _read(receive: Receive, limit: int) -> bytes | None:
    """The body, read until it is too long; None when the caller has gone."""
    parts: list[bytes] = []
    size = 0
    more = True
    while more and size <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body once more, then whatever else comes."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


async def _refuse(send: Send, status: int, kind: str, message: str) -> None:
    body = json.dumps({"error": {"type": kind, "message": message}}, ensure_ascii=False).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
