"""The store's memories as a file: whole, for people, or for mem0."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import IO, Any, Literal, get_args

from ..records import MEMORY_TYPES, Memory, iso
from ..store import Database, memories, turns

ExportFormat = Literal["json", "markdown", "mem0"]
EXPORTS: dict[str, tuple[str, str]] = {
    "json": ("application/x-ndjson", "jsonl"),
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "mem0": ("application/json", "json"),
}
"""Format → media type and ending of the file's name."""
NAME = "metaclaw-memory"
VERSION = 1
_TITLES = dict(
    zip(
        MEMORY_TYPES,
        ("Events", "Facts", "Preferences", "Projects", "Session summaries", "Ways of working"),
        strict=True,
    )
)


def export(database: Database, out: IO[bytes], form: ExportFormat, scope_ids: Sequence[str], *, raw: bool) -> None:
    """Write one consistent state of these scopes; `raw` adds the turns as they were said (`json` only)."""
    writers: dict[str, Callable[[sqlite3.Connection], Iterator[str]]] = {
        "json": lambda db: _lines(db, scope_ids, raw),
        "markdown": lambda db: _markdown(db, scope_ids),
        "mem0": lambda db: _mem0(db, scope_ids),
    }
    assert form in get_args(ExportFormat)
    with database.reading() as db:
        for text in writers[form](db):
            out.write(text.encode())


def title_of(memory_type: str) -> str:
    """The heading of a type, in Markdown."""
    return _TITLES[memory_type]  # type: ignore[index]


def _lines(db: sqlite3.Connection, scope_ids: Sequence[str], raw: bool) -> Iterator[str]:
    head = {"format": NAME, "version": VERSION, "exported_at": iso(time.time()), "scopes": list(scope_ids)}
    yield _line(head)
    for scope_id in scope_ids:
        for turn in turns.every(db, scope_id) if raw else ():
            yield _line({"turn": asdict(turn)})
        for memory in memories.every(db, scope_id):
            before = [
                version | {"memory": asdict(version["memory"])}
                for version in memories.versions(db, scope_id, memory.memory_id)
                if version["version"] < memory.version
            ]
            sources = memories.sources(db, memory.memory_id)
            yield _line({"memory": asdict(memory), "versions": before, "sources": sources})


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _markdown(db: sqlite3.Connection, scope_ids: Sequence[str]) -> Iterator[str]:
    for scope_id in scope_ids:
        yield f"# Memories of {scope_id}\n"
        held = [memory for memory in memories.every(db, scope_id) if memory.status == "active"]
        for memory_type in MEMORY_TYPES:
            found = [memory for memory in held if memory.memory_type == memory_type]
            if found:
                yield f"\n## {title_of(memory_type)}\n\n"
                yield from (_bullet(memory) for memory in sorted(found, key=lambda one: one.valid_from))
        yield "\n"


def _bullet(memory: Memory) -> str:
    text = "\n  ".join(memory.content.splitlines())
    pinned = " (pinned)" if memory.pinned else ""
    return f"- [{(iso(memory.valid_from) or '')[:10]}]{pinned} {text}\n"


def _mem0(db: sqlite3.Connection, scope_ids: Sequence[str]) -> Iterator[str]:
    """A list as mem0's `get_all` gives it; what mem0 has no field for is metadata."""
    yield '{"results": ['
    lead = "\n"
    for scope_id in scope_ids:
        for memory in memories.every(db, scope_id):
            if memory.status == "active":
                yield lead + json.dumps(_as_mem0(memory), ensure_ascii=False)
                lead = ",\n"
    yield "\n]}\n"


def _as_mem0(memory: Memory) -> dict[str, Any]:
    expires = iso(memory.expires_at)
    metadata = {
        "memory_type": memory.memory_type, "importance": memory.importance, "confidence": memory.confidence,
        "subject": memory.subject, "tags": ", ".join(memory.tags), "valid_from": iso(memory.valid_from),
    }  # fmt: skip
    return {
        "id": memory.memory_id, "memory": memory.content, "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at), "metadata": {name: value for name, value in metadata.items() if value},
        **({"expiration_date": expires[:10]} if expires else {}), **_owners(memory.scope_id),
    }  # fmt: skip


def _owners(scope_id: str) -> dict[str, str]:
    """`user:u|agent:a|session:s` as mem0 names them; any other scope is a user."""
    names = {"user": "user_id", "agent": "agent_id", "session": "run_id"}
    pairs = [part.partition(":") for part in scope_id.split("|")]
    if all(name in names and value for name, _, value in pairs):
        return {names[name]: value for name, _, value in pairs}
    return {"user_id": scope_id}
