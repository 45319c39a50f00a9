"""The store and its index as the event loop sees them: every call leaves the loop free."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..retrieval import Document, Retriever
from ..store import Database, Transaction
from ..store.corpus import document

T = TypeVar("T")
_READERS = 4
_log = logging.getLogger(__name__)


class Access:
    """Reads in threads of its own, writes through the store's one writer; the index follows what is written."""

    def __init__(self, database: Database, retriever: Retriever) -> None:
        self.database = database
        self._retriever = retriever
        self._told: Callable[[], None] = lambda: None
        # One thread, so that changes reach the index in the order they were written, and the writer goes on meanwhile.
        self._indexer = ThreadPoolExecutor(1, "sidecar-index")
        database.on_commit = self._committed
        self._readers = ThreadPoolExecutor(_READERS, "sidecar-read")
        # Apart, so that a long export or import never keeps a short read waiting.
        self._long = ThreadPoolExecutor(2, "sidecar-long")

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What a short look at one consistent state of the store gives."""

        def look() -> T:
            with self.database.reading() as db:
                return work(db)

        return await self.run(look)

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """What a transaction gives, once it is on the disk; the index follows within moments."""
        return await asyncio.wrap_future(self.database.write(work))

    async def write_through(self, work: Callable[[Transaction], T]) -> T:
        """The same, once every search sees it too."""
        result = await self.write(work)
        await self.indexed()
        return result

    async def indexed(self) -> None:
        """Wait until the index has followed all that was written before."""
        await asyncio.get_running_loop().run_in_executor(self._indexer, _nothing)

    def on_events(self, told: Callable[[], None]) -> None:
        """Call `told` in the writer's thread whenever events were written."""
        self._told = told

    async def run(self, work: Callable[[], T]) -> T:
        """Short work that would hold up the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    async def run_long(self, work: Callable[[], T]) -> T:
        """Work of seconds or minutes."""
        return await asyncio.get_running_loop().run_in_executor(self._long, work)

    def close(self) -> None:
        """Wait for what runs; nothing new is begun."""
        for pool in (self._readers, self._long, self._indexer):
            pool.shutdown(wait=True, cancel_futures=True)

    def _committed(self, tx: Transaction) -> None:
        """In the writer's thread: see what the texts are now, and leave the rest to the index's own."""
        if tx.told:
            self._told()
        for scope_id in {scope_id for scope_id, _ in tx.touched}:
            ids = [name for scope, name in tx.touched if scope == scope_id]
            now: list[Document] = [found for name in ids if (found := document(tx.db, scope_id, name)) is not None]
            with contextlib.suppress(RuntimeError):  # the service ends: the index is built anew at the next start
                self._indexer.submit(self._follow, scope_id, now, ids)

    def _follow(self, scope_id: str, now: list[Document], ids: list[str]) -> None:
        try:
            self._retriever.changed(scope_id, now, ids)
            if now:  # a scope that nobody has asked for yet is embedded all the same
                self._retriever.warm(scope_id)
        except Exception:  # the store is right; a search reads from it what it shows
            _log.exception("the index did not follow a change; it is built anew")
            self._retriever.reindex(scope_id)


def _nothing() -> None:
    """What waits behind everything before it."""
