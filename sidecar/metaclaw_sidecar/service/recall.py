"""Memories on their way out: searched for a person or a tool, or chosen unasked for a prompt."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from .. import token_count
from ..records import Memory, Turn, iso
from ..rendering import Block, Line, line, render
from ..retrieval import Hit, Kind, Mode, Retriever
from ..settings import Settings
from ..store import memories, turns
from .access import Access

_SEARCHERS = 2
_AHEAD = 4  # times as many as are wanted are looked at, since some will be left out
_MOST_HITS = 500
_PRIOR = 0.2  # how much of a score a memory's importance may move, from end to end
Basis = Literal["hybrid", "lexical", "semantic"]


class Candidate(NamedTuple):
    """One text that was found."""

    hit: Hit
    item: Memory | Turn
    outdated: bool
    """A turn from which something was drawn that is no longer so."""

    @property
    def kind(self) -> Kind:
        """What it is."""
        return "turn" if isinstance(self.item, Turn) else "memory"


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search; `search` says what it rests on."""

    results: list[dict[str, Any]]
    search: Basis
    took_ms: float


@dataclass(frozen=True, slots=True)
class Recalled:
    """A block for a prompt, what is in it, and what is not for which reason."""

    rendered_prompt: str
    unit_count: int
    tokens: int
    min_score: float
    search: Basis
    units: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)


class Recall:
    """Asks the retriever, and reads what it found in the store: nothing of another scope, nothing forgotten."""

    def __init__(self, access: Access, retriever: Retriever, settings: Settings) -> None:
        self._access = access
        self._retriever = retriever
        self._settings = settings
        # Of their own: a search waits for no other work.
        self._threads = ThreadPoolExecutor(_SEARCHERS, "sidecar-search")

    def adopt(self, settings: Settings) -> None:
        """From now on recall by these settings."""
        self._settings = settings

    async def search(
        self, scope_id: str, query: str, *, limit: int, mode: Mode | None = None, min_score: float | None = None,
        kind: Kind | None = None, now: float | None = None,
    ) -> Found:  # fmt: skip
        """The best matches, whatever they are. `now` is what "last week" counts from."""
        began = time.perf_counter()
        at_least = self._settings.min_score if min_score is None else min_score
        wanted = min(limit if kind is None else limit * _AHEAD, _MOST_HITS)
        found, basis = await self._in_thread(scope_id, query, wanted, mode, at_least, now)
        chosen = [one for one in found if kind in (None, one.kind)][:limit]
        took = round((time.perf_counter() - began) * 1000, 2)
        return Found([_result(one) for one in chosen], basis, took)

    async def retrieve(
        self, scope_id: str, task: str, *, limit: int | None = None, max_tokens: int | None = None,
        mode: Mode | None = None, min_score: float | None = None, exclude: Collection[str] = (),
        now: float | None = None,
    ) -> Recalled:  # fmt: skip
        """What is worth saying unasked, within the budget."""
        most = self._settings.top_k if limit is None else limit
        budget = self._settings.max_tokens if max_tokens is None else max_tokens
        at_least = self._settings.recall_score if min_score is None else min_score
        wanted = min(max(most * _AHEAD, 20) + len(exclude), _MOST_HITS) if most else 0
        found, basis = await self._in_thread(scope_id, task, wanted, mode, at_least, now)
        if not found:
            return Recalled("", 0, 0, at_least, basis)
        reasons = await self._access.read(lambda db: _reasons(db, scope_id, found, exclude))
        ranked = sorted((one for one in found if one.hit.id not in reasons), key=_weight, reverse=True)
        lines, block = await asyncio.get_running_loop().run_in_executor(
            self._threads, _compose, [one.item for one in ranked], most, budget
        )
        self._count(scope_id, [ranked[place] for place in block.chosen])
        units = [_unit(ranked[place], lines[place]) for place in block.chosen]
        left = [_left_out(one, reasons[one.hit.id]) for one in found if one.hit.id in reasons]
        for place, one in enumerate(ranked):
            if place not in block.chosen:
                reason = "limit" if len(block.chosen) >= most else "budget"
                left.append(_left_out(one, reason) | {"tokens": lines[place].tokens})
        return Recalled(block.text, len(units), block.tokens, at_least, basis, units, left)

    def close(self) -> None:
        """Wait for the searches that run."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def _in_thread(
        self, scope_id: str, query: str, limit: int, mode: Mode | None, at_least: float, now: float | None
    ) -> tuple[list[Candidate], Basis]:
        chosen: Mode = mode or self._settings.mode

        def work() -> tuple[list[Candidate], Basis]:
            hits = self._retriever.search(query, scope_id, limit, chosen, now=now, min_score=at_least)
            basis = _basis(chosen, hits, bool(self._retriever.status()["dense"]))
            if not hits:
                return [], basis
            with self._access.database.reading() as db:
                return _read(db, scope_id, hits), basis

        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _count(self, scope_id: str, chosen: Sequence[Candidate]) -> None:
        """Note that memories were recalled; nobody waits for that."""
        counts = {(scope_id, one.hit.id): 1 for one in chosen if one.kind == "memory"}
        if counts:
            self._access.database.write(lambda tx: memories.accessed(tx, counts))


def _read(db: sqlite3.Connection, scope_id: str, hits: Sequence[Hit]) -> list[Candidate]:
    """What was found, as the store has it now; what is no longer to be recalled falls out."""
    ids = [hit.id for hit in hits]
    held = memories.many(db, scope_id, ids)
    told = turns.many(db, scope_id, [one for one in ids if one not in held])
    outdated = {turn for turn, _, status in memories.drawn_from(db, scope_id, list(told)) if status == "superseded"}
    now = time.time()
    found = []
    for hit in hits:
        item = held.get(hit.id) or told.get(hit.id)
        if isinstance(item, Memory) and not _current(item, now):
            continue
        if item is not None:
            found.append(Candidate(hit, item, hit.id in outdated))
    return found


def _current(memory: Memory, now: float) -> bool:
    return memory.status == "active" and (memory.expires_at is None or memory.expires_at > now)


def _reasons(
    db: sqlite3.Connection, scope_id: str, found: Sequence[Candidate], exclude: Collection[str]
) -> dict[str, str]:
    """Id → why it is not said unasked."""
    places = {one.hit.id: place for place, one in enumerate(found)}
    reasons = {name: "excluded" for name in places if name in exclude}
    reasons |= {one.hit.id: "outdated" for one in found if one.outdated and one.hit.id not in reasons}
    turns_found = [one.hit.id for one in found if one.kind == "turn"]
    for turn, memory, _ in memories.drawn_from(db, scope_id, turns_found):
        # What was drawn from a turn says the same in fewer words, with its dates resolved.
        if turn not in reasons and (places.get(memory, len(found)) < places[turn] or memory in exclude):
            reasons[turn] = "covered"
    return reasons


def _compose(items: Sequence[Memory | Turn], most: int, budget: int) -> tuple[list[Line], Block]:
    texts = [line(item) for item in items]
    lines = [Line(text, token_count.count(f"{text}\n")) for text in texts]
    return lines, render(lines, most, budget, token_count.count)


def _weight(one: Candidate) -> float:
    importance = 0.5 if isinstance(one.item, Turn) else one.item.importance
    return one.hit.score * (1 + _PRIOR * (importance - 0.5))


def _basis(mode: Mode, hits: Sequence[Hit], dense: bool) -> Basis:
    if mode == "keyword" or not (any("dense" in hit.signals for hit in hits) if hits else dense):
        return "lexical"
    return "semantic" if mode == "semantic" else "hybrid"


def _result(one: Candidate) -> dict[str, Any]:
    hit = {
        "memory_id": one.hit.id, "kind": one.kind, "score": round(one.hit.score, 4),
        "matched_terms": list(one.hit.matched_terms), "signals": list(one.hit.signals), "outdated": one.outdated,
    }  # fmt: skip
    item = one.item
    if isinstance(item, Turn):
        return hit | {
            "type": "episodic", "content": item.text, "importance": 0.5, "access_count": 0,
            "created_at": iso(item.at), "valid_from": iso(item.at), "session_id": item.session_id, "tags": [],
            "pinned": False, "origin": "turn",
        }  # fmt: skip
    return hit | {
        "type": item.memory_type, "content": item.content, "importance": item.importance,
        "access_count": item.access_count, "created_at": iso(item.created_at), "valid_from": iso(item.valid_from),
        "session_id": item.source_session_id, "tags": list(item.tags), "pinned": item.pinned, "origin": item.origin,
    }  # fmt: skip


def _unit(one: Candidate, rendered: Line) -> dict[str, Any]:
    names = ("memory_id", "kind", "type", "score", "content", "session_id")
    shown = _result(one)
    return {name: shown[name] for name in names} | {
        "at": shown["valid_from"], "line": rendered.text, "tokens": rendered.tokens,
    }  # fmt: skip


def _left_out(one: Candidate, reason: str) -> dict[str, Any]:
    return {"memory_id": one.hit.id, "score": round(one.hit.score, 4), "reason": reason}
