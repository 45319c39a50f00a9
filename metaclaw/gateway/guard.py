"""Who may talk to the gateway: known `Host` names, no foreign `Origin`, JSON only, and the key where one is set."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from metaclaw.config import Settings
from metaclaw.gateway.metrics import Metrics
from metaclaw.gateway.protocols import CHAT, MESSAGES, Dialect
from metaclaw.gateway.wire import Receive, Scope, Send, headers, respond

App = Callable[[Scope, Receive, Send], Awaitable[None]]
_OPEN = frozenset(("/healthz", "/readyz", "/"))  # answer without a key: they tell nothing
_FAILED = "MetaClaw failed on this request; its log says why (`metaclaw logs`)"
_log = logging.getLogger(__name__)
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Guard:
    """Stands in front of every route."""

    def __init__(self, app: App, settings: Settings, token: str, metrics: Metrics) -> None:
        proxy = settings.proxy
        self._app = app
        self._metrics = metrics
        self._token = token.encode()  # the run token, known to whoever may read the state folder
        self._key = proxy.api_key.get_secret_value().encode()
        self._passes_credentials = settings.llm.auth_method == "passthrough"
        own = f"[{proxy.host}]" if ":" in proxy.host and not proxy.host.startswith("[") else proxy.host
        names = {*_LOOPBACK, own.lower(), *(name.lower() for name in proxy.allowed_hosts)}
        self._hosts = names | {f"{name}:{proxy.port}" for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope["metaclaw.headers"] = headers(scope)
        status, problem = self._problem(scope, client)
        if status:
            await respond(send, status, dialect_of(scope["path"]).error(status, problem))
            return
        await self._guarded(scope, receive, send)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through; what goes wrong behind it is answered in the caller's dialect, counted and logged."""
        started = False

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception:
            if started:
                raise  # the server breaks the answer off
            self._metrics.count("request_failed")
            _log.exception("%s %s could not be answered", scope["method"], scope["path"])
            await respond(send, 500, dialect_of(scope["path"]).error(500, _FAILED))

    def _problem(self, scope: Scope, client: dict[str, str]) -> tuple[int, str]:
        """Why a request is refused; (0, "") when it isn't."""
        host = client.get("host", "").lower()
        if host not in self._hosts:
            return 421, f"this gateway does not answer to the host name {host!r}; proxy.allowed_hosts can add it"
        origin = client.get("origin")
        if origin is not None and _host_of(origin) not in self._hosts:
            return 403, "requests from web pages of other origins are refused"
        if scope["method"] == "POST" and not _is_json(client):
            return 415, "send the body as content-type: application/json"
        if client.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            return 415, "send the body without content-encoding: compressed ones are not read here"
        if self._key and scope["path"] not in _OPEN and not self._has_key(client):
            # Not 401: agents take that for a bad key of the provider and stop calling it for a while.
            return 403, (
                "this gateway wants its key (`metaclaw config get proxy.api_key --reveal` prints it) "
                "as bearer token, x-api-key or x-metaclaw-key"
            )
        return 0, ""

    def _has_key(self, client: dict[str, str]) -> bool:
        if hmac.compare_digest(client.get("x-metaclaw-token", "").encode("utf-8", "replace"), self._token):
            return True
        given = [client.get("x-metaclaw-key", "")]
        if not self._passes_credentials:  # else these two are the upstream's
            given += [client.get("authorization", "").removeprefix("Bearer "), client.get("x-api-key", "")]
        return any(hmac.compare_digest(value.encode("utf-8", "replace"), self._key) for value in given if value)


def dialect_of(path: str) -> Dialect:
    """In which dialect the callers of a path expect an error."""
    return MESSAGES if path.startswith("/v1/messages") else CHAT


def _host_of(origin: str) -> str:
    """The host an origin names; empty, which is nobody's, for one that can't be read."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_json(client: dict[str, str]) -> bool:
    if client.get("content-length") == "0" or not ("content-length" in client or "transfer-encoding" in client):
        return True
    kind = client.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")
