"""`/v1/memory/*`: the memory service behind the gateway's own door, and a few views of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.responses import Response

from metaclaw.gateway.protocols.spans import dumps
from metaclaw.gateway.services import Services
from metaclaw.memory import MemoryClient, MemoryDown

_PATIENCE = 320.0  # seconds; a flush may wait for the model for as long as its caller wants
_CLOSED = ("shutdown", "mcp", "openapi.json", "readyz")  # the service's own affairs
_METHODS = ["GET", "POST", "PATCH", "DELETE"]


def add_memory(app: FastAPI, services: Services) -> None:
    """Put the routes on the application; without memory each says 503."""
    _add_views(app, services)
    _add_turns(app, services)

    @app.api_route("/v1/memory/{path:path}", methods=_METHODS, include_in_schema=False)
    async def passed_on(request: Request, path: str) -> Response:
        """Everything else is the service's, as it stands in docs/memory.md."""
        if path.partition("/")[0] in _CLOSED:
            raise HTTPException(404, f"there is no {request.method} /v1/memory/{path} here")
        body = await request.body()
        try:
            reply = await _client(services).send(
                request.method, f"/{path}", body or None, query=request.url.query, timeout=_PATIENCE
            )
        except MemoryDown as down:
            raise HTTPException(503, str(down)) from None
        return Response(reply.body, reply.status, media_type=reply.kind)


def _add_views(app: FastAPI, services: Services) -> None:
    @app.get("/v1/memory/search")
    async def search(q: str = Query(min_length=1), scope: str = "", limit: int = Query(20, ge=1, le=100)) -> Any:
        found = await _ask(services, "POST", "/search", {"query": q, "limit": limit, **_in(scope)})
        return found["results"]

    @app.get("/v1/memory/stats")
    async def stats(scope: str = "") -> Any:
        return await _ask(services, "GET", "/stats", query=_in(scope))

    @app.get("/v1/memory/summary")
    async def summary(scope: str = "") -> dict[str, Any]:
        counts = await _ask(services, "GET", "/stats", query=_in(scope))
        wanted = {"type": "working_summary", "limit": 5, **_in(scope)}
        newest = await _ask(services, "GET", "/memories", query={"limit": 10, **_in(scope)})
        summaries = await _ask(services, "GET", "/memories", query=wanted)
        return {**counts, "summaries": _contents(summaries), "newest": _contents(newest)}

    @app.get("/v1/memory/feedback-analysis")
    async def feedback(scope: str = "") -> dict[str, Any]:
        counts = (await _ask(services, "GET", "/stats", query=_in(scope)))["feedback"]
        asked = counts["useful"] + counts["not_useful"]
        return {**counts, "useful_share": counts["useful"] / asked if asked else None}

    @app.get("/v1/memory/operator-report")
    async def report(scope: str = "") -> dict[str, Any]:
        health = await _ask(services, "GET", "/health")
        counts = await _ask(services, "GET", "/stats", query=_in(scope))
        return {"ok": not health.get("problems"), "problems": health.get("problems", []), "stats": counts,
                "actions": _actions(counts)}  # fmt: skip

    @app.post("/v1/memory/action-plan")
    async def plan(body: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"actions": _actions(await _ask(services, "GET", "/stats", query=_in(_scope(body))))}

    @app.post("/v1/memory/maintenance")
    async def maintenance(body: dict[str, Any] | None = None) -> dict[str, Any]:
        tidied = await _ask(services, "POST", "/consolidate", _in(_scope(body)))
        counts = await _ask(services, "GET", "/stats", query=_in(_scope(body)))
        rebuilt = any(action["action"] == "reindex" for action in _actions(counts))
        if rebuilt:
            await _ask(services, "POST", "/reindex", _in(_scope(body)))
        return {"consolidated": tidied, "reindexed": rebuilt}


def _add_turns(app: FastAPI, services: Services) -> None:
    @app.post("/v1/memory/ingest")
    async def ingest(body: dict[str, Any] | None = None) -> Any:
        given = body or {}
        if "turns" in given:
            return await _ask(services, "POST", "/ingest", _renamed(given))
        if given.get("session_id"):
            wanted = {"session_id": given["session_id"], "final": False, **_in(_scope(given))}
            done = await _ask(services, "POST", "/flush_session", wanted)
            sessions = [given["session_id"]] if done["turns"] else []
            return {
                "added": done["added"],
                "buffered_turns": done["turns"],
                "sessions": sessions,
                "state": done["state"],
            }
        return await _ask(services, "POST", "/flush", _in(_scope(given)))

    @app.post("/v1/memory/buffer_turn")
    async def buffer_turn(body: dict[str, Any]) -> Any:
        return await _ask(services, "POST", "/buffer_turn", _renamed(body))

    @app.post("/v1/memory/flush_session")
    async def flush_session(body: dict[str, Any]) -> Any:
        return await _ask(services, "POST", "/flush_session", _renamed(body))


def _client(services: Services) -> MemoryClient:
    if services.memory is None:
        raise HTTPException(503, "memory is off: `metaclaw config memory.enabled true` switches it on")
    return services.memory


async def _ask(
    services: Services, method: str, path: str, body: Mapping[str, Any] | None = None,
    query: Mapping[str, Any] | None = None,
) -> Any:  # fmt: skip
    """The service's answer; its refusal is passed on as a 400, its absence as a 503."""
    raw = None if body is None else dumps(dict(body))
    try:
        reply = await _client(services).send(method, path, raw, query=urlencode(query or {}), timeout=_PATIENCE)
        return reply.value()
    except MemoryDown as down:
        raise HTTPException(400 if down.refused else 503, str(down)) from None


def _in(scope: str) -> dict[str, str]:
    return {"scope_id": scope} if scope else {}


def _scope(body: Mapping[str, Any] | None) -> str:
    given = (body or {}).get("scope_id") or (body or {}).get("scope") or ""
    return given if isinstance(given, str) else ""


def _renamed(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body whose `scope` is what the service calls `scope_id`."""
    return {("scope_id" if name == "scope" else name): value for name, value in body.items()}


def _contents(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    kept = ("memory_id", "memory_type", "content", "valid_from")
    return [{name: one[name] for name in kept} for one in page["memories"]]


def _actions(counts: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a person might do, each with its reason."""
    actions = []
    failed = counts["jobs"].get("failed", 0)
    if failed:
        actions.append(
            {"action": "retry", "reason": f"{failed} extraction jobs failed: GET /v1/memory/jobs?state=failed"}
        )
    index = counts["index"]
    if index.get("dense") and index.get("missing"):
        actions.append({"action": "reindex", "reason": f"{index['missing']} documents have no vector yet"})
    if index.get("problem"):
        actions.append({"action": "check_embedder", "reason": str(index["problem"])})
    return actions
