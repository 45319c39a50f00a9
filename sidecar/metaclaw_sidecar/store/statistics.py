"""What a scope holds, in numbers."""

from __future__ import annotations

import sqlite3
from typing import Any

from . import jobs


def memories_held(db: sqlite3.Connection) -> int:
    """How many active memories there are in all scopes together."""
    return int(db.execute("SELECT count(*) FROM memories WHERE status = 'active'").fetchone()[0])


def of_scope(db: sqlite3.Connection, scope_id: str) -> dict[str, Any]:
    """Counts by type and state, turns, jobs, vectors, feedback."""

    def grouped(query: str) -> dict[Any, int]:
        return dict(db.execute(query, (scope_id,)).fetchall())

    by_status = grouped("SELECT status, count(*) FROM memories WHERE scope_id = ? GROUP BY status")
    useful = grouped(
        "SELECT f.useful, count(*) FROM feedback f JOIN memories m USING (memory_id)"
        " WHERE m.scope_id = ? GROUP BY f.useful"
    )
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
    }
