"""The gateway's own routes: models, sessions, administration. Loaded when somebody asks for one of them."""

from __future__ import annotations

import asyncio
import hmac
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from metaclaw import __version__
from metaclaw.gateway.guard import dialect_of
from metaclaw.gateway.memory_routes import add_memory
from metaclaw.gateway.services import Services
from metaclaw.journal import Feedback, Session, Turn
from metaclaw.journal.records import Usage

_LARGEST_ID = 2**63 - 1  # what a database keeps

ROUTES = (
    "POST /v1/chat/completions",
    "POST /v1/messages",
    "POST /v1/messages/count_tokens",
    "POST /v1/responses",
    "POST /v1/embeddings",
    "POST /v1/completions",
    "GET /v1/models",
    "GET /v1/models/{id}",
    "GET /v1/sessions",
    "/v1/memory/...",
    "GET /healthz",
    "GET /readyz",
)


class FeedbackBody(BaseModel):
    """What a person said of a turn, from -1 (wrong) to 1 (right); without `turn_id` of the newest one."""

    score: float = Field(ge=-1, le=1, allow_inf_nan=False, strict=True)
    turn_id: int | None = Field(None, ge=1, le=_LARGEST_ID, strict=True)
    text: str = ""


def build_admin(services: Services) -> FastAPI:
    """The FastAPI application behind everything that is not a model call."""
    app = FastAPI(title="MetaClaw gateway", version=__version__, docs_url=None, redoc_url=None)
    _add_general(app, services)
    _add_sessions(app, services)
    _add_administration(app, services)
    add_memory(app, services)

    @app.exception_handler(StarletteHTTPException)
    async def refused(request: Request, error: StarletteHTTPException) -> Response:
        message = str(error.detail)
        if error.status_code == 404 and message == "Not Found":
            message = f"there is no {request.method} {request.url.path} here; there is: {', '.join(ROUTES)}"
        return _refusal(request, error.status_code, message)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        message = f"{'.'.join(str(p) for p in first['loc'])}: {first['msg']}"
        return _refusal(request, 400, message)

    return app


def _refusal(request: Request, status: int, message: str) -> Response:
    """An error in the dialect that callers of the path expect."""
    path = request.url.path
    return Response(dialect_of(path).error(status, message), status, media_type="application/json")


def _add_general(app: FastAPI, services: Services) -> None:
    @app.head("/")
    @app.get("/")
    async def root() -> dict[str, Any]:
        return {"name": "MetaClaw", "version": __version__}

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": await services.models()}

    @app.get("/v1/models/{model_id:path}")
    async def model(model_id: str) -> dict[str, Any]:
        found = next((entry for entry in await services.models() if entry["id"] == model_id), None)
        if found is None:
            raise HTTPException(404, f"no model {model_id!r} here: GET /v1/models lists them")
        return found


def _add_sessions(app: FastAPI, services: Services) -> None:
    @app.get("/v1/sessions")
    async def sessions(
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        before: Annotated[float | None, Query(allow_inf_nan=False)] = None,
        active: bool | None = None,
    ) -> dict[str, Any]:
        journal = services.journal_or_503()
        found = await asyncio.to_thread(lambda: journal.sessions(limit=limit, before=before, active=active))
        return {"data": [_session(s) for s in found]}

    @app.get("/v1/sessions/{session_id}")
    async def session(session_id: str) -> dict[str, Any]:
        return _session(await _known(services, session_id))

    @app.get("/v1/sessions/{session_id}/turns")
    async def turns(
        session_id: str,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        after: Annotated[int, Query(ge=0, le=_LARGEST_ID)] = 0,
    ) -> dict[str, Any]:
        await _known(services, session_id)
        journal = services.journal_or_503()
        found = await asyncio.to_thread(lambda: journal.turns(session_id, limit=limit, after=after))
        return {"data": [_turn(t) for t in found]}

    @app.post("/v1/sessions/{session_id}/close")
    async def close(session_id: str) -> dict[str, Any]:
        found = await _known(services, session_id)
        if found.ended_at is None:
            await asyncio.wrap_future(services.end_session(session_id, "closed"))
        return _session(await _known(services, session_id))

    @app.post("/v1/sessions/{session_id}/feedback")
    async def feedback(session_id: str, body: FeedbackBody) -> dict[str, Any]:
        await _known(services, session_id)
        journal = services.journal_or_503()
        if body.turn_id is not None:
            turn = await asyncio.to_thread(journal.turn, body.turn_id)
            if turn is None or turn.session_id != session_id:
                raise HTTPException(404, f"no turn {body.turn_id} in session {session_id!r}")
        item = Feedback(session_id, body.score, services.clock(), body.turn_id, body.text[:2000])
        await asyncio.wrap_future(journal.append(item))
        return {"ok": True}


def _add_administration(app: FastAPI, services: Services) -> None:
    def allow(request: Request) -> None:
        given = request.headers.get("x-metaclaw-token", "")
        if not hmac.compare_digest(given.encode(), services.token.encode()):
            raise HTTPException(403, "administration wants the run token in X-MetaClaw-Token")

    @app.get("/v1/admin/status")
    async def status(request: Request) -> dict[str, Any]:
        allow(request)
        return await asyncio.to_thread(services.status)

    @app.post("/v1/admin/shutdown")
    async def shutdown(request: Request) -> dict[str, Any]:
        allow(request)
        services.shut_down()
        return {"ok": True}


async def _known(services: Services, session_id: str) -> Session:
    journal = services.journal_or_503()
    found = await asyncio.to_thread(journal.session, session_id)
    if found is None:
        raise HTTPException(404, f"no session {session_id!r}")
    return found


def _session(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "claw": session.claw,
        "user_id": session.user_id,
        "workspace_id": session.workspace_id,
        "scope": session.scope,
        "protocol": session.protocol,
        "model": session.model,
        "started_at": session.started_at,
        "last_at": session.last_at,
        "ended_at": session.ended_at,
        "end_reason": session.end_reason,
        "turns": session.turns,
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.id,
        "number": turn.number,
        "status": turn.status,
        "user_text": turn.user_text,
        "answer_text": turn.answer_text,
        "model": turn.model,
        "started_at": turn.started_at,
        "finished_at": turn.finished_at,
        "calls": turn.calls,
        "recalled": turn.recalled,
        "usage": _usage(turn.usage),
        "error": turn.error,
    }


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "prompt": usage.prompt,
        "cached": usage.cached,
        "cache_write": usage.cache_write,
        "completion": usage.completion,
    }
