"""Whole scopes: numbers, upkeep, events, deletion."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from ..scopes import parse
from .requests import Asked, Reindex, Undo
from .wire import Owner, Route, ScopeId, scope_of

router = APIRouter(route_class=Route, tags=["scopes"])
_IDLE = 15.0  # seconds between two signs of life on a quiet stream


@router.get("/scopes")
async def scopes(service: Owner) -> dict[str, Any]:
    """All scopes, with how much each holds."""
    return {"default": service.settings.scope, "scopes": await service.upkeep.scopes()}


@router.delete("/scopes/{scope_id:path}")
async def delete_scope(scope_id: str, service: Owner) -> dict[str, Any]:
    """Delete everything of a scope."""
    return {"ok": True, "receipt": await service.upkeep.delete_scope(parse(scope_id, ""))}


@router.get("/stats")
async def statistics(scope_id: ScopeId, service: Owner) -> dict[str, Any]:
    """A scope in numbers."""
    return await service.statistics(scope_id)


@router.post("/consolidate")
async def consolidate(service: Owner, asked: Asked | None = None) -> dict[str, Any]:
    """Merge duplicates, let importance fade, archive what has expired; `undo` takes it back."""
    return asdict(await service.upkeep.consolidate(scope_of(service, asked or Asked())))


@router.post("/consolidate/undo")
async def undo(asked: Undo, service: Owner) -> dict[str, Any]:
    """Put back what a consolidation changed."""
    return {"restored": await service.upkeep.undo(scope_of(service, asked), asked.run_id)}


@router.post("/reindex")
async def reindex(service: Owner, asked: Reindex | None = None) -> dict[str, Any]:
    """Throw the index away and build it from the store."""
    asked = asked or Reindex()
    names = [one["scope_id"] for one in await service.upkeep.scopes()] if asked.all_scopes else []
    return {"ok": True, "scopes": await service.upkeep.reindex(names or [scope_of(service, asked)])}


@router.get("/events")
async def events(
    scope_id: ScopeId,
    service: Owner,
    after: Annotated[int | None, Query(ge=0)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Events of a scope as they happen (server-sent events)."""
    if last_event_id and last_event_id.isdecimal():
        after = int(last_event_id)

    async def lines() -> AsyncIterator[str]:
        yield ": connected\n\n"
        async for event in service.follow.events(scope_id, after, idle=_IDLE):
            yield ": quiet\n\n" if event is None else _event(event)

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


def _event(event: dict[str, Any]) -> str:
    return f"id: {event['seq']}\nevent: {event['kind']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
