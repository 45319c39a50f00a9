"""MCP on standard input and output."""

from __future__ import annotations

import asyncio
import importlib.util
import sys

from ..errors import InUse, SidecarError
from ..ownership import owned
from ..process import BAD_SETTINGS, FAILED, configure_logs, listen_and_serve
from ..service import Service
from ..settings import Settings
from .memory import Beside, Memory, Own


def serve_stdio(settings: Settings) -> int:
    """Serve one MCP client until it closes our input; returns the exit code.

    Through the service that runs for these folders. Where none runs, this process is the service, which others reach by
    HTTP as long as it lives.
    """
    if importlib.util.find_spec("mcp") is None:
        print("metaclaw-sidecar: MCP needs the package `mcp`, which is not installed", file=sys.stderr)  # noqa: T201
        return FAILED
    # Told to belong to a scope, it asks for that; else for the scope of the service.
    scope = settings.scope if "scope" in settings.model_fields_set else None
    configure_logs(settings.log_level)

    async def beside(service: Service) -> None:
        await _serve(Own(service), scope)

    try:
        with owned(settings):
            return listen_and_serve(settings, beside)
    except InUse:
        asyncio.run(_serve(Beside(settings), scope))
        return 0
    except (SidecarError, OSError) as error:
        print(f"metaclaw-sidecar: {error}", file=sys.stderr)  # noqa: T201
        return BAD_SETTINGS


async def _serve(memory: Memory, scope: str | None) -> None:
    from .tools import build_server

    await build_server(memory, scope).run_stdio_async()
