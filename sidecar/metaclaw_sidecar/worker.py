"""Runs extraction jobs in the background: in order within a scope, a few scopes at a time, never on a request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable

from .errors import ExtractionError, StoreError
from .extraction import Extractor
from .finder import Finder
from .learning import apply, keep_verbatim
from .records import Job, Memory, Turn
from .store import Database, jobs, memories, turns

_ABREAST = 2
_LEASE = 900.0
_LOOK = 30.0  # seconds between two looks when nobody rings
_SEEN = 30  # hits of each turn among which they are sought; many are raw turns
_KNOWN = 24  # memories that the model is shown to compare with
_log = logging.getLogger(__name__)


class Worker:
    """Takes jobs out of the store until it is stopped."""

    def __init__(
        self, database: Database, finder: Finder, extractor: Extractor | None, *, pause: float = 5.0,
        finished: Callable[[Job], None] = lambda _: None,
    ) -> None:  # fmt: skip
        """`pause` is the wait before the second try, in seconds; `finished` hears of each job that has run."""
        self._database = database
        self._finder = finder
        self._extractor = extractor
        self._pause = pause
        self._finished = finished
        self._bell = asyncio.Event()
        self._ended = asyncio.Condition()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.Task[None] | None = None
        self._stopping = False
        self.failed = 0

    def start(self) -> None:
        """Begin; jobs that were cut off by the end of an earlier process run again."""
        self._loop = asyncio.create_task(self._run())

    def ring(self) -> None:
        """There may be a new job."""
        self._bell.set()

    async def wait_for(self, scope_id: str, job_id: int, timeout: float) -> Job:
        """The job once it is done or given up, or as it stands when the time is over."""

        def look() -> Job:
            with self._database.reading() as db:
                return jobs.get(db, scope_id, job_id)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout), self._ended:
                while not self._stopping and (job := await asyncio.to_thread(look)).state in ("waiting", "running"):
                    if job.error:  # it failed and waits for its next try: that may be long
                        return job
                    await self._ended.wait()
        return await asyncio.to_thread(look)

    async def release(self) -> None:
        """The service is about to end: nobody waits for a job any more."""
        self._stopping = True
        async with self._ended:
            self._ended.notify_all()

    async def stop(self) -> None:
        """Cut off what runs; it runs again at the next start."""
        tasks = [task for task in (self._loop, *self._running.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        await asyncio.wrap_future(self._database.write(jobs.release_all))
        while True:
            self._bell.clear()
            try:
                wait = await self._fill()
            except (StoreError, sqlite3.Error) as error:  # a full disk, for one: it may have room again
                _log.warning("no extraction job can be begun: %s", error)
                wait = _LOOK
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._bell.wait()

    async def _fill(self) -> float:
        """Begin what may begin; returns the seconds until there may be more."""
        while len(self._running) < _ABREAST and (job := await self._lease()) is not None:
            self._running[job.scope_id] = asyncio.create_task(self._one(job))
        if len(self._running) >= _ABREAST:
            return _LOOK
        busy = frozenset(self._running)

        def look() -> float | None:
            with self._database.reading() as db:
                return jobs.next_due(db, busy)

        due = await asyncio.to_thread(look)
        return _LOOK if due is None else min(max(due - time.time(), 0.05), _LOOK)

    async def _lease(self) -> Job | None:
        busy = tuple(self._running)
        return await asyncio.wrap_future(self._database.write(lambda tx: jobs.lease(tx, busy, _LEASE)))

    async def _one(self, job: Job) -> None:
        try:
            await self._extract(job)
        except ExtractionError as error:
            await self._failed(job, str(error), error.permanent)
        except Exception as error:  # one job that can't be done must not stop the others
            _log.exception("extraction job %s failed", job.job_id)
            await self._failed(job, f"{type(error).__name__}", False)
        finally:
            self._running.pop(job.scope_id, None)
            self._bell.set()
            async with self._ended:
                self._ended.notify_all()
        self._finished(job)

    async def _extract(self, job: Job) -> None:
        if self._extractor is None:
            await asyncio.wrap_future(self._database.write(lambda tx: keep_verbatim(tx, job)))
            return
        batch, known, summary = await asyncio.to_thread(self._context, job)
        if not batch:
            await asyncio.wrap_future(self._database.write(lambda tx: jobs.finish(tx, job, 0)))
            return
        extraction = await self._extractor.extract(batch, known, summary, attempt=max(job.attempts, 1))
        if extraction.refused:
            _log.info("job %s: refused %s", job.job_id, extraction.refused)
        await asyncio.wrap_future(self._database.write(lambda tx: apply(tx, job, extraction)))

    def _context(self, job: Job) -> tuple[list[Turn], list[Memory], str]:
        """The turns, the memories they may restate or replace, and the session's summary so far."""
        with self._database.reading() as db:
            batch = turns.of_job(db, job.job_id)
        found: dict[str, None] = {}
        for turn in batch:
            for hit in self._finder.search(turn.prompt[:2000], job.scope_id, _SEEN, "hybrid"):
                found[hit.id] = None
        with self._database.reading() as db:
            held = memories.many(db, job.scope_id, list(found))
            newest, _ = memories.page(db, job.scope_id, status="active", limit=_KNOWN)
            own, _ = memories.page(
                db, job.scope_id, memory_type="working_summary", status="active", session_id=job.session_id, limit=1
            )
        ranked = [held[name] for name in found if name in held]
        chosen = {memory.memory_id: memory for memory in (*ranked, *newest)}
        known = [memory for memory in chosen.values() if _comparable(memory)][:_KNOWN]
        return batch, known, own[0].content if own else ""

    async def _failed(self, job: Job, problem: str, permanent: bool) -> None:
        self.failed += 1
        pause = self._pause
        try:
            given_up = await asyncio.wrap_future(
                self._database.write(lambda tx: jobs.fail(tx, job, problem, pause=pause, permanent=permanent))
            )
        except StoreError as error:  # its lease runs out, then it is taken again
            _log.warning("the end of extraction job %s can't be noted: %s", job.job_id, error)
            return
        _log.warning("extraction job %s %s: %s", job.job_id, "given up" if given_up else "will be tried again", problem)


def _comparable(memory: Memory) -> bool:
    return memory.status == "active" and memory.origin != "verbatim" and memory.memory_type != "working_summary"
