"""What happened, in order: events in SQL, for those who follow along."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from ..records import iso
from .database import Transaction

_KEPT = 20_000


def after(db: sqlite3.Connection, scope_id: str, seq: int, limit: int = 200) -> list[dict[str, Any]]:
    """Events of a scope after a position, oldest first."""
    rows = db.execute(
        "SELECT * FROM events WHERE scope_id = ? AND seq > ? ORDER BY seq LIMIT ?", (scope_id, seq, limit)
    )
    return [
        {
            "seq": row["seq"], "at": iso(row["at"]), "kind": row["kind"],
            "subject": row["subject"], **json.loads(row["data"]),
        }
        for row in rows
    ]  # fmt: skip


def newest(db: sqlite3.Connection) -> int:
    """The position of the newest event."""
    return int(db.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])


def prune(tx: Transaction) -> None:
    """Keep the newest events only."""
    tx.db.execute("DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - ?", (_KEPT,))
