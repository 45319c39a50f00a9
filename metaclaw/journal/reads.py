"""What others ask the journal. Every function takes a connection and returns records."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from .records import Event, Injection, Message, Session, Turn, Usage
from .schema import cursors, events, injections, messages, sessions, turns

_CHUNK = 400

_SESSION = sa.select(sessions)
_TURN = sa.select(*(c for c in turns.c if c.name not in ("key", "reported")))
_MESSAGE = sa.select(messages.c.role, messages.c.body, messages.c.text, messages.c.digest, messages.c.chain)


def list_sessions(connection: sa.Connection, limit: int, before: float | None, active: bool | None) -> list[Session]:
    """The newest sessions first."""
    c = sessions.c
    query = _SESSION.order_by(c.last_at.desc()).limit(limit)
    if before is not None:
        query = query.where(c.last_at < before)
    if active is not None:
        query = query.where(c.ended_at.is_(None) if active else c.ended_at.is_not(None))
    return _sessions(connection, query)


def one_session(connection: sa.Connection, id: str) -> Session | None:
    """A session by its id."""
    return next(iter(_sessions(connection, _SESSION.where(sessions.c.id == id))), None)


def sessions_from(connection: sa.Connection, prefix: str, limit: int) -> list[Session]:
    """The newest sessions whose ids begin so."""
    c = sessions.c
    query = _SESSION.where(c.id.startswith(prefix, autoescape=True)).order_by(c.last_at.desc()).limit(limit)
    return [session for session in _sessions(connection, query) if session.id.startswith(prefix)]


def idle_sessions(connection: sa.Connection, before: float, limit: int) -> list[Session]:
    """Sessions that have not ended and had no call since `before`, the longest idle first."""
    c = sessions.c
    query = _SESSION.where(c.ended_at.is_(None), c.last_at < before)
    return _sessions(connection, query.order_by(c.last_at).limit(limit))


def by_opening(connection: sa.Connection, opening: bytes, limit: int) -> list[Session]:
    """Sessions that began with these words, the newest first."""
    c = sessions.c
    return _sessions(connection, _SESSION.where(c.opening == opening).order_by(c.last_at.desc()).limit(limit))


def by_chain(connection: sa.Connection, chains: Sequence[bytes]) -> list[tuple[bytes, Session]]:
    """Which sessions hold a message with one of these chains: in the order of `chains`, the newest session first."""
    found: dict[bytes, list[Session]] = {}
    for start in range(0, len(chains), _CHUNK):
        part = chains[start : start + _CHUNK]
        query = sa.select(messages.c.chain, sessions).join(sessions).where(messages.c.chain.in_(part))
        for chain, *row in connection.execute(query.order_by(sessions.c.last_at.desc())):
            found.setdefault(chain, []).append(Session(*row))
    return [(chain, session) for chain in dict.fromkeys(chains) for session in found.get(chain, ())]


def list_turns(connection: sa.Connection, session_id: str, limit: int, after: int) -> list[Turn]:
    """The turns of a session in order, from the one behind number `after`."""
    c = turns.c
    query = _TURN.where(c.session_id == session_id, c.number > after).order_by(c.number).limit(limit)
    return [_turn(row) for row in connection.execute(query)]


def one_turn(connection: sa.Connection, id: int) -> Turn | None:
    """A turn by its id."""
    row = connection.execute(_TURN.where(turns.c.id == id)).first()
    return None if row is None else _turn(row)


def list_messages(connection: sa.Connection, session_id: str, turn_id: int | None) -> list[Message]:
    """The conversation in order, or what one turn added to it. What retention has emptied is left out."""
    c = messages.c
    query = _MESSAGE.where(c.session_id == session_id).order_by(c.id)
    query = query.where(c.turn_id.is_not(None) if turn_id is None else c.turn_id == turn_id)
    return [Message(*row) for row in connection.execute(query)]


def list_chains(connection: sa.Connection, session_id: str) -> list[bytes]:
    """The chains of all messages of a session, in order, the emptied ones included."""
    query = sa.select(messages.c.chain).where(messages.c.session_id == session_id).order_by(messages.c.id)
    return list(connection.execute(query).scalars())


def list_injections(connection: sa.Connection, session_id: str) -> list[Injection]:
    """The blocks put into messages of a session, in the order of their turns."""
    c = injections.c
    query = sa.select(c.anchor, c.block, c["items"]).where(c.session_id == session_id).order_by(c.turn_id)
    return [Injection(anchor, block, msgspec.json.decode(items)) for anchor, block, items in connection.execute(query)]


def list_events(connection: sa.Connection, after: int, kinds: Collection[str], limit: int) -> list[Event]:
    """The events of these kinds behind `after`, in order. One range of the index for each kind, merged."""

    def of(kind: str) -> Iterator[Event]:
        c = events.c
        query = sa.select(events).where(c.kind == kind, c.id > after).order_by(c.id).limit(limit)
        for row in connection.execute(query).all():
            yield _event(row)

    merged = heapq.merge(*(of(kind) for kind in kinds), key=lambda event: event.id)
    return [event for event, _ in zip(merged, range(limit), strict=False)]


def feedback(connection: sa.Connection, session_id: str) -> list[Event]:
    """The feedback on a session's turns."""
    c = events.c
    query = sa.select(events).where(c.kind == "feedback", c.session_id == session_id).order_by(c.id)
    return [_event(row) for row in connection.execute(query)]


def newest_event(connection: sa.Connection) -> int:
    """The id of the newest event; 0 when there is none."""
    return int(connection.execute(sa.select(sa.func.max(events.c.id))).scalar() or 0)


def position(connection: sa.Connection, reader: str) -> int:
    """The id of the last event that a reader is done with; 0 for a new reader."""
    return connection.execute(sa.select(cursors.c.position).where(cursors.c.reader == reader)).scalar() or 0


def forget_position(connection: sa.Connection, reader: str) -> None:
    """Make a reader a new one."""
    connection.execute(sa.delete(cursors).where(cursors.c.reader == reader))


def _sessions(connection: sa.Connection, query: sa.Select[Any]) -> list[Session]:
    return [Session(*row) for row in connection.execute(query)]


def _turn(row: sa.Row[Any]) -> Turn:
    return Turn(
        id=row.id,
        session_id=row.session_id,
        number=row.number,
        status=row.status,
        user_text=row.user_text,
        answer_text=row.answer_text,
        model=row.model,
        started_at=row.started_at,
        finished_at=row.finished_at,
        calls=row.calls,
        recalled=msgspec.json.decode(row.recalled),
        usage=Usage(row.prompt, row.cached, row.cache_write, row.completion),
        error=row.error,
    )


def _event(row: Any) -> Event:
    return Event(row.id, row.kind, row.session_id, row.turn_id, msgspec.json.decode(row.payload), row.at)
