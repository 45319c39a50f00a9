"""Memories and their versions in SQL. Every call names its scope; an id of another scope does not exist."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from ..errors import NotFound
from ..records import Memory, MemoryType, Origin, new_id
from ..redaction import redact
from .database import Transaction
from .words import fingerprint, written, written_all

_COLUMNS = tuple(field.name for field in fields(Memory))
_LISTS = ("entities", "topics", "tags")
_TEXTS = ("content", "summary", "subject")
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM memories"  # noqa: S608 - names of our own columns
_INSERT = f"INSERT INTO memories ({', '.join(_COLUMNS)}, fingerprint) VALUES ({', '.join('?' * (len(_COLUMNS) + 1))})"  # noqa: S608


def draft(
    scope_id: str,
    content: str,
    memory_type: MemoryType,
    now: float,
    *,
    origin: Origin,
    valid_from: float | None = None,
    **more: Any,
) -> Memory:
    """A memory that is not stored yet."""
    more.setdefault("memory_id", new_id("mem"))
    when = now if valid_from is None else valid_from
    return Memory(
        scope_id=scope_id, content=content, memory_type=memory_type, created_at=now, updated_at=now, valid_from=when,
        origin=origin, **more,
    )  # fmt: skip


def insert(tx: Transaction, memory: Memory, *, turns: Iterable[str] = (), reason: str = "created") -> Memory:
    """Store a new memory with where it came from."""
    memory = _clean(memory)
    tx.db.execute(_INSERT, (*_values(memory), fingerprint(memory.content)))
    _keep_version(tx, memory, reason, "")
    add_sources(tx, memory.memory_id, turns)
    tx.touch(memory.scope_id, memory.memory_id)
    tx.tell("memory_created", memory.scope_id, memory.memory_id, type=memory.memory_type, origin=memory.origin)
    return memory


def insert_versions(tx: Transaction, before: Iterable[dict[str, Any]]) -> None:
    """What a memory was before it came here: {version, at, reason, memory}."""
    for version in before:
        record = json.dumps(asdict(_clean(version["memory"])), ensure_ascii=False)
        row = (version["memory"].memory_id, version["version"], version["at"], version["reason"], "", record)
        tx.db.execute("INSERT OR IGNORE INTO versions VALUES (?, ?, ?, ?, ?, ?)", row)


def change(tx: Transaction, memory: Memory, reason: str, *, run_id: str = "", **changes: Any) -> Memory:
    """Store a new version of a memory; a new text loses its vectors."""
    new = _clean(replace(memory, **changes, updated_at=tx.now, version=memory.version + 1))
    pairs = ", ".join(f"{name} = ?" for name in _COLUMNS)
    tx.db.execute(
        f"UPDATE memories SET {pairs}, fingerprint = ? WHERE memory_id = ?",  # noqa: S608 - names of our own columns
        (*_values(new), fingerprint(new.content), new.memory_id),
    )
    _keep_version(tx, new, reason, run_id)
    if new.content != memory.content:
        tx.db.execute("DELETE FROM vectors WHERE id = ? AND scope_id = ?", (new.memory_id, new.scope_id))
    tx.touch(new.scope_id, new.memory_id)
    tx.tell("memory_changed", new.scope_id, new.memory_id, reason=reason, status=new.status, version=new.version)
    return new


def add_sources(tx: Transaction, memory_id: str, turns: Iterable[str]) -> None:
    """Remember the turns a memory was drawn from, or restated in."""
    tx.db.executemany("INSERT OR IGNORE INTO sources VALUES (?, ?)", [(memory_id, turn) for turn in turns])


def get(db: sqlite3.Connection, scope_id: str, memory_id: str) -> Memory:
    """One memory. Raises NotFound."""
    row = db.execute(f"{_SELECT} WHERE memory_id = ? AND scope_id = ?", (memory_id, scope_id)).fetchone()
    if row is None:
        raise NotFound(f"no memory {memory_id[:60]} in this scope")
    return _memory(row)


def many(db: sqlite3.Connection, scope_id: str, ids: Sequence[str]) -> dict[str, Memory]:
    """Those of these memories that are in the scope."""
    found: dict[str, Memory] = {}
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        marks = ", ".join("?" * len(part))
        # The plus keeps SQLite from reading the whole scope by its index.
        rows = db.execute(f"{_SELECT} WHERE +scope_id = ? AND memory_id IN ({marks})", (scope_id, *part))
        found.update((row["memory_id"], _memory(row)) for row in rows)
    return found


def same_words(db: sqlite3.Connection, scope_id: str, content: str) -> list[Memory]:
    """Memories of the scope that say the same in other case, punctuation or articles, newest first."""
    rows = db.execute(
        f"{_SELECT} WHERE scope_id = ? AND fingerprint = ? ORDER BY updated_at DESC", (scope_id, fingerprint(content))
    )
    return [_memory(row) for row in rows]


def page(
    db: sqlite3.Connection,
    scope_id: str,
    *,
    memory_type: str = "",
    status: str = "",
    tag: str = "",
    pinned: bool | None = None,
    session_id: str = "",
    limit: int,
    offset: int = 0,
) -> tuple[list[Memory], int]:
    """Memories of a scope, newest first, and how many there are in all."""
    where, values = "scope_id = ?", [scope_id]
    for column, value in (("memory_type", memory_type), ("status", status), ("source_session_id", session_id)):
        if value:
            where += f" AND {column} = ?"
            values.append(value)
    if tag:
        where += " AND EXISTS (SELECT 1 FROM json_each(tags) WHERE json_each.value = ?)"
        values.append(tag)
    if pinned is not None:
        where += f" AND pinned = {int(pinned)}"
    total = db.execute(f"SELECT count(*) FROM memories WHERE {where}", values).fetchone()[0]  # noqa: S608
    order = "ORDER BY created_at DESC, memory_id LIMIT ? OFFSET ?"
    rows = db.execute(f"{_SELECT} WHERE {where} {order}", (*values, limit, offset))
    return [_memory(row) for row in rows], int(total)


def every(db: sqlite3.Connection, scope_id: str) -> list[Memory]:
    """All memories of a scope, oldest first."""
    return [_memory(row) for row in db.execute(f"{_SELECT} WHERE scope_id = ? ORDER BY created_at", (scope_id,))]


def versions(db: sqlite3.Connection, scope_id: str, memory_id: str) -> list[dict[str, Any]]:
    """What a memory was, oldest first: {version, at, reason, memory}."""
    get(db, scope_id, memory_id)
    rows = db.execute("SELECT * FROM versions WHERE memory_id = ? ORDER BY version", (memory_id,))
    return [
        {"version": row["version"], "at": row["at"], "reason": row["reason"], "memory": _from_json(row["record"])}
        for row in rows
    ]


def version_before_run(db: sqlite3.Connection, run_id: str) -> list[tuple[Memory, Memory]]:
    """(as it stands, as it was before) of every memory whose newest version was made by this run."""
    rows = db.execute(
        "SELECT now.memory_id, was.record FROM versions now JOIN versions was"
        " ON was.memory_id = now.memory_id AND was.version = now.version - 1"
        " JOIN memories m ON m.memory_id = now.memory_id AND m.version = now.version"
        " WHERE now.run_id = ? AND now.run_id != ''",
        (run_id,),
    ).fetchall()
    pairs = []
    for row in rows:
        was = _from_json(row["record"])
        pairs.append((get(db, was.scope_id, was.memory_id), was))
    return pairs


def predecessors(db: sqlite3.Connection, scope_id: str, memory_id: str) -> list[str]:
    """The memories that this one has replaced, directly or through others."""
    found: dict[str, None] = {}
    ahead = [memory_id]
    while ahead:
        rows = db.execute(
            "SELECT memory_id FROM memories WHERE superseded_by = ? AND superseded_by != '' AND +scope_id = ?",
            (ahead.pop(), scope_id),
        )
        fresh = [row[0] for row in rows if row[0] not in found and row[0] != memory_id]
        found.update(dict.fromkeys(fresh))
        ahead += fresh
    return list(found)


def sources(db: sqlite3.Connection, memory_id: str) -> list[str]:
    """The turns a memory came from."""
    return [row[0] for row in db.execute("SELECT turn_id FROM sources WHERE memory_id = ?", (memory_id,))]


def drawn_from(db: sqlite3.Connection, scope_id: str, turns: Sequence[str]) -> list[tuple[str, str, str]]:
    """(turn, memory, the memory's status) of all that was drawn from these turns."""
    marks = ", ".join("?" * len(turns))
    query = (
        "SELECT s.turn_id, m.memory_id, m.status FROM sources s JOIN memories m ON m.memory_id = s.memory_id"  # noqa: S608
        f" WHERE +m.scope_id = ? AND m.memory_id != s.turn_id AND s.turn_id IN ({marks})"
    )
    rows = db.execute(query, (scope_id, *turns))
    return [(row[0], row[1], row[2]) for row in rows]


def accessed(tx: Transaction, counts: dict[tuple[str, str], int]) -> None:
    """Count that memories were recalled; no version is made of that."""
    tx.db.executemany(
        "UPDATE memories SET access_count = access_count + ?, last_accessed_at = ?"
        " WHERE memory_id = ? AND scope_id = ?",
        [(count, tx.now, memory_id, scope_id) for (scope_id, memory_id), count in counts.items()],
    )


def _clean(memory: Memory) -> Memory:
    cleaned: dict[str, Any] = {name: written(getattr(memory, name)) for name in _TEXTS}
    cleaned |= {name: written_all(getattr(memory, name)) for name in _LISTS}
    cleaned |= {name: min(max(getattr(memory, name), 0.0), 1.0) for name in ("importance", "confidence")}
    return replace(memory, **cleaned)


def _keep_version(tx: Transaction, memory: Memory, reason: str, run_id: str) -> None:
    record = json.dumps(asdict(memory), ensure_ascii=False)
    row = (memory.memory_id, memory.version, tx.now, reason, run_id, record)
    tx.db.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)", row)


def _values(memory: Memory) -> list[Any]:
    values = (getattr(memory, name) for name in _COLUMNS)
    return [json.dumps(value, ensure_ascii=False) if isinstance(value, tuple) else value for value in values]


def _memory(row: sqlite3.Row) -> Memory:
    """A row as a value. Secrets go here once more: the patterns may know more than when it was written."""
    values = {name: row[name] for name in _COLUMNS}
    values |= {name: redact(values[name]) for name in _TEXTS}
    values |= {name: tuple(json.loads(values[name])) for name in _LISTS}
    return Memory(**(values | {"pinned": bool(values["pinned"])}))


def _from_json(record: str) -> Memory:
    values = json.loads(record)
    values |= {name: redact(values[name]) for name in _TEXTS}
    return Memory(**(values | {name: tuple(values[name]) for name in _LISTS}))
