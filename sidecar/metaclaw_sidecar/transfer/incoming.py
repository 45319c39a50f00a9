"""What a file gives: memories, turns, and lines that can't be read."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..records import Memory, Turn

_OUR_ID = re.compile(r"(?:mem|turn)_[0-9a-f]{14}")


@dataclass(frozen=True, slots=True)
class IncomingMemory:
    """A memory of a file. An empty scope means the one it is taken into; versions are those before it."""

    memory: Memory
    versions: tuple[dict[str, Any], ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IncomingTurn:
    """A raw turn of a file."""

    turn: Turn


class Unreadable(NamedTuple):
    """Something in the file that is no memory, and why."""

    problem: str


Item = IncomingMemory | IncomingTurn | Unreadable


@dataclass(slots=True)
class Imported:
    """What came of an import; `reinforced` were there already, and are left as they are."""

    format: str
    dry_run: bool = False
    added: int = 0
    reinforced: int = 0
    skipped: int = 0
    turns: int = 0
    scopes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def our_id(foreign: str, kind: str = "mem") -> str:
    """An id as ours are, always the same for the same foreign one; ours stay as they are."""
    if not foreign or _OUR_ID.fullmatch(foreign):
        return foreign
    return f"{kind}_{hashlib.blake2b(foreign.encode('utf-8', 'replace'), digest_size=7).hexdigest()}"
