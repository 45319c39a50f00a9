"""What retrieval sees of the store: the texts that may be recalled now, and their vectors."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping

from ..retrieval import Document
from .database import Database, Transaction

_MEMORIES = (
    "SELECT m.memory_id AS id, m.content AS text, m.valid_from AS at, t.session_id, t.position FROM memories m"
    " LEFT JOIN turns t ON t.turn_id = m.memory_id"
    " WHERE m.scope_id = ? AND m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > ?)"
)
_SEARCHABLE = "'buffered', 'claimed', 'extracted', 'failed'"
_TURNS = (
    "SELECT turn_id AS id, prompt, response, at, session_id, position FROM turns"  # noqa: S608 - words of our own
    f" WHERE scope_id = ? AND state IN ({_SEARCHABLE})"
)


class Corpus:
    """The store as retrieval's corpus; safe from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def documents(self, scope_id: str) -> Iterable[Document]:
        """Active memories and raw turns of a scope. A turn that is itself a memory comes once, as that."""
        with self._database.reading() as db:
            return [*_memories(db, scope_id), *_turns(db, scope_id)]

    def coverage(self, scope_id: str, model: str) -> tuple[int, int]:
        """How many documents the scope has, and how many of them have a vector of the model."""
        vector = "EXISTS (SELECT 1 FROM vectors v WHERE v.scope_id = ?1 AND v.model = ?3 AND v.id = {})"
        query = (
            f"SELECT count(*), coalesce(sum({vector.format('memory_id')}), 0) FROM memories WHERE scope_id = ?1"  # noqa: S608
            " AND status = 'active' AND (expires_at IS NULL OR expires_at > ?2) UNION ALL"
            f" SELECT count(*), coalesce(sum({vector.format('turn_id')}), 0) FROM turns WHERE scope_id = ?1"
            f" AND state IN ({_SEARCHABLE}) AND prompt || response != ''"
        )
        with self._database.reading() as db:
            rows = db.execute(query, (scope_id, time.time(), model)).fetchall()
        return sum(row[0] for row in rows), sum(row[1] for row in rows)

    def models(self, scope_id: str) -> Mapping[str, int]:
        """How many vectors the scope has of each model."""
        with self._database.reading() as db:
            query = "SELECT model, count(*) FROM vectors WHERE scope_id = ? GROUP BY model"
            return dict(db.execute(query, (scope_id,)).fetchall())

    def vectors(self, scope_id: str, model: str) -> Mapping[str, bytes]:
        """Document id → vector."""
        with self._database.reading() as db:
            query = "SELECT id, vector FROM vectors WHERE scope_id = ? AND model = ?"
            return {row[0]: row[1] for row in db.execute(query, (scope_id, model))}

    def put_vectors(self, scope_id: str, model: str, dim: int, vectors: Mapping[str, bytes]) -> None:
        """Store vectors of what is still there."""

        def put(tx: Transaction) -> None:
            tx.db.executemany(
                "INSERT OR REPLACE INTO vectors SELECT ?1, ?2, ?3, ?4, ?5 WHERE"
                " EXISTS (SELECT 1 FROM memories WHERE memory_id = ?3 AND scope_id = ?1) OR"
                " EXISTS (SELECT 1 FROM turns WHERE turn_id = ?3 AND scope_id = ?1 AND state != 'forgotten')",
                [(scope_id, model, document, dim, vector) for document, vector in vectors.items()],
            )

        self._database.write(put).result()

    def drop_vectors(self, scope_id: str, model: str) -> None:
        """Forget all vectors of a model."""

        def drop(tx: Transaction) -> None:
            tx.db.execute("DELETE FROM vectors WHERE scope_id = ? AND model = ?", (scope_id, model))

        self._database.write(drop).result()


def document(db: sqlite3.Connection, scope_id: str, document_id: str) -> Document | None:
    """One text, if it may be recalled now."""
    found = next(_memories(db, scope_id, document_id), None)
    return found or next(_turns(db, scope_id, document_id), None)


def scopes(db: sqlite3.Connection) -> list[str]:
    """All scopes that hold anything."""
    query = "SELECT scope_id FROM memories UNION SELECT scope_id FROM turns UNION SELECT scope_id FROM receipts"
    return sorted(row[0] for row in db.execute(query))


def _memories(db: sqlite3.Connection, scope_id: str, one: str = "") -> Iterator[Document]:
    query, values = (f"{_MEMORIES} AND m.memory_id = ?", (one,)) if one else (_MEMORIES, ())
    for row in db.execute(query, (scope_id, time.time(), *values)):
        place = (row["session_id"] or "", row["position"] or 0)
        yield Document(row["id"], scope_id, row["text"], "memory", row["at"], *place)


def _turns(db: sqlite3.Connection, scope_id: str, one: str = "") -> Iterator[Document]:
    query, values = (f"{_TURNS} AND turn_id = ?", (one,)) if one else (_TURNS, ())
    for row in db.execute(query, (scope_id, *values)):
        text = "\n".join(part for part in (row["prompt"], row["response"]) if part)
        if text:
            yield Document(row["id"], scope_id, text, "turn", row["at"], row["session_id"], row["position"])
