"""A provider and a gateway over real HTTP: the official SDKs talk to the gateway, whose upstream is `Translated`."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from metaclaw.gateway.upstream.base import Request, UpstreamError, WireName
from metaclaw.gateway.upstream.passthrough import Connections, Endpoint, Passthrough
from metaclaw.gateway.upstream.translated import Translated

_PATHS: dict[WireName, str] = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
}


@dataclass
class Provider:
    """What the provider answers next, and what it was asked."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    body: bytes = b""
    piece: int = 7  # bytes of a write
    hang_up: bool = False  # break the connection after the body
    asked: list[dict[str, Any]] = field(default_factory=list)
    asked_headers: list[dict[str, str]] = field(default_factory=list)

    def answer(self, body: bytes | dict[str, Any], status: int = 200, **headers: str) -> None:
        """Set the next answer: a stream for bytes, a document for a dict."""
        kind = "application/json" if isinstance(body, dict) else "text/event-stream"
        self.body = json.dumps(body).encode() if isinstance(body, dict) else body
        self.status, self.headers = (
            status,
            {"content-type": kind} | {k.replace("_", "-"): v for k, v in headers.items()},
        )

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        self.asked_headers.append({name.lower(): value for name, value in request.headers.items()})
        response = web.StreamResponse(status=self.status, headers=self.headers)
        await response.prepare(request)
        for start in range(0, len(self.body), self.piece):
            await response.write(self.body[start : start + self.piece])
        if self.hang_up and request.transport:
            request.transport.abort()
        return response


@dataclass
class Served:
    provider: Provider
    url: str
    failures: list[UpstreamError]
    over: threading.Event  # set when the gateway has finished with an exchange


class _Gateway:
    def __init__(self, upstream: Translated, failures: list[UpstreamError], over: threading.Event) -> None:
        self._upstream = upstream
        self._failures = failures
        self._over = over

    def route(self, wire: WireName) -> Any:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._handle(wire, request)

        return handle

    async def _handle(self, wire: WireName, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        stream = json.loads(body).get("stream") is True
        try:
            answer = await self._upstream.send(Request(wire, body, headers, request.query_string, stream))
        except UpstreamError as error:
            return web.json_response({"error": {"message": error.public}}, status=error.status)
        response = web.StreamResponse(status=answer.status)
        for name, value in answer.headers:
            if name not in ("transfer-encoding", "connection", "date", "server"):
                response.headers.add(name, value)
        await response.prepare(request)
        try:
            async for chunk in answer.chunks:
                await response.write(chunk)
        except UpstreamError as error:
            self._failures.append(error)
        finally:
            await answer.aclose()
            self._over.set()
        return response


async def _start(app: web.Application) -> tuple[web.AppRunner, int]:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return runner, int(runner.addresses[0][1])


@contextmanager
def served(target: WireName) -> Iterator[Served]:
    """Both servers on a loop of their own, for a provider that speaks `target`."""
    provider, failures, over = Provider(), [], threading.Event()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def up() -> tuple[list[web.AppRunner], int, Connections]:
        there = web.Application(client_max_size=2**26)
        there.router.add_post(_PATHS[target], provider.handle)
        first, port = await _start(there)
        connections = Connections(connect_timeout=5, idle_timeout=20)
        endpoint = Endpoint(f"http://127.0.0.1:{port}{_PATHS[target]}", None, {})
        gateway = _Gateway(Translated(Passthrough("example", {target: endpoint}, connections), target), failures, over)
        here = web.Application(client_max_size=2**26)
        for wire, path in _PATHS.items():
            here.router.add_post(path, gateway.route(wire))
        second, own = await _start(here)
        return [second, first], own, connections

    async def down() -> None:
        await connections.aclose()
        for runner in runners:
            await runner.cleanup()

    try:
        runners, port, connections = asyncio.run_coroutine_threadsafe(up(), loop).result(20)
        yield Served(provider, f"http://127.0.0.1:{port}", failures, over)
        asyncio.run_coroutine_threadsafe(down(), loop).result(20)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
