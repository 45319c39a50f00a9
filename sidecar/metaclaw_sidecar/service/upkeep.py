"""Whole scopes: counted, tidied, indexed anew, deleted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from ..errors import SidecarError
from ..learning import Outcome, consolidate, sessions_since_last, undo
from ..records import Job, as_json
from ..retrieval import Retriever
from ..settings import Settings
from ..store import Corpus, events, forgetting, jobs, statistics
from .access import Access

_TIDY = 600.0  # seconds between two looks at what has grown
_log = logging.getLogger(__name__)


class Upkeep:
    """What is done to a scope as a whole, on demand and by itself."""

    def __init__(self, access: Access, corpus: Corpus, retriever: Retriever, settings: Settings) -> None:
        self._access = access
        self._corpus = corpus
        self._retriever = retriever
        self._settings = settings
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, take_up_left: Callable[[], Awaitable[None]]) -> None:
        """From now on keep what grows within bounds, and take up turns that were left."""
        self._spawn(self._tidy(take_up_left))

    async def stop(self) -> None:
        """Leave off; a consolidation that runs ends with the step at hand."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def memories_held(self) -> tuple[int, int]:
        """Active memories of all scopes, and extraction jobs that were given up."""
        return await self._access.read(lambda db: (statistics.memories_held(db), jobs.given_up(db)))

    async def scopes(self) -> list[dict[str, Any]]:
        """Every scope that holds something."""
        return await self._access.read(statistics.of_scopes)

    async def statistics(self, scope_id: str) -> dict[str, Any]:
        """A scope in numbers, and what the index has of it."""

        def look() -> dict[str, Any]:
            with self._access.database.reading() as db:
                counted = statistics.of_scope(db, scope_id)
                status = self._retriever.status()
                documents, embedded = self._corpus.coverage(scope_id, str(status["model"]))
            known = ("model", "dense", "problem", "index_problem", "failures")
            index: dict[str, Any] = {
                "documents": documents, "embedded": embedded, "missing": documents - embedded,
                "store": self._settings.store, "indexed": self._retriever.is_indexed(scope_id),
            }  # fmt: skip
            return counted | {"index": index | {name: status[name] for name in known}}

        return await self._access.run_long(look)

    async def consolidate(self, scope_id: str) -> Outcome:
        """Tidy a scope; one at a time."""
        async with self._one_at_a_time:
            now = time.time()
            return await self._access.run_long(lambda: consolidate(self._access.database, scope_id, now))

    async def undo(self, scope_id: str, run_id: str) -> int:
        """Take a consolidation back; returns how many memories it put back. Raises NotFound."""
        return await self._access.write_through(lambda tx: undo(tx, scope_id, run_id))

    async def delete_scope(self, scope_id: str) -> dict[str, Any]:
        """Delete everything of a scope; nothing can be found when this returns."""
        receipt = await self._access.run_long(lambda: forgetting.delete_scope(self._access.database, scope_id))
        await self._access.indexed()
        await self._access.run_long(lambda: self._retriever.forget(scope_id))
        return as_json(receipt)

    async def reindex(self, scope_ids: list[str]) -> list[str]:
        """Throw the index of scopes away; it is built again from the store."""
        for scope_id in scope_ids:
            await self._access.run_long(lambda scope_id=scope_id: self._retriever.reindex(scope_id))  # type: ignore[misc]
            self._retriever.warm(scope_id)
        return scope_ids

    def job_ended(self, job: Job) -> None:
        """A session's last extraction may be the one after which its scope is tidied."""
        if job.final:
            self.session_ended(job.scope_id)

    def session_ended(self, scope_id: str) -> None:
        """Tidy the scope in the background if it is time."""
        if self._settings.auto_consolidate:
            self._spawn(self._consolidate_when_due(scope_id))

    async def _consolidate_when_due(self, scope_id: str) -> None:
        with contextlib.suppress(SidecarError):  # it is asked for again after the next session
            ended = await self._access.read(lambda db: sessions_since_last(db, scope_id))
            if ended >= self._settings.consolidation_interval and not self._one_at_a_time.locked():
                outcome = await self.consolidate(scope_id)
                _log.info("consolidated %s: %s", scope_id, outcome)

    async def _tidy(self, take_up_left: Callable[[], Awaitable[None]]) -> None:
        while True:
            with contextlib.suppress(SidecarError):  # a full disk, for one: there is a next time
                await self._access.write(events.prune)
                await take_up_left()
            await asyncio.sleep(_TIDY)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
