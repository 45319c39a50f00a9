"""Turns on their way in: kept at once, extracted later, once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..cleaning import not_a_conversation
from ..records import Buffered, Job, Turn, as_json, iso
from ..settings import Settings
from ..store import Transaction, jobs, turns
from ..worker import Worker
from .access import Access

_SHORT = 4000  # characters that are cleaned in less than the way to another thread takes
_AT_ONCE = 50  # turns of a batch in one transaction, so that others get a word in
_LEFT_ALONE = 3600.0  # seconds after which the last turns of a session that nobody ended are extracted all the same


@dataclass(frozen=True, slots=True)
class Said:
    """One exchange as a caller tells it; `key` is its own id of it, `at` when it was said, in seconds."""

    prompt: str
    response: str
    key: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class BufferedTurn:
    """What became of a turn. `flushed`: it began an extraction."""

    flushed: bool
    turn_id: str
    duplicate: bool
    skipped: str
    waiting: int
    job_id: int | None
    added: int | None = None


@dataclass(frozen=True, slots=True)
class Flushed:
    """What came of an extraction: `state` is done, running, retrying, failed, nothing or off."""

    state: str
    added: int | None
    job_id: int | None
    turns: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a batch of turns."""

    state: str
    added: int | None
    job_id: int | None
    buffered: int
    duplicates: int
    skipped: int
    error: str = ""


class Intake:
    """The buffer, and the jobs that empty it."""

    def __init__(
        self, access: Access, worker: Worker, settings: Settings, session_ended: Callable[[str], None]
    ) -> None:
        """`session_ended` hears of the scopes whose sessions end with nothing left to extract."""
        self._access = access
        self._session_ended = session_ended
        self._worker = worker
        self._on = settings.auto_extract
        self._every = settings.flush_every if settings.auto_extract else sys.maxsize

    async def buffer_turn(self, scope_id: str, session_id: str, said: Said) -> BufferedTurn:
        """Keep a turn; it is on the disk when this returns. The same turn again changes nothing."""
        turn, skipped = await self._prepare(scope_id, session_id, said)
        if turn is None:
            return BufferedTurn(False, "", False, skipped, 0, None)
        kept = await self._access.write(lambda tx: turns.buffer(tx, turn, said.key, self._every))
        if kept.job_id is not None:
            self._worker.ring()
        return BufferedTurn(kept.job_id is not None, kept.turn_id, kept.duplicate, "", kept.waiting, kept.job_id)

    async def flush_session(self, scope_id: str, session_id: str, *, final: bool, wait: float) -> Flushed:
        """Extract what waits in a session, and end it if this is the end."""

        def claim(tx: Transaction) -> tuple[list[int], int]:
            count = turns.waiting(tx.db, scope_id, session_id)
            if self._on:
                turns.claim(tx, scope_id, session_id, final=final)
            if final:
                turns.end_session(tx, scope_id, session_id)
            return jobs.unfinished(tx.db, scope_id, session_id), count

        open_jobs, count = await self._access.write(claim)
        if final and not open_jobs:
            self._session_ended(scope_id)
        return await self._outcome(scope_id, open_jobs, count, wait)

    async def flush(self, scope_id: str, *, wait: float) -> tuple[Flushed, list[str]]:
        """Extract what waits in all sessions of a scope; they stay open."""

        def claim(tx: Transaction) -> tuple[list[int], int, list[str]]:
            sessions = turns.waiting_sessions(tx.db, scope_id)
            count = sum(turns.waiting(tx.db, scope_id, session_id) for session_id in sessions)
            for session_id in sessions if self._on else ():
                turns.claim(tx, scope_id, session_id, final=False)
            return jobs.unfinished(tx.db, scope_id), count, sessions

        open_jobs, count, sessions = await self._access.write(claim)
        return await self._outcome(scope_id, open_jobs, count, wait), sessions

    async def take_up_left(self) -> None:
        """Extract what waits in sessions that nobody ended."""
        if not self._on:
            return
        before = time.time() - _LEFT_ALONE

        def claim(tx: Transaction) -> int:
            left = turns.left_alone(tx.db, before)
            for scope_id, session_id in left:
                turns.claim(tx, scope_id, session_id, final=False)
            return len(left)

        if await self._access.write(claim):
            self._worker.ring()

    async def ingest(self, scope_id: str, session_id: str, batch: Sequence[Said], *, wait: float) -> Ingested:
        """Keep many turns of a session, and extract them together."""
        prepared = [(said, (await self._prepare(scope_id, session_id, said))[0]) for said in batch]
        told = [(said, turn) for said, turn in prepared if turn is not None]
        kept: list[Buffered] = []
        for start in range(0, len(told), _AT_ONCE):
            part = told[start : start + _AT_ONCE]
            kept += await self._access.write(lambda tx, part=part: _keep(tx, part))  # type: ignore[misc]
        flushed = await self.flush_session(scope_id, session_id, final=False, wait=wait)
        duplicates = sum(one.duplicate for one in kept)
        return Ingested(
            flushed.state, flushed.added, flushed.job_id, len(kept) - duplicates, duplicates, len(batch) - len(told),
            flushed.error,
        )  # fmt: skip

    async def buffer_of(self, scope_id: str, session_id: str) -> dict[str, Any]:
        """The turns of a session that wait, and its jobs."""
        waiting, ran = await self._access.read(
            lambda db: (
                [one for one in turns.of_session(db, scope_id, session_id) if one.state in ("buffered", "claimed")],
                [job for job in jobs.recent(db, scope_id, limit=500) if job.session_id == session_id],
            )
        )
        return {
            "count": len(waiting),
            "waiting": [turn_as_json(turn) | {"state": turn.state} for turn in waiting],
            "jobs": [as_json(job) for job in ran[:20]],
        }

    async def jobs(self, scope_id: str, *, state: str, limit: int) -> list[dict[str, Any]]:
        """Extraction jobs of a scope, newest first."""
        found = await self._access.read(lambda db: jobs.recent(db, scope_id, state=state, limit=limit))
        return [as_json(job) for job in found]

    async def retry(self, scope_id: str, job_id: int) -> dict[str, Any]:
        """Give a job that was given up its tries again. Raises NotFound, Refused."""
        job = await self._access.write(lambda tx: jobs.retry(tx, scope_id, job_id))
        self._worker.ring()
        return as_json(job)

    async def _prepare(self, scope_id: str, session_id: str, said: Said) -> tuple[Turn | None, str]:
        """The turn to keep, or why there is none."""

        def prepared() -> Turn:
            at = time.time() if said.at is None else said.at
            return turns.fresh(scope_id, session_id, said.prompt, said.response, at)

        short = len(said.prompt) + len(said.response) < _SHORT
        turn = prepared() if short else await self._access.run(prepared)
        reason = not_a_conversation(turn.prompt, turn.response)
        return (None, reason) if reason else (turn, "")

    async def _outcome(self, scope_id: str, open_jobs: Sequence[int], count: int, wait: float) -> Flushed:
        """Wait for the jobs, and sum up."""
        if not open_jobs:
            return Flushed("nothing" if self._on else "off", 0 if self._on else None, None, count)
        self._worker.ring()
        until = time.monotonic() + wait
        ended = [
            await self._worker.wait_for(scope_id, job_id, max(until - time.monotonic(), 0)) for job_id in open_jobs
        ]
        states = [_state(job) for job in ended]
        state = next((one for one in ("failed", "retrying", "running") if one in states), "done")
        error = next((job.error for job in ended if job.error), "")
        added = sum(job.added for job in ended) if state == "done" else None
        return Flushed(state, added, ended[-1].job_id, count, error)


def _keep(tx: Transaction, part: Sequence[tuple[Said, Turn]]) -> list[Buffered]:
    return [turns.buffer(tx, turn, said.key, sys.maxsize) for said, turn in part]


def turn_as_json(turn: Turn) -> dict[str, Any]:
    """A turn as the API shows it."""
    return {
        "turn_id": turn.turn_id, "session_id": turn.session_id, "prompt_text": turn.prompt,
        "response_text": turn.response, "at": iso(turn.at),
    }  # fmt: skip


def _state(job: Job) -> str:
    if job.state in ("done", "failed"):
        return job.state
    return "retrying" if job.error else "running"
