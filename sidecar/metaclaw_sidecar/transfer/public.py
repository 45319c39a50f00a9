"""The public MetaClaw's memory: an SQLite file with one table `memories`, lists as JSON text."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import Refused
from ..records import MEMORY_TYPES, Memory, seconds
from .incoming import IncomingMemory, Item, Unreadable, our_id

_STATUS = ("active", "superseded", "archived")


def read(path: Path) -> Iterator[Item]:
    """The rows of the file, which is not altered. Raises Refused when it can't be read."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            for number, row in enumerate(db.execute("SELECT * FROM memories ORDER BY rowid"), 1):
                try:
                    yield IncomingMemory(_memory(dict(row)))
                except (ValueError, TypeError, KeyError) as error:
                    yield Unreadable(f"row {number}: {str(error)[:100] or type(error).__name__}")
    except sqlite3.Error as error:
        raise Refused(f"the database can't be read: {error}") from None


def _memory(row: dict[str, Any]) -> Memory:
    kind = str(row["memory_type"])
    if kind not in MEMORY_TYPES:
        raise ValueError(f'unknown type "{kind}"')
    scope_id = str(row.get("scope_id") or "")
    created = seconds(row.get("created_at")) or time.time()
    updated = seconds(row.get("updated_at")) or created
    status = str(row.get("status") or "active")
    heir = str(row.get("superseded_by") or "")
    return Memory(
        memory_id=our_id(f"public\0{scope_id}\0{row['memory_id']}"), scope_id=scope_id,
        memory_type=kind, content=str(row["content"] or ""),
        created_at=created, updated_at=updated, valid_from=created, summary=str(row.get("summary") or ""),
        source_session_id=str(row.get("source_session_id") or ""),
        source_turn_start=row.get("source_turn_start"), source_turn_end=row.get("source_turn_end"),
        entities=_list(row.get("entities")), topics=_list(row.get("topics")), tags=_list(row.get("tags")),
        importance=_number(row.get("importance"), 0.5), confidence=_number(row.get("confidence"), 0.7),
        access_count=int(row.get("access_count") or 0),
        reinforcement_score=_number(row.get("reinforcement_score"), 0.0),
        status=status if status in _STATUS else "archived",  # type: ignore[arg-type]
        superseded_by=our_id(f"public\0{scope_id}\0{heir}") if heir else "",
        superseded_at=updated if heir else None, last_accessed_at=seconds(row.get("last_accessed_at")),
        expires_at=seconds(row.get("expires_at")), origin="imported",
    )  # fmt: skip


def _list(value: Any) -> tuple[str, ...]:
    items = json.loads(value) if isinstance(value, str) and value.strip() else []
    return tuple(str(item) for item in items) if isinstance(items, list) else ()


def _number(value: Any, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default
