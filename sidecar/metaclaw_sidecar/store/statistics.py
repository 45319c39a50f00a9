"""What a scope holds, in numbers."""

from __future__ import annotations

import sqlite3
from typing import Any

from ..records import iso
from . import jobs


def memories_held(db: sqlite3.Connection) -> int:
    """How many active memories there are in all scopes together."""
    return int(db.execute("SELECT count(*) FROM memories WHERE status = 'active'").fetchone()[0])


def of_scopes(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every scope that holds anything: its active memories, and its turns whose text is kept."""
    active = "SELECT scope_id, sum(status = 'active') FROM memories GROUP BY scope_id"
    kept = "SELECT scope_id, count(*) FROM turns WHERE state != 'forgotten' GROUP BY scope_id"
    held, told = (dict(db.execute(query).fetchall()) for query in (active, kept))
    return [
        {"scope_id": name, "memories": held.get(name, 0), "turns": told.get(name, 0)} for name in sorted({*held, *told})
    ]


def of_scope(db: sqlite3.Connection, scope_id: str) -> dict[str, Any]:
    """Counts by type and state, turns, jobs, vectors, feedback."""

    def grouped(query: str) -> dict[Any, int]:
        return dict(db.execute(query, (scope_id,)).fetchall())

    by_status = grouped("SELECT status, count(*) FROM memories WHERE scope_id = ? GROUP BY status")
    useful = grouped(
        "SELECT f.useful, count(*) FROM feedback f JOIN memories m USING (memory_id)"
        " WHERE m.scope_id = ? GROUP BY f.useful"
    )
    span = "SELECT min(created_at), max(created_at) FROM memories WHERE scope_id = ?"
    oldest, newest = db.execute(span, (scope_id,)).fetchone()
    pinned = "SELECT count(*) FROM memories WHERE scope_id = ? AND pinned = 1 AND status = 'active'"
    return {
        "scope_id": scope_id,
        "total": sum(by_status.values()),
        "active": by_status.get("active", 0),
        "superseded": by_status.get("superseded", 0),
        "archived": by_status.get("archived", 0),
        "pinned": db.execute(pinned, (scope_id,)).fetchone()[0],
        "active_by_type": grouped(
            "SELECT memory_type, count(*) FROM memories WHERE scope_id = ? AND status = 'active' GROUP BY memory_type"
        ),
        "turns": grouped("SELECT state, count(*) FROM turns WHERE scope_id = ? GROUP BY state"),
        "jobs": jobs.counts(db, scope_id),
        "vectors": grouped("SELECT model, count(*) FROM vectors WHERE scope_id = ? GROUP BY model"),
        "feedback": {"useful": useful.get(1, 0), "not_useful": useful.get(0, 0)},
        "oldest": iso(oldest),
        "newest": iso(newest),
    }
