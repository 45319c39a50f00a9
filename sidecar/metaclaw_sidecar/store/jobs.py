"""Extraction jobs in SQL: one at a time in each scope, in the order they came, leased, tried again, then shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from ..errors import NotFound, Refused
from ..records import Job
from . import turns
from .database import Transaction

ATTEMPTS = 5
_LONGEST_PAUSE = 900.0
_SELECT = "SELECT job_id, scope_id, session_id, state, attempts, final, error, created_at, finished_at, added FROM jobs"


def lease(tx: Transaction, busy: Collection[str], seconds: float) -> Job | None:
    """The next job that may run, now leased: none of its scope comes before it, and none of `busy` scopes is taken."""
    rows = tx.db.execute(
        "SELECT job_id, scope_id, state, not_before, leased_until FROM jobs WHERE state IN ('waiting', 'running')"
        " ORDER BY job_id"
    ).fetchall()
    seen = set(busy)
    for row in rows:
        if row["scope_id"] in seen:
            continue
        seen.add(row["scope_id"])
        free = row["state"] == "waiting" or row["leased_until"] < tx.now
        if free and row["not_before"] <= tx.now:
            tx.db.execute(
                "UPDATE jobs SET state = 'running', attempts = attempts + 1, leased_until = ? WHERE job_id = ?",
                (tx.now + seconds, row["job_id"]),
            )
            return get(tx.db, row["scope_id"], row["job_id"])
    return None


def next_due(db: sqlite3.Connection, busy: Collection[str]) -> float | None:
    """When the first job of a scope that is not `busy` may start; None when there is none."""
    rows = db.execute("SELECT scope_id, not_before FROM jobs WHERE state = 'waiting' ORDER BY job_id")
    first: dict[str, float] = {}
    for row in rows:
        first.setdefault(row["scope_id"], float(row["not_before"]))
    return min((due for scope_id, due in first.items() if scope_id not in busy), default=None)


def release_all(tx: Transaction) -> None:
    """At the start: whatever was running was cut off with its process, which is no failed try."""
    tx.db.execute(
        "UPDATE jobs SET state = 'waiting', leased_until = 0, attempts = max(attempts - 1, 0) WHERE state = 'running'"
    )


def finish(tx: Transaction, job: Job, added: int) -> None:
    """The job is done."""
    tx.db.execute(
        "UPDATE jobs SET state = 'done', error = '', finished_at = ?, added = ? WHERE job_id = ?",
        (tx.now, added, job.job_id),
    )
    tx.tell("extracted", job.scope_id, str(job.job_id), session_id=job.session_id, added=added)


def fail(tx: Transaction, job: Job, problem: str, *, pause: float, permanent: bool = False) -> bool:
    """Note a failure; the job waits for its next try, or is given up and shown. True when it is given up."""
    given_up = permanent or job.attempts >= ATTEMPTS
    state = "failed" if given_up else "waiting"
    wait = min(pause * 4 ** (job.attempts - 1), _LONGEST_PAUSE)
    tx.db.execute(
        "UPDATE jobs SET state = ?, error = ?, not_before = ?, leased_until = 0, finished_at = ? WHERE job_id = ?",
        (state, problem[:500], tx.now + wait, tx.now if given_up else None, job.job_id),
    )
    if given_up:
        turns.settle(tx, job.job_id, "failed")
        tx.tell("extraction_failed", job.scope_id, str(job.job_id), session_id=job.session_id)
    return given_up


def retry(tx: Transaction, scope_id: str, job_id: int) -> Job:
    """Give a failed job its tries again. Raises NotFound, Refused."""
    job = get(tx.db, scope_id, job_id)
    if job.state != "failed":
        raise Refused(f"job {job_id} has not failed: it is {job.state}")
    tx.db.execute(
        "UPDATE jobs SET state = 'waiting', attempts = 0, not_before = 0, finished_at = NULL WHERE job_id = ?",
        (job_id,),
    )
    turns.settle(tx, job_id, "claimed")
    return get(tx.db, scope_id, job_id)


def get(db: sqlite3.Connection, scope_id: str, job_id: int) -> Job:
    """One job. Raises NotFound."""
    row = db.execute(f"{_SELECT} WHERE job_id = ? AND scope_id = ?", (job_id, scope_id)).fetchone()
    if row is None:
        raise NotFound(f"no job {job_id} in this scope")
    return _job(row)


def recent(db: sqlite3.Connection, scope_id: str, *, state: str = "", limit: int = 50) -> list[Job]:
    """Jobs of a scope, newest first."""
    query = f"{_SELECT} WHERE scope_id = ? AND (? = '' OR state = ?) ORDER BY job_id DESC LIMIT ?"
    return [_job(row) for row in db.execute(query, (scope_id, state, state, limit))]


def unfinished(db: sqlite3.Connection, scope_id: str, session_id: str = "") -> list[int]:
    """Jobs of a scope, or of one session of it, that are still to be done, in order."""
    query = (
        "SELECT job_id FROM jobs WHERE scope_id = ? AND (? = '' OR session_id = ?)"
        " AND state IN ('waiting', 'running') ORDER BY job_id"
    )
    return [row[0] for row in db.execute(query, (scope_id, session_id, session_id))]


def given_up(db: sqlite3.Connection) -> int:
    """How many jobs of all scopes have failed for good."""
    return int(db.execute("SELECT count(*) FROM jobs WHERE state = 'failed'").fetchone()[0])


def counts(db: sqlite3.Connection, scope_id: str) -> dict[str, int]:
    """How many jobs of a scope are in which state."""
    query = "SELECT state, count(*) FROM jobs WHERE scope_id = ? GROUP BY state"
    return dict(db.execute(query, (scope_id,)).fetchall())


def _job(row: sqlite3.Row) -> Job:
    return Job(**(dict(row) | {"final": bool(row["final"])}))
