"""The one thread that writes: a bounded queue in front, one transaction for whatever has queued up."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from .database import reason, writing
from .errors import JournalError
from .records import Call, Feedback, Item, SessionEnd
from .statements import Statements

log = logging.getLogger(__name__)

T = TypeVar("T")
Assembler = Callable[[], Call]
Work = Callable[[sa.Connection], Any]

MAX_ITEMS = 8192
MAX_BYTES = 64 << 20
BATCH_ITEMS = 512
BATCH_BYTES = 8 << 20
LINGER_SECONDS = 0.002  # under load, a wait this short makes groups several times larger and each item cheaper
RETRY_SECONDS = 10.0  # a broken disk must not hold the queue for as long as one attempt an item takes

# What a server's transaction is called, so that its outcome can be asked for; and no wait without an end for another
# gateway that hangs in the middle of its own.
_TICKET = "SELECT pg_current_xact_id()::text, set_config('lock_timeout', '10s', true)"


@dataclass(slots=True)
class _Entry:
    item: Item | Assembler | None
    work: Work | None
    size: int
    future: Future[Any]


class Unknown(Exception):
    """The server went away in the middle of a commit and can't be asked whether it took place."""


class Writer:
    """Takes items from any thread and writes them in the order in which they came."""

    def __init__(self, engine: sa.Engine, *, max_items: int = MAX_ITEMS, max_bytes: int = MAX_BYTES) -> None:
        self.written = self.failed = self.dropped = 0
        self._engine = engine
        self._statements = Statements(engine.dialect)
        self._max_items, self._max_bytes = max_items, max_bytes
        self._queue: deque[_Entry] = deque()
        self._bytes = 0
        self._in_hand = 0
        self._closing = False
        self._busy = False  # the last group had more than one item, so more are on their way
        self._changed = threading.Condition()
        self._connection: sa.Connection | None = None
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self._thread.start()

    @property
    def queued(self) -> int:
        """Items that are neither written nor failed yet."""
        return len(self._queue) + self._in_hand

    def append(self, item: Item | Assembler, size: int | None = None) -> Future[None]:
        """Queue an item; `size` is about how many bytes it holds, needed only for a callable."""
        return self._put(_Entry(item, None, _size(item) if size is None else size, Future()))

    def run(self, work: Callable[[sa.Connection], T]) -> Future[T]:
        """Queue work of another kind; it gets a transaction of its own. The queue's limits don't hold it up."""
        return self._put(_Entry(None, work, 0, Future()))

    def advance(self, reader: str, position: int) -> Future[None]:
        """Queue a reader's step forward."""
        return self.run(lambda connection: self._statements.advance(_cursor(connection), reader, position))

    def close(self, timeout: float) -> None:
        """Write what is queued and stop; what isn't written in time fails."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)
        with self._changed:
            left = list(self._queue)
            self._queue.clear()
        self._fail(left, JournalError("journal closed before this was written"))

    def _put(self, entry: _Entry) -> Future[Any]:
        future = entry.future
        future.set_running_or_notify_cancel()  # a caller that stops waiting must not take the row back
        with self._changed:
            refused = self._refusal(entry)
            if not refused:
                self._queue.append(entry)
                self._bytes += entry.size
                self._changed.notify()
                return future
            self.dropped += 1
        future.set_exception(JournalError(refused))
        return future

    def _refusal(self, entry: _Entry) -> str:
        if self._closing:
            return "journal is closed"
        if entry.work is not None:
            return ""
        full = len(self._queue) >= self._max_items or (self._queue and self._bytes + entry.size > self._max_bytes)
        return "journal is behind: its queue is full, this turn is not recorded" if full else ""

    def _run(self) -> None:
        while entries := self._next():
            self._in_hand = len(entries)
            try:
                self._handle(entries)
            except Exception as error:
                # The thread outlives whatever happens, or nothing would be recorded any more.
                log.exception("journal writer: unexpected failure")
                self._fail([entry for entry in entries if not entry.future.done()], error)
            self._in_hand = 0
        self._hang_up()

    def _next(self) -> list[_Entry]:
        """Whatever has queued up, within one transaction's limits; nothing when it is time to stop."""
        with self._changed:
            while not self._queue:
                if self._closing:
                    return []
                self._changed.wait()
        if self._busy:
            time.sleep(LINGER_SECONDS)
        with self._changed:
            if not self._queue:  # closed meanwhile, and out of time
                return []
            entries = [self._queue.popleft()]
            size = entries[0].size
            while self._queue and len(entries) < BATCH_ITEMS and size < BATCH_BYTES and entries[0].work is None:
                if self._queue[0].work is not None:
                    break
                entries.append(self._queue.popleft())
                size += entries[-1].size
            self._bytes -= size
        self._busy = len(entries) > 1
        return entries

    def _handle(self, entries: list[_Entry]) -> None:
        if entries[0].work is not None:
            self._do(entries[0], entries[0].work)
            return
        ready = [(entry, item) for entry in entries if (item := self._assembled(entry)) is not None]
        if not ready:
            return
        began = time.monotonic()
        try:
            self._write([item for _, item in ready])
        except Unknown as error:
            self._fail([entry for entry, _ in ready], error)
        except Exception as error:
            log.warning("journal: a group of %d could not be written (%s); one by one now", len(ready), reason(error))
            self._one_by_one(ready, began + RETRY_SECONDS, error)
        else:
            self._done([entry for entry, _ in ready])

    def _one_by_one(self, ready: list[tuple[_Entry, Item]], deadline: float, error: Exception) -> None:
        """Second and last chance, each item for itself, so that a bad one takes no other down."""
        for entry, item in ready:
            if time.monotonic() < deadline:
                try:
                    self._write([item])
                except Exception as again:
                    error = again
                else:
                    self._done([entry])
                    continue
            self._fail([entry], error)

    def _assembled(self, entry: _Entry) -> Item | None:
        item = entry.item
        if not callable(item):
            return item
        try:
            return item()
        except Exception as error:
            log.warning("journal: a turn could not be assembled: %r", error)
            self._fail([entry], error)
            return None

    def _write(self, items: list[Item]) -> None:
        self._transact(lambda connection: self._statements.write(_cursor(connection), items))

    def _do(self, entry: _Entry, work: Work) -> None:
        try:
            result = self._transact(work)
        except Exception as error:
            entry.future.set_exception(_as_journal_error(error))
        else:
            entry.future.set_result(result)

    def _transact(self, work: Callable[[sa.Connection], T]) -> T:
        """One transaction. If the connection breaks in the commit, the server is asked what became of it."""
        ticket: str | None = None
        try:
            connection = self._connected()
            with connection.begin():
                if self._engine.dialect.name == "postgresql":
                    ticket = connection.exec_driver_sql(_TICKET).scalar_one()
                result = work(connection)
        except BaseException as error:
            self._hang_up()
            lost = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
            if ticket is not None and lost and self._took_place(ticket):
                return result
            raise
        return result

    def _took_place(self, ticket: str) -> bool:
        try:
            for _ in range(100):
                with self._engine.connect() as connection:
                    query = sa.text("SELECT pg_xact_status(CAST(CAST(:ticket AS text) AS xid8))")
                    status = connection.execute(query, {"ticket": ticket}).scalar()
                if status != "in progress":
                    return bool(status == "committed")
                time.sleep(0.05)
        except sa.exc.DBAPIError as error:
            raise Unknown(f"the connection broke in a commit ({reason(error)})") from error
        raise Unknown("the connection broke in a commit, which is still going on")

    def _connected(self) -> sa.Connection:
        if self._connection is None:
            self._connection = writing(self._engine.connect())
        return self._connection

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except sa.exc.SQLAlchemyError as error:
                log.warning("journal: a broken connection did not close: %s", reason(error))

    def _done(self, entries: list[_Entry]) -> None:
        self.written += len(entries)
        for entry in entries:
            entry.future.set_result(None)

    def _fail(self, entries: list[_Entry], error: Exception) -> None:
        self.failed += len(entries)
        failure = _as_journal_error(error)
        for entry in entries:
            entry.future.set_exception(failure)


def _cursor(connection: sa.Connection) -> Any:
    """The driver's own cursor, inside the transaction: SQLAlchemy's costs more than the statements themselves."""
    return connection.connection.cursor()


def _as_journal_error(error: Exception) -> JournalError:
    if isinstance(error, JournalError):
        return error
    failure = JournalError(f"journal could not be written: {reason(error)}")
    failure.__cause__ = error
    return failure


def _size(item: Item | Assembler) -> int:
    """About how many bytes an item holds while it waits."""
    if isinstance(item, Call):
        texts = len(item.user_text) + len(item.answer_text)
        return 1024 + texts + sum(len(m.body) + len(m.text) for m in item.messages)
    return 1024 + len(item.text) if isinstance(item, Feedback) else 1024 if isinstance(item, SessionEnd) else 65536
