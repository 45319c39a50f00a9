"""Markdown as people keep notes: a memory for each item of a list and each paragraph; headings say of which kind."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from ..records import MEMORY_TYPES, MemoryType, seconds
from ..store.memories import draft
from .incoming import IncomingMemory, Item, Unreadable
from .writing import title_of

_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(?P<text>.*)")
_HEADING = re.compile(r"#{1,6}\s+(?P<title>.*?)\s*#*\s*$")
_DATED = re.compile(r"\[(?P<day>\d{4}-\d\d-\d\d)\]\s*(?P<pinned>\(pinned\)\s*)?")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_LONGEST = 4000
_KINDS: dict[str, MemoryType] = {title_of(kind).casefold(): kind for kind in MEMORY_TYPES}


def read(path: Path) -> Iterator[Item]:
    """The items of a file; code blocks are left out."""
    kind: MemoryType = "semantic"
    tags: tuple[str, ...] = ()
    now = time.time()
    for block in _blocks(path.read_text(encoding="utf-8-sig", errors="replace")):
        if heading := _HEADING.fullmatch(block):
            title = heading["title"]
            kind = _KINDS.get(title.casefold(), "semantic")
            ours = title.casefold() in _KINDS or title.startswith("Memories of ")
            tags = () if ours else (title,)
        elif len(block) > _LONGEST:
            yield Unreadable(f"a paragraph of {len(block)} characters is no memory: {block[:40]!r}…")
        else:
            yield _memory(block, kind, tags, now)


def _blocks(text: str) -> Iterator[str]:
    """Headings, list items with what belongs to them, paragraphs."""
    held: list[str] = []
    fenced = False
    for line in (*text.splitlines(), ""):
        fence = _FENCE.match(line) is not None
        item = _ITEM.fullmatch(line)
        if fence or fenced or not line.strip() or item or _HEADING.fullmatch(line):
            if held:
                yield "\n".join(held)
            held = []
            fenced = fenced != fence
            if _HEADING.fullmatch(line) and not fenced and not fence:
                yield line
            elif item and item["text"] and not fenced:
                held = [item["text"]]
        else:
            held.append(line.strip())


def _memory(block: str, kind: MemoryType, tags: tuple[str, ...], now: float) -> IncomingMemory:
    dated = _DATED.match(block)
    text = block[dated.end() :] if dated else block
    try:
        at = seconds(dated["day"]) if dated else None
    except ValueError:
        at = None
    pinned = bool(dated and dated["pinned"])
    return IncomingMemory(draft("", text, kind, now, origin="imported", valid_from=at, tags=tags, pinned=pinned))
