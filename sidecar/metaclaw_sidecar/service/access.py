"""The store as the event loop sees it: every call leaves the loop free."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..store import Database, Transaction

T = TypeVar("T")
_READERS = 4


class Access:
    """Reads in threads of its own, writes through the store's one writer."""

    def __init__(self, database: Database) -> None:
        self.database = database
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
        """What a transaction gives, once it is on the disk."""
        return await asyncio.wrap_future(self.database.write(work))

    async def run(self, work: Callable[[], T]) -> T:
        """Short work that would hold up the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    async def run_long(self, work: Callable[[], T]) -> T:
        """Work of seconds or minutes."""
        return await asyncio.get_running_loop().run_in_executor(self._long, work)

    def close(self) -> None:
        """Wait for what runs; nothing new is begun."""
        self._readers.shutdown(wait=True, cancel_futures=True)
        self._long.shutdown(wait=True, cancel_futures=True)
