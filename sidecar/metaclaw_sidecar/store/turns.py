"""Raw turns in SQL: the durable buffer, the claims of extraction jobs, and what is kept for search."""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from ..errors import NotFound
from ..records import Buffered, Turn, TurnState, new_id
from ..redaction import redact
from .database import Transaction
from .words import written

_SELECT = "SELECT turn_id, scope_id, session_id, position, prompt, response, at, state FROM turns"


def buffer(tx: Transaction, turn: Turn, key: str, flush_every: int) -> Buffered:
    """Keep a `fresh` turn, once; every so many, claim those that wait for extraction. `key`: its caller's id, or ""."""
    mark = _mark(tx.db, turn, key)
    where = (turn.scope_id, turn.session_id)
    tx.db.execute("INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, NULL)", (*where, turn.at))
    old = tx.db.execute(
        "SELECT turn_id, job_id FROM turns WHERE scope_id = ? AND session_id = ? AND mark = ?", (*where, mark)
    ).fetchone()
    if old is not None:
        return Buffered(old["turn_id"], True, waiting(tx.db, *where), None)
    last = "SELECT coalesce(max(position), -1) + 1 FROM turns WHERE scope_id = ? AND session_id = ?"
    position = tx.db.execute(last, where).fetchone()[0]
    new = replace(turn, position=position)
    tx.db.execute(
        "INSERT INTO turns (turn_id, scope_id, session_id, position, mark, prompt, response, at, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'buffered')",
        (new.turn_id, *where, position, mark, new.prompt, new.response, new.at),
    )
    tx.db.execute("UPDATE sessions SET ended_at = NULL WHERE scope_id = ? AND session_id = ?", where)
    tx.touch(new.scope_id, new.turn_id)
    count = waiting(tx.db, *where)
    job = claim(tx, *where, final=False) if count >= flush_every else None
    return Buffered(new.turn_id, False, 0 if job else count, job)


def restore(tx: Transaction, turn: Turn) -> Buffered:
    """Put a turn back that was cleaned before, at its own place in its session if that is free; once."""
    where = (turn.scope_id, turn.session_id)
    mark = _mark(tx.db, turn, "")
    tx.db.execute("INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, NULL)", (*where, turn.at))
    old = tx.db.execute(
        "SELECT turn_id FROM turns WHERE turn_id = ? OR (scope_id = ? AND session_id = ? AND mark = ?)",
        (turn.turn_id, *where, mark),
    ).fetchone()
    if old is not None:
        return Buffered(old["turn_id"], True, 0, None)
    taken = "SELECT 1 FROM turns WHERE scope_id = ? AND session_id = ? AND position = ?"
    position = turn.position
    if tx.db.execute(taken, (*where, position)).fetchone():
        last = "SELECT max(position) + 1 FROM turns WHERE scope_id = ? AND session_id = ?"
        position = tx.db.execute(last, where).fetchone()[0]
    tx.db.execute(
        "INSERT INTO turns (turn_id, scope_id, session_id, position, mark, prompt, response, at, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (turn.turn_id, *where, position, mark, turn.prompt, turn.response, turn.at, turn.state),
    )
    tx.touch(turn.scope_id, turn.turn_id)
    return Buffered(turn.turn_id, False, 0, None)


def every(db: sqlite3.Connection, scope_id: str) -> list[Turn]:
    """All turns of a scope whose text is kept, in the order they came."""
    rows = db.execute(f"{_SELECT} WHERE scope_id = ? AND state != 'forgotten' ORDER BY seq", (scope_id,))
    return [_turn(row) for row in rows]


def fresh(scope_id: str, session_id: str, prompt: str, response: str, at: float) -> Turn:
    """A turn that is not stored yet, cleaned and without secrets: done here, so that the writer need not."""
    return Turn(new_id("turn"), scope_id, session_id, 0, written(prompt), written(response), at, "buffered")


def claim(tx: Transaction, scope_id: str, session_id: str, *, final: bool) -> int | None:
    """Make an extraction job of the turns that wait; None when there are none."""
    if not waiting(tx.db, scope_id, session_id):
        return None
    cursor = tx.db.execute(
        "INSERT INTO jobs (scope_id, session_id, state, attempts, final, not_before, leased_until, error, created_at,"
        " added) VALUES (?, ?, 'waiting', 0, ?, 0, 0, '', ?, 0)",
        (scope_id, session_id, int(final), tx.now),
    )
    tx.db.execute(
        "UPDATE turns SET state = 'claimed', job_id = ? WHERE scope_id = ? AND session_id = ? AND state = 'buffered'",
        (cursor.lastrowid, scope_id, session_id),
    )
    return cursor.lastrowid


def end_session(tx: Transaction, scope_id: str, session_id: str) -> None:
    """Note once that a session is over; a later turn begins it anew."""
    where = (tx.now, scope_id, session_id)
    query = "UPDATE sessions SET ended_at = ? WHERE scope_id = ? AND session_id = ? AND ended_at IS NULL"
    if tx.db.execute(query, where).rowcount:
        tx.tell("session_ended", scope_id, "", session_id=session_id)


def waiting(db: sqlite3.Connection, scope_id: str, session_id: str) -> int:
    """How many turns of a session wait for extraction."""
    query = "SELECT count(*) FROM turns WHERE scope_id = ? AND session_id = ? AND state = 'buffered'"
    return int(db.execute(query, (scope_id, session_id)).fetchone()[0])


def waiting_sessions(db: sqlite3.Connection, scope_id: str) -> list[str]:
    """The sessions of a scope with turns that wait."""
    query = "SELECT DISTINCT session_id FROM turns WHERE scope_id = ? AND state = 'buffered' ORDER BY session_id"
    return [row[0] for row in db.execute(query, (scope_id,))]


def left_alone(db: sqlite3.Connection, before: float) -> list[tuple[str, str]]:
    """(scope, session) of all sessions whose newest waiting turn is older than that."""
    query = (
        "SELECT scope_id, session_id FROM turns WHERE state = 'buffered'"
        " GROUP BY scope_id, session_id HAVING max(at) < ?"
    )
    return [(row[0], row[1]) for row in db.execute(query, (before,))]


def of_job(db: sqlite3.Connection, job_id: int) -> list[Turn]:
    """The turns a job has claimed, in order; without those that were forgotten meanwhile."""
    rows = db.execute(f"{_SELECT} WHERE job_id = ? AND state IN ('claimed', 'failed') ORDER BY seq", (job_id,))
    return [_turn(row) for row in rows]


def settle(tx: Transaction, job_id: int, state: TurnState) -> None:
    """What the claimed turns of a job became."""
    for row in tx.db.execute(
        "SELECT scope_id, turn_id FROM turns WHERE job_id = ? AND state != 'forgotten'", (job_id,)
    ):
        tx.touch(row["scope_id"], row["turn_id"])
    tx.db.execute("UPDATE turns SET state = ? WHERE job_id = ? AND state != 'forgotten'", (state, job_id))


def get(db: sqlite3.Connection, scope_id: str, turn_id: str) -> Turn:
    """One turn. Raises NotFound."""
    found = many(db, scope_id, [turn_id])
    if turn_id not in found:
        raise NotFound(f"no turn {turn_id[:60]} in this scope")
    return found[turn_id]


def many(db: sqlite3.Connection, scope_id: str, ids: Sequence[str]) -> dict[str, Turn]:
    """Those of these turns that are in the scope and not forgotten."""
    marks = ", ".join("?" * len(ids))
    query = f"{_SELECT} WHERE +scope_id = ? AND state != 'forgotten' AND turn_id IN ({marks})"
    return {row["turn_id"]: _turn(row) for row in db.execute(query, (scope_id, *ids))}


def of_session(db: sqlite3.Connection, scope_id: str, session_id: str, state: str = "") -> list[Turn]:
    """The turns of a session in order."""
    query = f"{_SELECT} WHERE scope_id = ? AND session_id = ? AND state != 'forgotten' ORDER BY position"
    found = [_turn(row) for row in db.execute(query, (scope_id, session_id))]
    return [turn for turn in found if not state or turn.state == state]


def _mark(db: sqlite3.Connection, turn: Turn, key: str) -> str:
    """What makes a turn the same when it is handed in again. Keyed: a forgotten text can't be guessed from it."""
    secret = db.execute("SELECT value FROM settings WHERE name = 'mark_key'").fetchone()[0]
    said = f"id\0{key}" if key else f"text\0{turn.prompt}\0{turn.response}"
    return hmac.new(bytes.fromhex(secret), said.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:40]


def _turn(row: sqlite3.Row) -> Turn:
    return Turn(**(dict(row) | {"prompt": redact(row["prompt"]), "response": redact(row["response"])}))
