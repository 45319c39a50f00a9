"""Recall for prompts, search for people and tools."""

from __future__ import annotations

from fastapi import APIRouter

from ..service import Found, Recalled
from .requests import Retrieve, Search
from .wire import Owner, Route, scope_of

router = APIRouter(route_class=Route, tags=["recall"])


@router.post("/retrieve")
async def retrieve(asked: Retrieve, service: Owner) -> Recalled:
    """What is worth saying unasked, as a block for a prompt."""
    return await service.recall.retrieve(
        scope_of(service, asked), asked.task_description, limit=asked.limit, max_tokens=asked.max_tokens,
        mode=asked.mode, min_score=asked.min_score, exclude=frozenset(asked.exclude), now=asked.now,
    )  # fmt: skip


@router.post("/search")
async def search(asked: Search, service: Owner) -> Found:
    """The best matches among memories and raw turns."""
    return await service.recall.search(
        scope_of(service, asked), asked.query, limit=asked.limit, mode=asked.mode, min_score=asked.min_score,
        kind=asked.kind, now=asked.now,
    )  # fmt: skip
