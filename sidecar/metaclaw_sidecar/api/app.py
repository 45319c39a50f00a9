"""The FastAPI application, guarded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.routing import Route

from .. import __version__
from ..mcp import McpEndpoint
from ..service import Service
from . import memories, process, recall, scopes, transfer, turns, upgrade
from .guard import App, Guard
from .wire import add_error_handlers


def build_app(service: Service, token: str, *, port: int, shut_down: Callable[[], None]) -> App:
    """The service behind its guard; it starts and stops with the app. `token` is the run token."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await mcp.close()
            await service.stop()

    mcp = McpEndpoint(service)
    app = FastAPI(
        title="MetaClaw memory", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        summary="Long-term memory for agents: turns in, facts and raw turns found again.",
    )  # fmt: skip
    app.state.service = service
    for router in (turns.router, recall.router, memories.router, scopes.router, transfer.router, upgrade.router):
        app.include_router(router)
    app.include_router(process.build_router(token, shut_down))
    app.router.routes.append(Route("/mcp", mcp))
    add_error_handlers(app)
    return Guard(app, service.settings, token, port)
