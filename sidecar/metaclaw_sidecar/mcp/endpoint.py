"""MCP over streamable HTTP, inside the service."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from ..service import Service
from .memory import Own

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpEndpoint:
    """An ASGI app; the SDK, half a second of imports, is loaded by the first request."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._opening = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            manager = await self._opened()
        except ImportError:
            text = "MCP needs the package `mcp`, which is not installed"
            await JSONResponse({"error": {"type": "unavailable", "message": text}}, 503)(scope, receive, send)
            return
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End what was begun."""
        self._ended.set()
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _opened(self) -> StreamableHTTPSessionManager:
        async with self._opening:
            if self._manager is None:
                manager = await asyncio.to_thread(_manager, self._service)
                running = asyncio.Event()
                self._task = asyncio.create_task(self._hold(manager, running))
                await running.wait()
                self._manager = manager
            return self._manager

    async def _hold(self, manager: Any, running: asyncio.Event) -> None:
        """The manager belongs to one task from its beginning to its end."""
        async with manager.run():
            running.set()
            await self._ended.wait()


def _manager(service: Service) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    from .tools import build_server

    server = build_server(Own(service), None)
    # Stateless: a client survives a restart of the service. Host and Origin are checked by our own guard.
    return StreamableHTTPSessionManager(
        server._lowlevel_server,
        json_response=True,
        stateless=True,
        max_request_body_size=service.settings.max_body_bytes,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
