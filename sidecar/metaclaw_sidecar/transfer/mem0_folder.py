"""Lets the real mem0 read its own folder: `python -m metaclaw_sidecar.transfer.mem0_folder`, JSON in and out."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

_OWN = frozenset(("data", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "expiration_date"))
_MOST = 5_000_000


def main() -> None:
    """Read `{folder}` from standard input, write `{rows}` or `{problem}` to standard output."""
    asked = json.loads(sys.stdin.buffer.read())
    answer_to, sys.stdout = sys.stdout, sys.stderr  # what a library prints must not get into the answer
    try:
        answer: dict[str, Any] = {"rows": _rows(Path(asked["folder"]))}
    except Exception as error:  # whatever chromadb and mem0 raise is a folder that can't be read
        answer = {"problem": f"{type(error).__name__}: {str(error)[:200]}"}
    json.dump(answer, answer_to)


def _rows(folder: Path) -> list[dict[str, Any]]:
    place = next((found.parent for found in sorted(folder.rglob("chroma.sqlite3"))), None)
    if place is None:
        raise FileNotFoundError(f"no chroma.sqlite3 in {folder}")
    with tempfile.TemporaryDirectory() as temporary:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": temporary, "ANONYMIZED_TELEMETRY": "False"}
        copy = Path(temporary) / "chroma"
        shutil.copytree(place, copy)  # opening it alters it, and two processes on one folder lose vectors
        return [row for name in _collections(copy) for row in _collection(copy, name)]


def _collections(copy: Path) -> list[str]:
    import chromadb

    names = [found.name for found in chromadb.PersistentClient(path=str(copy)).list_collections()]
    return [name for name in names if name != "mem0migrations" and not name.endswith("_entities")]


def _collection(copy: Path, name: str) -> list[dict[str, Any]]:
    from mem0 import Memory  # type: ignore[import-untyped]

    unused = {"provider": "openai", "config": {"api_key": "none"}}
    config = {
        "vector_store": {"provider": "chroma", "config": {"path": str(copy), "collection_name": name}},
        "llm": unused, "embedder": unused, "history_db_path": ":memory:",
    }  # fmt: skip
    memory = Memory.from_config(config)
    listed = memory.vector_store.list(filters=None, top_k=_MOST)
    rows = listed[0] if listed and isinstance(listed[0], list) else listed
    return [_row(row.id, row.payload or {}) for row in rows]


def _row(name: str, payload: dict[str, Any]) -> dict[str, Any]:
    shown = {key: payload[key] for key in _OWN & payload.keys() if key != "data"}
    metadata = {key: value for key, value in payload.items() if key not in _OWN}
    return {"id": name, "memory": payload.get("data"), "metadata": metadata, **shown}


if __name__ == "__main__":
    main()
