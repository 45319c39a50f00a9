"""Tidying up: the same fact twice, facts that have expired, old summaries, importance that fades. One run, one name,
one undo.

Each step is planned by reading and done in small transactions; a memory that changed in between is left alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import NamedTuple

from ..errors import NotFound
from ..records import Memory, new_id
from ..store import Database, Transaction, memories
from .likeness import likeness
from .storing import reinforce, supersede

_DAY = 86_400.0
_UNUSED = 60 * _DAY  # a memory that nothing has touched for so long fades a little
_FADES = 0.9
_LEAST = 0.1
_LASTING = ("preference", "semantic")  # what a person is and wants does not fade
_SUMMARIES = 30  # sessions whose summary is recalled; of older ones the facts and the raw turns tell
_BATCH = 100


@dataclass(slots=True)
class Outcome:
    """What a run did; `run_id` undoes it."""

    run_id: str
    superseded: int = 0
    decayed: int = 0
    reinforced: int = 0
    archived: int = 0


class _Step(NamedTuple):
    kind: str
    memory: Memory
    into: Memory | None = None


def consolidate(database: Database, scope_id: str, now: float) -> Outcome:
    """Tidy one scope. Blocks; call it from a worker thread."""
    outcome = Outcome(new_id("run"))
    with database.reading() as db:
        steps = list(_plan(memories.every(db, scope_id), now))
    for start in range(0, len(steps), _BATCH):
        part = steps[start : start + _BATCH]
        database.write(lambda tx, part=part: _do(tx, part, outcome)).result()  # type: ignore[misc]
    database.write(lambda tx: tx.tell("consolidated", scope_id, outcome.run_id, **_counts(outcome))).result()
    return outcome


def undo(tx: Transaction, scope_id: str, run_id: str) -> int:
    """Put everything back that a run changed and nobody has changed since; returns how many. Raises NotFound."""
    pairs = [pair for pair in memories.version_before_run(tx.db, run_id) if pair[0].scope_id == scope_id]
    if not pairs:
        raise NotFound("nothing of that run is left to be undone in this scope")
    own = ("memory_id", "scope_id", "version", "updated_at", "access_count", "last_accessed_at")
    names = [field.name for field in fields(Memory) if field.name not in own]
    for now, was in pairs:
        memories.change(tx, now, "undone", **{name: getattr(was, name) for name in names})
    return len(pairs)


def sessions_since_last(db: sqlite3.Connection, scope_id: str) -> int:
    """How many sessions have ended since the scope was last tidied."""
    last = "SELECT coalesce(max(seq), 0) FROM events WHERE scope_id = ?1 AND kind = 'consolidated'"
    query = f"SELECT count(*) FROM events WHERE scope_id = ?1 AND kind = 'session_ended' AND seq > ({last})"  # noqa: S608
    return int(db.execute(query, (scope_id,)).fetchone()[0])


def _plan(held: Sequence[Memory], now: float) -> Iterator[_Step]:
    active = [memory for memory in held if memory.status == "active"]
    summaries = [memory for memory in active if memory.memory_type == "working_summary" and not memory.pinned]
    old = {one.memory_id for one in sorted(summaries, key=lambda m: -m.valid_from)[_SUMMARIES:]}
    kept: dict[tuple[str, str, str], Memory] = {}
    for memory in sorted(active, key=lambda m: (not m.pinned, -m.reinforcement_score, m.created_at)):
        expired = memory.expires_at is not None and memory.expires_at <= now and not memory.pinned
        if expired or memory.memory_id in old:
            yield _Step("archive", memory)
            continue
        same = kept.setdefault((likeness(memory.content), memory.subject.casefold(), memory.memory_type), memory)
        # Turns kept as they were said are events: that two say the same is no mistake.
        if same is not memory and not memory.pinned and memory.origin != "verbatim":
            yield _Step("merge", memory, same)
        elif _fades(memory, now):
            yield _Step("decay", memory)


def _fades(memory: Memory, now: float) -> bool:
    touched = max(memory.updated_at, memory.last_accessed_at or 0.0)
    lasting = memory.pinned or memory.memory_type in _LASTING
    return not lasting and memory.importance > _LEAST and now - touched > _UNUSED


def _do(tx: Transaction, steps: Sequence[_Step], outcome: Outcome) -> None:
    for step in steps:
        memory = memories.many(tx.db, step.memory.scope_id, [step.memory.memory_id]).get(step.memory.memory_id)
        if memory is None or memory.version != step.memory.version:
            continue
        if step.kind == "archive":
            memories.change(tx, memory, "archived", run_id=outcome.run_id, status="archived")
            outcome.archived += 1
        elif step.kind == "decay":
            faded = max(memory.importance * _FADES, _LEAST)
            memories.change(tx, memory, "decayed", run_id=outcome.run_id, importance=faded)
            outcome.decayed += 1
        elif step.into is not None:
            _merge(tx, memory, step.into, outcome)


def _merge(tx: Transaction, memory: Memory, into: Memory, outcome: Outcome) -> None:
    into_now = memories.many(tx.db, into.scope_id, [into.memory_id]).get(into.memory_id)
    if into_now is None or into_now.status != "active" or into_now.content != into.content:
        return
    supersede(tx, memory, into_now, run_id=outcome.run_id)
    memories.add_sources(tx, into.memory_id, memories.sources(tx.db, memory.memory_id))
    reinforce(tx, into_now, [], by=1.0 + memory.reinforcement_score, run_id=outcome.run_id)
    outcome.superseded += 1
    outcome.reinforced += 1


def _counts(outcome: Outcome) -> dict[str, int]:
    return {name: count for name, count in asdict(outcome).items() if isinstance(count, int)}
