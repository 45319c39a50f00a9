"""Memories one by one: stored, shown, changed, judged, forgotten; always within the scope they are asked in."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ..errors import Refused
from ..learning import store
from ..records import Memory, MemoryType, as_json, iso
from ..store import Transaction, feedback, forgetting, memories, turns
from .access import Access
from .intake import turn_as_json

_OWN = frozenset(("memory_id", "scope_id", "version", "created_at", "updated_at", "access_count", "last_accessed_at"))
"""What a revert leaves as it is."""


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory as a caller gives it; times in seconds."""

    content: str
    memory_type: MemoryType = "semantic"
    subject: str = ""
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 1.0
    valid_from: float | None = None
    expires_at: float | None = None
    pinned: bool = False
    session_id: str = ""
    replaces: str = ""


class StoredMemory(NamedTuple):
    """The memory that holds it, and how it came to that."""

    memory_id: str
    how: str
    memory: dict[str, Any]


class Curation:
    """What people and tools do with memories. Every call raises NotFound for an id of another scope."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def store(self, scope_id: str, given: NewMemory) -> StoredMemory:
        """Keep what somebody wants remembered. Raises Refused when nothing is left of it."""

        def keep(tx: Transaction) -> StoredMemory:
            replaced = memories.get(tx.db, scope_id, given.replaces) if given.replaces else None
            made = memories.draft(
                scope_id, given.content, given.memory_type, tx.now, origin="stored", valid_from=given.valid_from,
                subject=given.subject, tags=given.tags, entities=given.entities, importance=given.importance,
                confidence=given.confidence, pinned=given.pinned, source_session_id=given.session_id,
                expires_at=None if given.pinned else given.expires_at,
            )  # fmt: skip
            stored = store(tx, made, replaces=replaced)
            _not_empty(stored.memory)
            return StoredMemory(stored.memory.memory_id, stored.how, as_json(stored.memory))

        return await self._access.write_through(keep)

    async def page(
        self, scope_id: str, *, memory_type: str, status: str, tag: str, pinned: bool | None, session_id: str,
        limit: int, offset: int,
    ) -> tuple[list[dict[str, Any]], int]:  # fmt: skip
        """Memories newest first, and how many there are; an empty filter lets everything through."""
        found, total = await self._access.read(
            lambda db: memories.page(
                db, scope_id, memory_type=memory_type, status=status, tag=tag, pinned=pinned, session_id=session_id,
                limit=limit, offset=offset,
            )
        )  # fmt: skip
        return [as_json(memory) for memory in found], total

    async def get(self, scope_id: str, memory_id: str) -> dict[str, Any]:
        """One memory, with what it replaced, where it came from and what was said of it."""

        def look(db: sqlite3.Connection) -> dict[str, Any]:
            memory = memories.get(db, scope_id, memory_id)
            useful, not_useful = feedback.counts(db, memory_id)
            return as_json(memory) | {
                "supersedes": memories.predecessors(db, scope_id, memory_id),
                "sources": memories.sources(db, memory_id),
                "feedback": {"useful": useful, "not_useful": not_useful},
            }

        return await self._access.read(look)

    async def change(
        self, scope_id: str, memory_id: str, changes: Mapping[str, Any], version: int | None = None
    ) -> dict[str, Any]:
        """Change what is given. Raises Refused when the memory has another version by now, or nothing is left of it."""

        def alter(tx: Transaction) -> dict[str, Any]:
            memory = memories.get(tx.db, scope_id, memory_id)
            if version is not None and memory.version != version:
                raise Refused(f"{memory_id} has version {memory.version} by now, not {version}: read it again")
            wanted = dict(changes)
            if wanted.get("status") == "active" and memory.status != "active":
                wanted |= {"superseded_by": "", "superseded_at": None}
            if wanted.get("pinned"):  # what is pinned does not expire
                wanted["expires_at"] = None
            new = memories.change(tx, memory, "edited", **wanted)
            _not_empty(new)
            return as_json(new)

        return await self._access.write_through(alter)

    async def pin(self, scope_id: str, memory_id: str, pinned: bool) -> dict[str, Any]:
        """Keep a memory from fading and expiring, or no longer."""
        return await self.change(scope_id, memory_id, {"pinned": pinned})

    async def history(self, scope_id: str, memory_id: str) -> dict[str, Any]:
        """What a memory was, what it replaced and what replaced it, and the turns it came from."""

        def look(db: sqlite3.Connection) -> dict[str, Any]:
            memory = memories.get(db, scope_id, memory_id)
            older = memories.many(db, scope_id, memories.predecessors(db, scope_id, memory_id))
            newer = memories.many(db, scope_id, [memory.superseded_by]).get(memory.superseded_by)
            told = turns.many(db, scope_id, memories.sources(db, memory_id))
            return {
                "memory_id": memory_id,
                "versions": [
                    version | {"at": iso(version["at"]), "memory": as_json(version["memory"])}
                    for version in memories.versions(db, scope_id, memory_id)
                ],
                "supersedes": [as_json(one) for one in sorted(older.values(), key=lambda m: -m.valid_from)],
                "superseded_by": as_json(newer) if newer else None,
                "sources": [turn_as_json(turn) for turn in sorted(told.values(), key=lambda turn: turn.at)],
            }

        return await self._access.read(look)

    async def revert(self, scope_id: str, memory_id: str, version: int) -> dict[str, Any]:
        """Make a memory what it was in an earlier version. Raises Refused when there is none of that number."""

        def back(tx: Transaction) -> dict[str, Any]:
            kept = {entry["version"]: entry["memory"] for entry in memories.versions(tx.db, scope_id, memory_id)}
            if version not in kept:
                raise Refused(f"{memory_id} has no version {version}: it has {min(kept)} to {max(kept)}")
            was: Memory = kept[version]
            earlier = {field.name: getattr(was, field.name) for field in fields(Memory) if field.name not in _OWN}
            now = memories.get(tx.db, scope_id, memory_id)
            return as_json(memories.change(tx, now, f"reverted to version {version}", **earlier))

        return await self._access.write_through(back)

    async def judge(self, scope_id: str, memory_id: str, useful: bool) -> feedback.Verdict:
        """Note whether a recalled memory was useful."""
        return await self._access.write(lambda tx: feedback.add(tx, scope_id, memory_id, useful))

    async def forget(self, scope_id: str, document_id: str, *, with_history: bool) -> dict[str, Any]:
        """Delete a memory or a raw turn and every trace of it; it can't be found when this returns."""
        receipt = await self._access.write_through(
            lambda tx: forgetting.forget(tx, scope_id, document_id, with_history=with_history)
        )
        return as_json(receipt)

    async def receipts(self, scope_id: str) -> list[dict[str, Any]]:
        """Proofs of what was deleted, newest first."""
        found = await self._access.read(lambda db: forgetting.receipts(db, scope_id))
        return [dict(record) | {"at": iso(float(str(record["at"])))} for record in found]


def _not_empty(memory: Memory) -> None:
    if not memory.content:
        raise Refused("nothing is left of the text: it was empty, or a block that MetaClaw itself had recalled")
