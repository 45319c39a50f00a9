"""Our own format: JSON lines, the first of which names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..errors import Refused
from ..records import MEMORY_TYPES, Memory, Turn, seconds
from .incoming import IncomingMemory, IncomingTurn, Item, Unreadable
from .writing import NAME, VERSION

__all__ = ["NAME", "read"]
_TIMES = ("created_at", "updated_at", "valid_from", "superseded_at", "last_accessed_at", "expires_at")
_LISTS = ("entities", "topics", "tags")
_NAMES = {field.name for field in fields(Memory)}
_TURN_NAMES = {field.name for field in fields(Turn)}
_STATES = {"extracted": "extracted", "kept": "kept"}  # what was not read to its end is read here


def read(path: Path) -> Iterator[Item]:
    """The items of an export. Raises Refused for a version this one does not know."""
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                value = json.loads(text)
                if number == 1:
                    _check(value)
                else:
                    yield _item(value)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                yield Unreadable(f"line {number}: {type(error).__name__}: {str(error)[:100]}")


def _check(head: Any) -> None:
    if not isinstance(head, dict) or head.get("format") != NAME:
        raise Refused("not an export of ours: the first line does not name the format")
    if int(head.get("version", 0)) > VERSION:
        raise Refused(f"the export has version {head['version']}, this service knows {VERSION}: update MetaClaw")


def _item(value: dict[str, Any]) -> Item:
    if "turn" in value:
        given = {name: item for name, item in value["turn"].items() if name in _TURN_NAMES}
        state = _STATES.get(str(given.get("state")), "buffered")
        return IncomingTurn(Turn(**(given | {"at": seconds(given["at"]), "state": state})))
    before = tuple(
        {"version": int(one["version"]), "at": seconds(one["at"]), "reason": str(one["reason"]),
         "memory": _memory(one["memory"])}
        for one in value.get("versions", ())
    )  # fmt: skip
    return IncomingMemory(_memory(value["memory"]), before, tuple(map(str, value.get("sources", ()))))


def _memory(given: dict[str, Any]) -> Memory:
    values = {name: item for name, item in given.items() if name in _NAMES}
    values |= {name: seconds(values[name]) for name in _TIMES if name in values}
    values |= {name: tuple(map(str, values[name])) for name in _LISTS if name in values}
    if values.get("memory_type") not in MEMORY_TYPES:
        raise ValueError(f"unknown type {values.get('memory_type')!r}")
    return Memory(**values)
