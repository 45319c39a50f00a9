"""The statements of the writer, compiled once, and the one transaction that they make up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from .plan import Known, Plan, Row, SessionState
from .records import Call, Feedback, Item
from .schema import calls, cursors, events, injections, messages, numbering, sessions, turns

T = TypeVar("T")

_CHUNK = 400  # parameters in one IN list: below every database's limit, tuples counted twice

_TURN_STATE = (
    turns.c.id,
    turns.c.number,
    turns.c.status,
    turns.c.reported,
    turns.c.user_text,
    turns.c.answer_text,
    turns.c.model,
    turns.c.finished_at,
    turns.c.calls,
    turns.c.recalled,
    turns.c.prompt,
    turns.c.cached,
    turns.c.cache_write,
    turns.c.completion,
    turns.c.error,
)
_SESSION_KEPT = ("id", "started_at", "opening")


class Statements:
    """Reads what is known and writes what is planned; the strings are ready for the driver, without a compiler."""

    def __init__(self, dialect: sa.Dialect) -> None:
        self._dialect = dialect
        insert = _insert_of(dialect.name)
        upsert = insert(sessions)
        changed = {c.name: upsert.excluded[c.name] for c in sessions.c if c.name not in _SESSION_KEPT}
        self._sessions = self._compiled(upsert.on_conflict_do_update(index_elements=["id"], set_=changed))
        self._ends = self._compiled(_update(sessions, "ended_at", "end_reason"))
        self._new_turns = self._compiled(sa.insert(turns))
        self._turns = self._compiled(_update(turns, *(c.name for c in _TURN_STATE if c.name not in ("id", "number"))))
        self._messages = self._compiled(insert(messages).on_conflict_do_nothing(), skip="id")
        self._calls = self._compiled(sa.insert(calls), skip="id")
        block = insert(injections)
        self._injections = self._compiled(
            block.on_conflict_do_update(
                index_elements=["session_id", "anchor"],
                set_={name: block.excluded[name] for name in ("turn_id", "block", "items")},
            )
        )
        self._events = self._compiled(sa.insert(events))
        self._numbering = self._compiled(sa.update(numbering), skip="id")
        moved = insert(cursors)
        self._cursor = self._compiled(
            moved.on_conflict_do_update(
                index_elements=["reader"],
                set_={"position": moved.excluded.position},
                where=cursors.c.position < moved.excluded.position,
            )
        )
        self._lock = sa.select(numbering.c.turn, numbering.c.event).with_for_update()

    def write(self, connection: sa.Connection, items: Sequence[Item]) -> None:
        """Write the items, in order; the caller has begun the transaction and commits it."""
        plan = Plan(self._known(connection, items))
        before = plan.turn, plan.event
        for item in items:
            plan.add(item)
        for statement, rows in (
            (self._sessions, plan.session_rows()),
            (self._ends, plan.end_rows()),
            (self._new_turns, plan.new_turns()),
            (self._turns, plan.changed_turns()),
            (self._messages, plan.messages),
            (self._calls, plan.calls),
            (self._injections, list(plan.injections.values())),
            (self._events, plan.events),
        ):
            if rows:
                connection.exec_driver_sql(statement, rows)
        if (plan.turn, plan.event) != before:
            connection.exec_driver_sql(self._numbering, {"turn": plan.turn, "event": plan.event})

    def advance(self, connection: sa.Connection, reader: str, position: int) -> None:
        """Move a reader's cursor forward; never back."""
        connection.exec_driver_sql(self._cursor, {"reader": reader, "position": position})

    def _compiled(self, statement: sa.Insert | sa.Update, skip: str = "") -> str:
        keys = None
        if isinstance(statement, sa.Insert) or skip:
            keys = [c.name for c in statement.table.c if c.name != skip]
        return str(statement.compile(dialect=self._dialect, column_keys=keys))

    def _known(self, connection: sa.Connection, items: Sequence[Item]) -> Known:
        """Lock the numbering, then read what the items touch."""
        turn, event = connection.execute(self._lock).one()
        known = Known(turn, event)
        ids = {item.session.id if isinstance(item, Call) else item.session_id for item in items}
        self._read_sessions(connection, known, sorted(ids))
        keys = {
            (item.session.id, item.turn_key)
            for item in items
            if isinstance(item, Call) and item.kind == "main" and item.session.id in known.sessions
        }
        self._read_turns(connection, known, sorted(keys))
        asked = {item.session_id for item in items if isinstance(item, Feedback) and item.turn_id is None}
        if asked:
            newest = sa.select(turns.c.session_id, sa.func.max(turns.c.id)).where(turns.c.session_id.in_(asked))
            known.newest.update(connection.execute(newest.group_by(turns.c.session_id)).tuples().all())
        return known

    def _read_sessions(self, connection: sa.Connection, known: Known, ids: list[str]) -> None:
        c = sessions.c
        columns = sa.select(c.id, c.turns, c.last_at, c.ended_at, c.end_reason)
        for part in _chunks(ids):
            for id, *state in connection.execute(columns.where(c.id.in_(part))):
                known.sessions[id] = SessionState(*state)

    def _read_turns(self, connection: sa.Connection, known: Known, keys: list[tuple[str, bytes]]) -> None:
        columns = sa.select(turns.c.session_id, turns.c.key, *_TURN_STATE)
        for part in _chunks(keys):
            found = columns.where(sa.tuple_(turns.c.session_id, turns.c.key).in_(part))
            for session_id, key, *state in connection.execute(found):
                row: Row = dict(zip((c.name for c in _TURN_STATE), state, strict=True))
                row["row"] = row["id"]
                known.turns[session_id, key] = row


def _insert_of(database: str) -> Any:
    """The INSERT that knows ON CONFLICT; the other database's dialect isn't loaded, it takes megabytes."""
    if database == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert
    from sqlalchemy.dialects import sqlite

    return sqlite.insert


def _update(table: sa.Table, *names: str) -> sa.Update:
    values: dict[str, Any] = {name: sa.bindparam(name) for name in names}
    return sa.update(table).where(table.c.id == sa.bindparam("row")).values(values)


def _chunks(values: list[T]) -> list[list[T]]:
    return [values[i : i + _CHUNK] for i in range(0, len(values), _CHUNK)]
