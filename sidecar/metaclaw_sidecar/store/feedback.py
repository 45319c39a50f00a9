"""What people said about memories that were recalled: useful or not, and what that makes of their importance."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from . import memories
from .database import Transaction

_STEP = 0.1


class Verdict(NamedTuple):
    """What has been said of a memory so far, and its importance by now."""

    useful: int
    not_useful: int
    importance: float


def add(tx: Transaction, scope_id: str, memory_id: str, useful: bool) -> Verdict:
    """Note one opinion. Raises NotFound."""
    memory = memories.get(tx.db, scope_id, memory_id)
    row = (memory.memory_id, tx.now, int(useful))
    tx.db.execute("INSERT INTO feedback (memory_id, at, useful) VALUES (?, ?, ?)", row)
    importance = round(memory.importance + (_STEP if useful else -_STEP), 3)
    changed = memories.change(tx, memory, "useful" if useful else "not useful", importance=importance)
    return Verdict(*counts(tx.db, memory_id), changed.importance)


def counts(db: sqlite3.Connection, memory_id: str) -> tuple[int, int]:
    """(useful, not useful) of one memory."""
    query = "SELECT coalesce(sum(useful), 0), coalesce(sum(1 - useful), 0) FROM feedback WHERE memory_id = ?"
    useful, not_useful = db.execute(query, (memory_id,)).fetchone()
    return int(useful), int(not_useful)
