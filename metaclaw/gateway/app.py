"""The gateway's ASGI application: model calls on a short path, everything else behind FastAPI."""

from __future__ import annotations

import asyncio
import gc
import logging

from metaclaw.gateway import health
from metaclaw.gateway.guard import App, Guard
from metaclaw.gateway.protocols import CHAT, MESSAGES, RESPONSES, Dialect
from metaclaw.gateway.services import Services
from metaclaw.gateway.upstream.base import WireName
from metaclaw.gateway.wire import ClientGone, Receive, Scope, Send, TooLarge, read_body, respond

_TURNS: dict[str, Dialect] = {
    "/v1/chat/completions": CHAT,
    "/v1/messages": MESSAGES,
    "/v1/responses": RESPONSES,
}
_OTHERS: dict[str, tuple[WireName, Dialect]] = {
    "/v1/embeddings": ("embeddings", CHAT),
    "/v1/completions": ("completions", CHAT),
    "/v1/messages/count_tokens": ("count_tokens", MESSAGES),
}
_log = logging.getLogger(__name__)


class Gateway:
    """Routes a request. Paths are known with and without `/v1`, since clients differ in what they call a base URL."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._admin: App | None = None
        self._loading = asyncio.Lock()
        self._limit = services.settings.proxy.max_body_mb * 1024 * 1024

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(self._services, receive, send)
            return
        path = scope["path"]
        path = path if path.startswith("/v1/") else "/v1" + path
        if scope["type"] == "http" and scope["method"] == "POST" and (path in _TURNS or path in _OTHERS):
            await self._model_call(scope, receive, send, path)
            return
        if scope["type"] == "http" and scope["path"] in health.PATHS and scope["method"] in ("GET", "HEAD"):
            await health.answer(self._services, scope["path"], send)
            return
        admin = self._admin or await self._load_admin()
        await admin(scope, receive, send)

    async def _load_admin(self) -> App:
        """FastAPI and its routes, loaded by the first request that needs them."""
        async with self._loading:
            if self._admin is None:
                self._admin = await asyncio.to_thread(_admin, self._services)
        return self._admin

    async def _model_call(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        dialect = _TURNS.get(path) or _OTHERS[path][1]
        try:
            body = await read_body(scope, receive, self._limit)
        except TooLarge:
            text = f"the request's body passes {self._limit // 2**20} MiB; proxy.max_body_mb raises the limit"
            await respond(send, 413, dialect.error(413, text), ((b"connection", b"close"),))
            return
        except ClientGone:
            return
        if path in _TURNS:
            await self._services.turns.handle(scope, receive, send, dialect, body)
        else:
            await self._services.other_calls.handle(scope, receive, send, *_OTHERS[path], body)


def _admin(services: Services) -> App:
    from metaclaw.gateway.admin import build_admin

    return build_admin(services)


async def _lifespan(services: Services, receive: Receive, send: Send) -> None:
    await receive()
    try:
        await services.start()
    except Exception as error:
        _log.exception("the gateway could not start")
        await send({"type": "lifespan.startup.failed", "message": str(error)})
        return
    gc.freeze()  # what is there now stays; a full collection would look through all of it while the loop waits
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await services.stop()
    await send({"type": "lifespan.shutdown.complete"})


def build_app(services: Services) -> Guard:
    """The application, guarded."""
    return Guard(Gateway(services), services.settings, services.token, services.metrics)
