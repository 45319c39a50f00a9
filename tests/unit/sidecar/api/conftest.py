"""The real application on a real socket, in this process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from metaclaw_sidecar.api import build_app
from metaclaw_sidecar.service import Service
from metaclaw_sidecar.settings import load

TOKEN = "run-token-of-this-test"
Open = Callable[..., Awaitable[httpx.AsyncClient]]


@asynccontextmanager
async def serving(folder: Path, **settings: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service with these METACLAW_SIDECAR_ settings, by default without embedder and model."""
    given = {"memory_dir": str(folder / "memory"), "embedder": "none", **settings}
    service = Service(load({f"METACLAW_SIDECAR_{name.upper()}": value for name, value in given.items()}, {}))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        server = uvicorn.Server(
            uvicorn.Config(build_app(service, TOKEN, port=port, shut_down=lambda: None), lifespan="on", log_config=None)
        )
        server.capture_signals = _no_signals  # type: ignore[method-assign]  # they are pytest's
        running = asyncio.create_task(server.serve(sockets=[listener]))
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client:
            await client.get("/readyz")  # the socket listens already: the answer comes when the service does
            yield client
        await service.release()
        server.should_exit = True
        await running


def _no_signals() -> Any:
    from contextlib import nullcontext

    return nullcontext()


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(tmp_path) as opened:
        yield opened
