"""How a reader works through events: one process at a time, each event done once and remembered as done."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator

import sqlalchemy as sa

from .records import Event


class Reading:
    """The events that one reader is to deal with now. Empty when there are none, or another process has them."""

    def __init__(self, events: list[Event], advance: Callable[[int], None]) -> None:
        self.events = events
        self._advance = advance

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def done(self, event: Event) -> None:
        """This event and all before it are dealt with; on disk when this returns.

        A process that dies between an event's effect and this call meets the event again: an effect that must not
        happen twice is keyed with `event.id`.
        """
        self._advance(event.id)


class Claims:
    """Who reads what: a reader's name is held by one reading at a time, over all processes on one server."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._here: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    @contextlib.contextmanager
    def claim(self, reader: str) -> Iterator[bool]:
        """Hold a reader's name for the block; False when somebody else does. The dead hold nothing."""
        lock = self._here[reader]
        if not lock.acquire(blocking=False):
            yield False
            return
        try:
            if self._engine.dialect.name == "postgresql":
                with self._claim_on_server(reader) as claimed:
                    yield claimed
            else:
                yield True  # a journal in a file belongs to one gateway, which holds a lock for life
        finally:
            lock.release()

    @contextlib.contextmanager
    def _claim_on_server(self, reader: str) -> Iterator[bool]:
        key = sa.func.hashtextextended(f"metaclaw reader {reader}", 0)
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            claimed = bool(connection.execute(sa.select(sa.func.pg_try_advisory_lock(key))).scalar())
            try:
                yield claimed
            finally:
                if claimed:
                    connection.execute(sa.select(sa.func.pg_advisory_unlock(key)))
