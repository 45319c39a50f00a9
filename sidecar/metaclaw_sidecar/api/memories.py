"""Memories one by one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from ..records import MemoryType
from ..service import NewMemory
from .requests import Change, Feedback, Forget, Pin, Revert, Store
from .wire import Owner, Route, ScopeId, scope_of

router = APIRouter(route_class=Route, tags=["memories"])


@router.post("/store")
async def store(asked: Store, service: Owner) -> dict[str, Any]:
    """Remember something; the same words again reinforce what is there."""
    given = NewMemory(**asked.model_dump(exclude={"scope_id"}))
    return (await service.curation.store(scope_of(service, asked), given))._asdict()


@router.get("/memories")
async def page(
    scope_id: ScopeId,
    service: Owner,
    memory_type: Annotated[MemoryType | Literal[""], Query(alias="type")] = "",
    status: Literal["active", "superseded", "archived", "all"] = "active",
    tag: str = "",
    pinned: bool | None = None,
    session_id: str = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> dict[str, Any]:
    """Memories, newest first."""
    found, total = await service.curation.page(
        scope_id, memory_type=memory_type, status="" if status == "all" else status, tag=tag, pinned=pinned,
        session_id=session_id, limit=limit, offset=offset,
    )  # fmt: skip
    return {"memories": found, "total": total, "limit": limit, "offset": offset}


@router.get("/memories/{memory_id}")
async def show(memory_id: str, scope_id: ScopeId, service: Owner) -> dict[str, Any]:
    """One memory, with what it replaced and where it came from."""
    return await service.curation.get(scope_id, memory_id)


@router.patch("/memories/{memory_id}")
async def change(memory_id: str, asked: Change, service: Owner) -> dict[str, Any]:
    """Change what is given; the memory gets a new version."""
    return await service.curation.change(scope_of(service, asked), memory_id, asked.given(), asked.version)


@router.delete("/memories/{memory_id}")
async def delete(memory_id: str, scope_id: ScopeId, service: Owner, with_history: bool = False) -> dict[str, Any]:
    """Forget a memory or a raw turn, with every trace of its text."""
    return {"ok": True, "receipt": await service.curation.forget(scope_id, memory_id, with_history=with_history)}


@router.get("/memories/{memory_id}/history")
async def history(memory_id: str, scope_id: ScopeId, service: Owner) -> dict[str, Any]:
    """Its versions, what it replaced and what replaced it, and the turns it came from."""
    return await service.curation.history(scope_id, memory_id)


@router.post("/memories/{memory_id}/revert")
async def revert(memory_id: str, asked: Revert, service: Owner) -> dict[str, Any]:
    """Make it what it was in an earlier version."""
    return await service.curation.revert(scope_of(service, asked), memory_id, asked.version)


@router.post("/pin")
async def pin(asked: Pin, service: Owner) -> dict[str, Any]:
    """Keep a memory from fading and expiring."""
    await service.curation.pin(scope_of(service, asked), asked.memory_id, asked.pinned)
    return {"ok": True, "memory_id": asked.memory_id, "pinned": asked.pinned}


@router.post("/feedback")
async def feedback(asked: Feedback, service: Owner) -> dict[str, Any]:
    """Say whether a recalled memory was useful."""
    verdict = await service.curation.judge(scope_of(service, asked), asked.memory_id, asked.useful)
    return {"ok": True, "memory_id": asked.memory_id} | verdict._asdict()


@router.post("/forget")
async def forget(asked: Forget, service: Owner) -> dict[str, Any]:
    """Forget a memory or a raw turn, with every trace of its text."""
    scope_id = scope_of(service, asked)
    receipt = await service.curation.forget(scope_id, asked.memory_id, with_history=asked.with_history)
    return {"ok": True, "receipt": receipt}


@router.get("/receipts")
async def receipts(scope_id: ScopeId, service: Owner) -> dict[str, Any]:
    """Proofs of what was deleted, newest first."""
    return {"receipts": await service.curation.receipts(scope_id)}
