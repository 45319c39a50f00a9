"""Files in and out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from ..errors import Refused
from ..transfer import EXPORTS
from .requests import Export, Import
from .wire import Owner, Route, scope_of

router = APIRouter(route_class=Route, tags=["transfer"])
_PIECE = 1 << 16


@router.post("/export")
async def export(asked: Export, service: Owner) -> StreamingResponse:
    """The memories of a scope, or of all, as a file."""
    scopes = [] if asked.all_scopes else [scope_of(service, asked)]
    file = await service.transfer.export(asked.format, scopes, raw=asked.turns)
    media_type, ending = EXPORTS[asked.format]
    name = f"metaclaw-memory-{datetime.now(UTC):%Y-%m-%d}.{ending}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_pieces(file), media_type=media_type, headers=headers)


@router.post("/import")
async def take_in(asked: Import, request: Request, service: Owner) -> dict[str, Any]:
    """Take memories in from a file's content, or from a file or folder on this machine."""
    source = asked.content()
    if isinstance(source, Path):
        if not request.scope["metaclaw.owner"]:
            raise HTTPException(403, "only the holder of the run token may name files of the service's machine")
        if not source.exists():
            raise Refused(f"there is no {source}")
    into = scope_of(service, asked) if asked.scope_id is not None else ""
    return asdict(await service.transfer.take_in(source, asked.format, into=into, dry_run=asked.dry_run))


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece
