"""Is it there, is it ready, and please end."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from .. import __version__
from .wire import Owner, failure


def build_router(token: str, shut_down: Callable[[], None]) -> APIRouter:
    """The routes by which a process is watched; `token` is its run token."""
    router = APIRouter(tags=["process"])
    instance = hashlib.sha256(token.encode()).hexdigest()[:16]

    @router.get("/health")
    async def health(request: Request, service: Owner) -> dict[str, Any]:
        """Alive, and who it is; what it holds is told to those who have the key."""
        shown = {"status": "ok", "ok": True, "pid": os.getpid(), "version": __version__, "instance": instance}
        return shown | await service.health() if request.scope["metaclaw.known"] else shown

    @router.get("/readyz")
    async def ready() -> dict[str, bool]:
        """Whether the store is open; it is before the first request is taken."""
        return {"ready": True}

    @router.post("/shutdown")
    async def end(request: Request) -> Response:
        """End, for whoever holds the run token."""
        if not request.scope["metaclaw.owner"]:
            return failure(403, "forbidden", "only the holder of the run token may end the service")
        shut_down()
        return JSONResponse({"ok": True})

    return router
