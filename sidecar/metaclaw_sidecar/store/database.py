"""One SQLite file: one writer thread that commits in groups, and a reading connection for each thread."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..errors import StoreError
from ..files import close_to_others, private_dir
from . import schema

T = TypeVar("T")
_GROUP = 256
_CHECKPOINT_EVERY = 100  # commits; the log then holds some MiB
_CHECKPOINT_TRIES = 40
_LAST_READS = 10.0  # seconds that closing waits for those who still read
_log = logging.getLogger(__name__)


class Transaction:
    """What a piece of work writes through, and what it tells about its changes."""

    def __init__(self, db: sqlite3.Connection, now: float) -> None:
        self.db = db
        self.now = now
        self.touched: dict[tuple[str, str], None] = {}
        self.told = False
        self.erased = False

    def touch(self, scope_id: str, document_id: str) -> None:
        """A searchable text has come, changed or gone."""
        self.touched[scope_id, document_id] = None

    def tell(self, kind: str, scope_id: str, subject: str = "", **data: Any) -> None:
        """Write an event. It holds ids and numbers, never text of a person."""
        row = (self.now, kind, scope_id, subject, json.dumps(data))
        self.db.execute("INSERT INTO events (at, kind, scope_id, subject, data) VALUES (?,?,?,?,?)", row)
        self.told = True

    def erase(self) -> None:
        """What is deleted here must leave no trace in the files."""
        self.erased = True


class _Item(Generic[T]):
    def __init__(self, work: Callable[[Transaction], T]) -> None:
        self.work = work
        self.future: Future[T] = Future()

    def wanted(self) -> bool:
        """Whether anybody waits for it; from now on it can't be called off."""
        return self.future.running() or self.future.set_running_or_notify_cancel()


class Database:
    """The file. `on_commit` hears of every committed transaction, before those who wait for it."""

    def __init__(self, path: Path) -> None:
        """Open or create; raises StoreError, and alters nothing of a newer version's file."""
        private_dir(path.parent)
        schema.check(path)
        self._path = path
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._at_rest = threading.Condition(self._guard)  # nobody reads
        self._reading = 0
        self._closed = False
        self.on_commit: Callable[[Transaction], None] = lambda _: None
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        try:
            self._writing = self._connect()
            schema.create(self._writing)
        except sqlite3.Error as error:
            raise StoreError(f"{path} can't be opened ({error})") from error
        for suffix in ("", "-wal", "-shm"):
            close_to_others(path.with_name(path.name + suffix))
        self._commits = 0
        self._keeper = ThreadPoolExecutor(1, "store-checkpoint")
        self._queue: queue.SimpleQueue[_Item[Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_on, name="store-writer", daemon=True)
        self._thread.start()

    def write(self, work: Callable[[Transaction], T]) -> Future[T]:
        """Do some work in a transaction; the future is done when it is on the disk. Work that raises leaves nothing."""
        item = _Item(work)
        with self._guard:
            if self._closed:
                raise StoreError("the memory store is closed")
            self._queue.put(item)
        return item.future

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one consistent state, one for each thread. Raises StoreError once it is closed."""
        db = getattr(self._local, "db", None)
        if db is not None and db.in_transaction:  # nested in the same thread: the same state
            yield db
            return
        with self._guard:
            if self._closed:
                raise StoreError("the memory store is closed")
            self._reading += 1
        try:
            yield from self._read(db)
        finally:
            with self._guard:
                self._reading -= 1
                self._at_rest.notify_all()

    def _read(self, db: sqlite3.Connection | None) -> Iterator[sqlite3.Connection]:
        if db is None:
            db = self._connect()
            db.execute("PRAGMA query_only = ON")
            with self._guard:
                self._readers.append(db)
            self._local.db = db
        db.execute("BEGIN")
        try:
            yield db
        finally:
            db.execute("COMMIT")

    def close(self) -> None:
        """Write what is queued and close the file."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self._thread.join()
        self._keeper.shutdown(wait=True)
        with self._guard:  # a connection that is closed while a thread still reads would take the process down
            self._at_rest.wait_for(lambda: not self._reading, _LAST_READS)
            if self._reading:
                return
        for db in (*self._readers, self._writing):
            with contextlib.suppress(sqlite3.Error):
                db.close()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=10, isolation_level=None, check_same_thread=False)
        db.row_factory = sqlite3.Row
        for pragma in (
            "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON",
            "temp_store = MEMORY", "cache_size = -8000", "wal_autocheckpoint = 0",
        ):  # fmt: skip
            db.execute(f"PRAGMA {pragma}")
        return db

    def _write_on(self) -> None:
        while (first := self._queue.get()) is not None:
            group = [first]
            last = False
            with contextlib.suppress(queue.Empty):
                while len(group) < _GROUP:
                    item = self._queue.get_nowait()
                    if item is None:
                        last = True
                        break
                    group.append(item)
            self._commit(group)
            if last:
                return

    def _commit(self, group: Sequence[_Item[Any]]) -> None:
        """All items in one transaction, each undone by itself when it fails."""
        group = [item for item in group if item.wanted()]
        if not group:
            return
        tx = Transaction(self._writing, time.time())
        done: list[tuple[_Item[Any], Any]] = []
        try:
            tx.db.execute("BEGIN IMMEDIATE")
            done = [(item, result) for item in group if (result := self._attempt(tx, item)) is not _FAILED]
            tx.db.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                tx.db.execute("ROLLBACK")
            if len(group) > 1:  # one of them may be to blame
                for item in group:
                    if not item.future.done():
                        self._commit([item])
                return
            group[0].future.set_exception(StoreError(f"{self._path.name} can't be written ({error})"))
            return
        if tx.erased:
            self._wipe_log()
        self._commits += 1
        if self._commits % _CHECKPOINT_EVERY == 0:
            self._keeper.submit(self._checkpoint)
        try:
            self.on_commit(tx)
        except Exception:  # what is written is written; the index catches up when it is rebuilt
            _log.exception("the index was not told of a change")
        for item, result in done:
            item.future.set_result(result)

    def _attempt(self, tx: Transaction, item: _Item[Any]) -> Any:
        before = dict(tx.touched)
        tx.db.execute("SAVEPOINT item")
        try:
            result = item.work(tx)
        except sqlite3.OperationalError:
            raise
        except Exception as error:
            tx.db.execute("ROLLBACK TO item")
            tx.db.execute("RELEASE item")
            tx.touched = before
            item.future.set_exception(error)
            return _FAILED
        tx.db.execute("RELEASE item")
        return result

    def _checkpoint(self) -> None:
        """Fold the write-ahead log into the file, beside the writer: a commit never waits for that."""
        try:
            with contextlib.closing(self._connect()) as db:
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            _log.warning("the write-ahead log grows: %s", error)

    def _wipe_log(self) -> None:
        """Deleted text may still stand in the write-ahead log: fold it into the file and cut it off."""
        for _ in range(_CHECKPOINT_TRIES):
            busy = self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if not busy:
                return
            time.sleep(0.025)  # a reader still looks at the older state
        _log.warning("the write-ahead log could not be cut after forgetting; it is when the service closes")


_FAILED = object()
