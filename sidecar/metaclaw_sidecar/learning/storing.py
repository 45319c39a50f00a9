"""One fact on its way into memory: new, said again, or in place of an older one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, NamedTuple

from ..records import Memory
from ..store import Transaction, memories

_STEP = 0.1  # by which a restated fact grows in confidence, of what is missing to certainty


class Stored(NamedTuple):
    """The memory that holds the fact now, and how it came to that."""

    memory: Memory
    how: Literal["added", "reinforced", "superseded"]


def store(tx: Transaction, fact: Memory, *, turns: Iterable[str] = (), replaces: Memory | None = None) -> Stored:
    """Store a fact; the same words again reinforce the memory that has them. `replaces` names what it supersedes."""
    alike = [memory for memory in memories.same_words(tx.db, fact.scope_id, fact.content) if memory.status == "active"]
    if alike:
        return Stored(reinforce(tx, alike[0], turns), "reinforced")
    old = current(tx, replaces) if replaces is not None else None
    if old is None:
        return Stored(memories.insert(tx, fact, turns=turns), "added")
    if fact.valid_from < old.valid_from:  # learned late: it had been replaced before we heard of it
        past = replace(fact, status="superseded", superseded_by=old.memory_id, superseded_at=old.valid_from)
        return Stored(memories.insert(tx, past, turns=turns, reason="learned late"), "added")
    new = memories.insert(tx, replace(fact, pinned=fact.pinned or old.pinned), turns=turns)
    supersede(tx, old, new)
    return Stored(new, "superseded")


def supersede(tx: Transaction, old: Memory, new: Memory, *, run_id: str = "") -> None:
    """From now on `new` stands in the place of `old`."""
    memories.change(
        tx, old, "superseded", run_id=run_id,
        status="superseded", superseded_by=new.memory_id, superseded_at=max(new.valid_from, old.valid_from),
    )  # fmt: skip


def reinforce(tx: Transaction, memory: Memory, turns: Iterable[str], *, by: float = 1.0, run_id: str = "") -> Memory:
    """The fact was said again."""
    memories.add_sources(tx, memory.memory_id, turns)
    return memories.change(
        tx, memory, "restated", run_id=run_id,
        reinforcement_score=memory.reinforcement_score + by,
        confidence=memory.confidence + (1 - memory.confidence) * _STEP,
    )  # fmt: skip


def retract(tx: Transaction, memory: Memory, at: float) -> Memory:
    """Somebody took it back: nothing stands in its place, and the history shows what it was."""
    return memories.change(tx, memory, "retracted", status="superseded", superseded_at=max(at, memory.valid_from))


def current(tx: Transaction, memory: Memory) -> Memory | None:
    """What stands in the place of a memory now; None when that is gone."""
    seen: set[str] = set()
    name = memory.memory_id
    while name and name not in seen:
        seen.add(name)
        found = memories.many(tx.db, memory.scope_id, [name]).get(name)
        if found is None:
            return None
        if found.status == "active":
            return found
        name = found.superseded_by
    return None
