"""A store on disk, with a few memories of all sorts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metaclaw_sidecar.learning import store
from metaclaw_sidecar.records import Memory
from metaclaw_sidecar.store import Database, Transaction, memories, turns

Open = Callable[[str], Database]


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Open]:
    opened: list[Database] = []

    def opening(name: str) -> Database:
        opened.append(Database(tmp_path / name / "memory.sqlite3"))
        return opened[-1]

    yield opening
    for database in opened:
        database.close()


def remember(database: Database, scope_id: str, text: str, at: float = 1_700_000_000.0, **more: Any) -> Memory:
    """Store a memory; `replaces` names what it supersedes."""
    replaces = more.pop("replaces", None)
    kind = more.pop("kind", "semantic")

    def work(tx: Transaction) -> Memory:
        sources = []
        if told := more.pop("told", ""):
            turn = turns.fresh(scope_id, "s1", told, "I see.", at)
            sources.append(turns.buffer(tx, turn, "", 1000).turn_id)
        made = memories.draft(scope_id, text, kind, tx.now, origin="stored", valid_from=at, **more)
        return store(tx, made, turns=sources, replaces=replaces).memory

    return database.write(work).result()


def everything(database: Database, scope_id: str) -> list[Memory]:
    """All memories of a scope."""
    with database.reading() as db:
        return memories.every(db, scope_id)
