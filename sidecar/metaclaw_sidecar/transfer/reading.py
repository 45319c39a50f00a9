"""Which format a file has, and its content as incoming memories and turns."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from ..errors import Refused
from . import lines, markdown, mem0_data, public
from .incoming import Item

ImportFormat = Literal["auto", "json", "public", "mem0", "markdown"]
FORMATS: tuple[ImportFormat, ...] = get_args(ImportFormat)
_SQLITE = b"SQLite format 3\x00"
_READERS: dict[str, Callable[[Path], Iterator[Item]]] = {
    "json": lines.read,
    "public": public.read,
    "mem0": mem0_data.read,
    "markdown": markdown.read,
}


def read(path: Path, form: ImportFormat) -> tuple[str, Iterator[Item]]:
    """The format and the items of a file, or of mem0's folder. Raises Refused when it is none of ours."""
    found = _format_of(path) if form == "auto" else form
    return found, _READERS[found](path)


def _format_of(path: Path) -> str:
    if path.is_dir():
        return "mem0"
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(_SQLITE):
        return _of_tables(path)
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        with contextlib.suppress(ValueError):
            first: Any = json.loads(text.partition("\n")[0])
            if isinstance(first, dict) and first.get("format") == lines.NAME:
                return "json"
        return "mem0"
    return "mem0" if text.startswith(("[{", "[\n", "[]")) else "markdown"


def _of_tables(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if {"versions", "turns", "memories"} <= tables:
        raise Refused("this is a store of ours: export it with the service that owns it, and import that")
    if "memories" in tables:
        return "public"
    if "history" in tables:
        return "mem0"
    raise Refused("no memories in this database: it has neither a table memories nor mem0's history")
