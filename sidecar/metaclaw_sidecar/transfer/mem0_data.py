"""mem0's memories: the list its `get_all` gives, its history database, or its folder of Chroma beside that."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import Refused
from ..records import MEMORY_TYPES, seconds
from ..store.memories import draft
from .incoming import IncomingMemory, Item, Unreadable, our_id

_OWNERS = {"user_id": "user", "agent_id": "agent", "run_id": "session"}
_PATIENCE = 1800.0  # seconds for a folder with a million memories


def read(path: Path) -> Iterator[Item]:
    """The memories of a list, a history database or a folder; none of them is altered. Raises Refused."""
    if path.is_dir():
        rows = _folder(path)
    else:
        with path.open("rb") as file:
            is_database = file.read(6) == b"SQLite"
        rows = _history(path) if is_database else _listed(path)
    for number, row in enumerate(rows, 1):
        try:
            yield _memory(row)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            yield Unreadable(f"entry {number}: {str(error)[:100] or type(error).__name__}")


def _listed(path: Path) -> list[Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise Refused(f"not the JSON that mem0 gives: {error}") from None
    rows = value.get("results", value.get("memories")) if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise Refused("not the list that mem0's get_all gives")
    return rows


def _history(path: Path) -> list[dict[str, Any]]:
    """What was last known of each memory; mem0's history does not say whose it is."""
    current: dict[str, dict[str, Any]] = {}
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        query = "SELECT memory_id, new_memory, event, created_at, updated_at FROM history ORDER BY rowid"
        for memory_id, text, event, created, updated in db.execute(query):
            if event == "DELETE" or not text:
                current.pop(memory_id, None)
                continue
            first = current.get(memory_id, {}).get("created_at") or created
            current[memory_id] = {"id": memory_id, "memory": text, "created_at": first, "updated_at": updated}
    return list(current.values())


def _folder(path: Path) -> list[Any]:
    """The real mem0 reads its folder, in a process of its own and from a copy."""
    command = [sys.executable, "-m", "metaclaw_sidecar.transfer.mem0_folder"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps({"folder": str(path)}).encode(),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
        answer = json.loads(done.stdout)
    except (ValueError, OSError, subprocess.TimeoutExpired):
        raise Refused(f"mem0 can't read {path}: `pip install mem0ai chromadb`, and stop what else uses it") from None
    if "problem" in answer:
        raise Refused(f"mem0 can't read {path}: {answer['problem']}")
    return list(answer["rows"])


def _memory(row: Any) -> IncomingMemory:
    if not isinstance(row, dict) or not isinstance(row.get("memory"), str):
        raise ValueError("no text under `memory`")
    metadata = row.get("metadata")
    known: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    created = seconds(row.get("created_at")) or time.time()
    began = seconds(known.get("valid_from")) or created
    kind = known.get("memory_type")
    tags = known.get("tags") or known.get("categories") or row.get("categories") or ()
    tags = [part.strip() for part in tags.split(",")] if isinstance(tags, str) else tags
    made = draft(
        _scope(row), row["memory"], kind if kind in MEMORY_TYPES else "semantic", created, origin="imported",
        valid_from=began, memory_id=our_id(f"mem0\0{row.get('id') or row['memory']}"),
        subject=str(known.get("subject") or ""), tags=tuple(map(str, tags)),
        importance=_share(known.get("importance"), 0.5), confidence=_share(known.get("confidence"), 0.7),
        expires_at=seconds(row.get("expiration_date")),
    )  # fmt: skip
    return IncomingMemory(made)


def _scope(row: Mapping[str, Any]) -> str:
    """`user:u|agent:a|session:s` of what mem0 names; nothing named: no scope of its own."""
    named = [f"{ours}:{row[theirs]}" for theirs, ours in _OWNERS.items() if row.get(theirs)]
    if any("|" in part for part in named):
        raise ValueError("a name with | in it can't be part of a scope")
    return "|".join(named)


def _share(value: Any, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default
