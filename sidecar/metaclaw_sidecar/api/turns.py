"""Turns in, and what became of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from ..service import BufferedTurn, Flushed, Ingested, Said
from .requests import Asked, BufferTurn, FlushScope, FlushSession, Ingest, TurnGiven
from .wire import Owner, Route, ScopeId, scope_of

router = APIRouter(route_class=Route, tags=["turns"])


class FlushedScope(BaseModel):
    """What came of a flush of a whole scope."""

    added: int | None
    buffered_turns: int
    sessions: list[str]
    state: str
    error: str


@router.post("/buffer_turn")
async def buffer_turn(asked: BufferTurn, service: Owner) -> BufferedTurn:
    """Keep a turn, durably and once; extraction begins by itself every few turns."""
    return await service.intake.buffer_turn(scope_of(service, asked), asked.session_id, _said(asked.turn))


@router.post("/flush_session")
async def flush_session(asked: FlushSession, service: Owner) -> Flushed:
    """Extract what waits in a session; `final` ends it."""
    scope_id = scope_of(service, asked)
    return await service.intake.flush_session(scope_id, asked.session_id, final=asked.final, wait=asked.wait)


@router.post("/flush")
async def flush(service: Owner, asked: FlushScope | None = None) -> FlushedScope:
    """Extract what waits in all sessions of a scope."""
    asked = asked or FlushScope()
    flushed, sessions = await service.intake.flush(scope_of(service, asked), wait=asked.wait)
    return FlushedScope(
        added=flushed.added, buffered_turns=flushed.turns, sessions=sessions, state=flushed.state, error=flushed.error
    )


@router.post("/ingest")
async def ingest(asked: Ingest, service: Owner) -> Ingested:
    """Keep many turns of a session, and extract them together."""
    batch = [_said(turn) for turn in asked.turns]
    return await service.intake.ingest(scope_of(service, asked), asked.session_id, batch, wait=asked.wait)


@router.get("/sessions/{session_id}/buffer")
async def buffer(session_id: str, scope_id: ScopeId, service: Owner) -> dict[str, Any]:
    """The turns of a session that wait, and its jobs."""
    shown = {"session_id": session_id, "scope_id": scope_id, "flush_every": service.settings.flush_every}
    return shown | await service.intake.buffer_of(scope_id, session_id)


@router.get("/jobs")
async def jobs(
    scope_id: ScopeId,
    service: Owner,
    state: Literal["waiting", "running", "done", "failed", ""] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """Extraction jobs, newest first."""
    return {"jobs": await service.intake.jobs(scope_id, state=state, limit=limit)}


@router.post("/jobs/{job_id}/retry")
async def retry(job_id: int, service: Owner, asked: Asked | None = None) -> dict[str, Any]:
    """Give a failed job its tries again."""
    return {"job": await service.intake.retry(scope_of(service, asked or Asked()), job_id)}


def _said(turn: TurnGiven) -> Said:
    return Said(turn.prompt_text, turn.response_text, turn.turn_id, turn.at)
