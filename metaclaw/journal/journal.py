"""The journal as its neighbours see it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import sqlalchemy as sa

from . import reads, retention
from .cursors import Claims, Reading
from .database import open_engine, reason
from .errors import Unreadable
from .records import Event, Injection, Item, Message, Session, Turn
from .writer import Assembler, Writer

T = TypeVar("T")


class Journal:
    """Every turn, durable. Appending never blocks and is safe from any thread; reads belong in a worker thread."""

    def __init__(self, engine: sa.Engine, writer: Writer) -> None:
        self._engine = engine
        self._writer = writer
        self._claims = Claims(engine)

    @classmethod
    def open(cls, url: str) -> Journal:
        """Open, create or migrate. Raises JournalError, NewerSchema (nothing is altered then) or Unreadable."""
        engine = open_engine(url)
        return cls(engine, Writer(engine))

    def append(self, item: Item | Assembler, *, size: int | None = None) -> Future[None]:
        """Queue an item. The future is done when its row is committed, and fails with JournalError.

        A callable runs in the writer thread and returns the Call; say with `size` about how many bytes it holds.
        """
        return self._writer.append(item, size)

    def close(self, timeout: float = 10.0) -> None:
        """Commit what is queued and stop; what can't be written within `timeout` seconds fails."""
        self._writer.close(timeout)
        self._engine.dispose()

    @property
    def written(self) -> int:
        """Items committed."""
        return self._writer.written

    @property
    def failed(self) -> int:
        """Items that could not be written."""
        return self._writer.failed

    @property
    def dropped(self) -> int:
        """Items refused because the queue was full or closed."""
        return self._writer.dropped

    @property
    def queued(self) -> int:
        """Items waiting."""
        return self._writer.queued

    def sessions(self, *, limit: int = 50, before: float | None = None, active: bool | None = None) -> list[Session]:
        """The newest sessions first; page on with `before`, the last one's `last_at`."""
        return self._read(reads.list_sessions, limit, before, active)

    def session(self, id: str) -> Session | None:
        """A session by its id."""
        return self._read(reads.one_session, id)

    def sessions_from(self, prefix: str, *, limit: int = 10) -> list[Session]:
        """The newest sessions whose ids begin with `prefix`."""
        return self._read(reads.sessions_from, prefix, limit)

    def idle_sessions(self, before: float, *, limit: int = 1000) -> list[Session]:
        """Sessions that have not ended and had no call since `before`, the longest idle first."""
        return self._read(reads.idle_sessions, before, limit)

    def find_by_opening(self, opening: bytes, limit: int = 20) -> list[Session]:
        """Sessions that began with these words, the newest first."""
        return self._read(reads.by_opening, opening, limit)

    def find_by_chain(self, chains: Sequence[bytes]) -> list[tuple[bytes, Session]]:
        """Which sessions hold a message with one of these chains, in the order of `chains`."""
        return self._read(reads.by_chain, chains)

    def turns(self, session_id: str, *, limit: int, after: int = 0) -> list[Turn]:
        """The turns of a session in order, from the one behind number `after`."""
        return self._read(reads.list_turns, session_id, limit, after)

    def turn(self, id: int) -> Turn | None:
        """A turn by its id."""
        return self._read(reads.one_turn, id)

    def messages(self, session_id: str, *, turn_id: int | None = None) -> list[Message]:
        """The conversation as the client sent it and as it was answered, or what one turn added to it."""
        return self._read(reads.list_messages, session_id, turn_id)

    def chains(self, session_id: str) -> list[bytes]:
        """The chains of all messages of a session, in order."""
        return self._read(reads.list_chains, session_id)

    def injections(self, session_id: str) -> list[Injection]:
        """The blocks that were put into messages of a session."""
        return self._read(reads.list_injections, session_id)

    def events(self, after: int, *, kinds: Collection[str], limit: int) -> list[Event]:
        """The events of these kinds behind the one with id `after`, in order."""
        return self._read(reads.list_events, after, kinds, limit)

    def feedback(self, session_id: str) -> list[Event]:
        """What people and checks said of a session's turns, oldest first."""
        return self._read(reads.feedback, session_id)

    def newest_event(self) -> int:
        """The id of the newest event; 0 when there is none."""
        return self._read(reads.newest_event)

    def cursor(self, reader: str) -> int:
        """The id of the last event that a reader is done with; 0 for a new reader."""
        return self._read(reads.position, reader)

    def advance(self, reader: str, position: int) -> None:
        """Remember that a reader is done with all events up to `position`; a cursor never moves back."""
        self._writer.advance(reader, position).result()

    @contextlib.contextmanager
    def reading(self, reader: str, *, kinds: Collection[str], limit: int = 100) -> Iterator[Reading]:
        """Events behind the reader's cursor, for this process alone: deal with each, then say `done(event)`."""
        with self._claims.claim(reader) as claimed:
            events = self.events(self.cursor(reader), kinds=kinds, limit=limit) if claimed else []
            yield Reading(events, lambda position: self.advance(reader, position))

    def rewind(self, reader: str) -> None:
        """Let a reader begin anew, to build again what it had made."""
        self._writer.run(lambda connection: reads.forget_position(connection, reader)).result()

    def delete_before(self, when: float) -> int:
        """Delete turns that began before `when`, in steps that let writes through; returns how many that were."""
        return retention.delete_before(self._writer.run, when)

    def vacuum(self) -> None:
        """Give the space of what was deleted back to the disk, in steps that let writes through."""
        retention.vacuum(self._writer.run, self._engine)

    def _read(self, read: Callable[..., T], *arguments: Any) -> T:
        try:
            with self._engine.connect() as connection:
                return read(connection, *arguments)
        except sa.exc.DBAPIError as error:
            raise Unreadable(f"journal can't be read: {reason(error)}; run `metaclaw doctor`") from error
