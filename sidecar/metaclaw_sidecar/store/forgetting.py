"""Real deletion: the memory, its versions, the raw turns it came from, vectors, summaries; and the receipt."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict

from ..errors import NotFound
from ..records import Receipt, new_id
from . import memories, turns
from .database import Database, Transaction

_BATCH = 200


def forget(tx: Transaction, scope_id: str, document_id: str, *, with_history: bool = False) -> Receipt:
    """Delete a memory or a raw turn, and every trace of its text. Raises NotFound.

    The turns it was drawn from or restated in go too, and what retells them: a kept turn, the session's summary.
    Other facts from the same turns stay. With `with_history` the facts it had replaced go as well.
    """
    ids: list[str] = []
    older: list[str] = []
    try:
        ids.append(memories.get(tx.db, scope_id, document_id).memory_id)
        older = memories.predecessors(tx.db, scope_id, document_id)
        gone_turns = {turn for one in [*ids, *(older if with_history else [])] for turn in memories.sources(tx.db, one)}
    except NotFound:
        gone_turns = {turns.get(tx.db, scope_id, document_id).turn_id}
    if with_history:
        ids, older = ids + older, []
    ids += [one for one in _retellings(tx.db, scope_id, gone_turns) if one not in ids]
    receipt = Receipt(
        receipt_id=new_id("rcpt"), at=tx.now, scope_id=scope_id, memories=tuple(ids), kept_predecessors=tuple(older),
        versions=sum(_count(tx.db, "versions", one) for one in ids),
        turns=_erase_turns(tx, scope_id, gone_turns),
        vectors=sum(_drop_vectors(tx, scope_id, one) for one in {*ids, *gone_turns}),
    )  # fmt: skip
    for one in ids:
        tx.db.execute("UPDATE memories SET superseded_by = '' WHERE superseded_by = ? AND superseded_by != ''", (one,))
        tx.db.execute("DELETE FROM memories WHERE memory_id = ? AND scope_id = ?", (one, scope_id))
        tx.touch(scope_id, one)
    _keep(tx, receipt)
    return receipt


def receipts(db: sqlite3.Connection, scope_id: str) -> list[dict[str, object]]:
    """What was deleted in a scope, newest first."""
    query = "SELECT record FROM receipts WHERE scope_id = ? ORDER BY at DESC LIMIT 200"
    return [json.loads(row[0]) for row in db.execute(query, (scope_id,))]


def delete_scope(database: Database, scope_id: str) -> Receipt:
    """Delete everything of a scope, in steps that let others write between them."""
    counts = {"versions": 0, "turns": 0, "vectors": 0, "jobs": 0}
    gone: list[str] = []
    while batch := database.write(lambda tx: _delete_memories(tx, scope_id, counts)).result():
        gone += batch
    for table in ("turns", "vectors", "jobs", "events", "sessions"):
        while (count := database.write(_table_batch(table, scope_id)).result()) > 0:
            counts[table] = counts.get(table, 0) + count
    receipt = Receipt(
        receipt_id=new_id("rcpt"), at=0.0, scope_id=scope_id, memories=tuple(gone),
        versions=counts["versions"], turns=counts["turns"], vectors=counts["vectors"], jobs=counts["jobs"],
    )  # fmt: skip
    kept: Future[Receipt] = database.write(lambda tx: _keep(tx, receipt))
    return kept.result()


def _retellings(db: sqlite3.Connection, scope_id: str, gone: set[str]) -> list[str]:
    """Memories that hold the words of these turns: the kept turns themselves, and summaries of their sessions."""
    found: list[str] = []
    for turn in gone:
        rows = db.execute(
            "SELECT memory_id FROM memories WHERE memory_id = ?1 AND +scope_id = ?2 UNION"
            " SELECT m.memory_id FROM sources s JOIN memories m ON m.memory_id = s.memory_id"
            " WHERE s.turn_id = ?1 AND m.memory_type = 'working_summary' AND +m.scope_id = ?2",
            (turn, scope_id),
        )
        found += [row[0] for row in rows]
    return list(dict.fromkeys(found))


def _erase_turns(tx: Transaction, scope_id: str, gone: set[str]) -> int:
    """The row stays without text, so that the same turn handed in again is known and not kept anew."""
    erased = 0
    for turn in gone:
        erased += tx.db.execute(
            "UPDATE turns SET prompt = '', response = '', state = 'forgotten'"
            " WHERE turn_id = ? AND scope_id = ? AND state != 'forgotten'",
            (turn, scope_id),
        ).rowcount
        tx.touch(scope_id, turn)
    return erased


def _drop_vectors(tx: Transaction, scope_id: str, document_id: str) -> int:
    return tx.db.execute("DELETE FROM vectors WHERE id = ? AND scope_id = ?", (document_id, scope_id)).rowcount


def _count(db: sqlite3.Connection, table: str, memory_id: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table} WHERE memory_id = ?", (memory_id,)).fetchone()[0])  # noqa: S608


def _keep(tx: Transaction, receipt: Receipt) -> Receipt:
    whole = Receipt(**(asdict(receipt) | {"at": tx.now}))
    row = (whole.receipt_id, whole.scope_id, whole.at, json.dumps(asdict(whole)))
    tx.db.execute("INSERT INTO receipts VALUES (?, ?, ?, ?)", row)
    tx.tell("forgotten", whole.scope_id, whole.receipt_id, memories=len(whole.memories), turns=whole.turns)
    tx.erase()
    return whole


def _delete_memories(tx: Transaction, scope_id: str, counts: dict[str, int]) -> list[str]:
    rows = tx.db.execute("SELECT memory_id FROM memories WHERE scope_id = ? LIMIT ?", (scope_id, _BATCH)).fetchall()
    for row in rows:
        counts["versions"] += _count(tx.db, "versions", row[0])
        tx.db.execute("DELETE FROM memories WHERE memory_id = ?", (row[0],))
        tx.touch(scope_id, row[0])
    return [row[0] for row in rows]


_KEYS = {
    "turns": "seq", "jobs": "job_id", "events": "seq",
    "vectors": "(scope_id, model, id)", "sessions": "(scope_id, session_id)",
}  # fmt: skip


def _table_batch(table: str, scope_id: str) -> Callable[[Transaction], int]:
    key = _KEYS[table]

    def delete(tx: Transaction) -> int:
        if table == "turns":
            for row in tx.db.execute("SELECT turn_id FROM turns WHERE scope_id = ? LIMIT ?", (scope_id, _BATCH)):
                tx.touch(scope_id, row[0])
        inner = f"SELECT {key.strip('()')} FROM {table} WHERE scope_id = ? LIMIT ?"  # noqa: S608
        return tx.db.execute(f"DELETE FROM {table} WHERE {key} IN ({inner})", (scope_id, _BATCH)).rowcount  # noqa: S608

    return delete
