"""The statements of the writer, compiled once, and the one transaction that they make up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from .plan import Known, Plan, Row, SessionState
from .records import Call, Feedback, Item, SessionEnd
from .schema import calls, cursors, events, injections, messages, numbering, sessions, turns

_WIDTHS = (1, 4, 16, 64, 256)
_WIDEST = _WIDTHS[-1]
_SESSION_KEPT = ("id", "started_at")
_SESSION_STATE = (
    sessions.c.id,
    sessions.c.turns,
    sessions.c.last_at,
    sessions.c.ended_at,
    sessions.c.end_reason,
)

_TURN_STATE = (
    turns.c.session_id,
    turns.c.key,
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
_TURN_NAMES = tuple(c.name for c in _TURN_STATE[2:])


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
        self._turns = self._compiled(_update(turns, *(name for name in _TURN_NAMES if name not in ("id", "number"))))
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
        self._lock = self._compiled(sa.select(numbering.c.turn, numbering.c.event).with_for_update())
        self._newest = self._compiled(
            sa.select(sa.func.max(turns.c.id)).where(turns.c.session_id == sa.bindparam("id"))
        )
        self._lookups: dict[tuple[str, int], str] = {}

    def write(self, cursor: Any, items: Sequence[Item]) -> None:
        """Write the items, in order, through the driver's cursor; the caller begins the transaction and commits it."""
        plan = Plan(self._known(cursor, items))
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
                cursor.executemany(statement, rows)
        if (plan.turn, plan.event) != before:
            cursor.execute(self._numbering, {"turn": plan.turn, "event": plan.event})

    def advance(self, cursor: Any, reader: str, position: int) -> None:
        """Move a reader's cursor forward; never back."""
        cursor.execute(self._cursor, {"reader": reader, "position": position})

    def _compiled(self, statement: sa.Select[Any] | sa.Insert | sa.Update, skip: str = "") -> str:
        keys = None
        if isinstance(statement, sa.Insert) or skip:
            keys = [c.name for c in statement.table.c if c.name != skip]  # type: ignore[union-attr]
        return str(statement.compile(dialect=self._dialect, column_keys=keys))

    def _known(self, cursor: Any, items: Sequence[Item]) -> Known:
        """Lock the numbering, then read what the items touch."""
        known = Known(*cursor.execute(self._lock).fetchone())
        ids = {item.session.id if isinstance(item, Call) else item.session_id for item in items}
        for id, *state in self._found(cursor, _SESSION_STATE, (sessions.c.id,), [(id,) for id in ids]):
            known.sessions[id] = SessionState(*state)
        keys = {
            (item.session.id, item.turn_key)
            for item in items
            if isinstance(item, Call) and item.kind == "main" and item.session.id in known.sessions
        }
        for session_id, key, *values in self._found(cursor, _TURN_STATE, (turns.c.session_id, turns.c.key), list(keys)):
            known.turns[session_id, key] = _known_turn(values)
        ended = {item.session_id for item in items if isinstance(item, SessionEnd)} & known.sessions.keys()
        left = {id for id, key in keys if (id, key) not in known.turns} | ended
        places = [(id, known.sessions[id].turns) for id in left]
        columns = (turns.c.session_id, turns.c.number)
        for session_id, key, *values in self._found(cursor, _TURN_STATE, columns, places):
            known.latest[session_id] = known.turns.setdefault((session_id, key), _known_turn(values))
        asked = {item.session_id for item in items if isinstance(item, Feedback) and item.turn_id is None}
        for id in asked & known.sessions.keys():
            known.newest[id] = cursor.execute(self._newest, {"id": id}).fetchone()[0]
        return known

    def _found(
        self, cursor: Any, columns: tuple[sa.Column[Any], ...], by: tuple[sa.Column[Any], ...], keys: list[Any]
    ) -> Iterator[Any]:
        """The rows with these keys, asked for in few sizes so that the driver knows the statements already."""
        while keys:
            part, keys = keys[:_WIDEST], keys[_WIDEST:]
            width = next(w for w in _WIDTHS if w >= len(part))
            part += part[-1:] * (width - len(part))
            values = {f"p{i}_{j}": value for i, key in enumerate(part) for j, value in enumerate(key)}
            yield from cursor.execute(self._lookup(columns, by, width), values).fetchall()

    def _lookup(self, columns: tuple[sa.Column[Any], ...], by: tuple[sa.Column[Any], ...], width: int) -> str:
        name = by[-1].name, width
        if name not in self._lookups:
            keys = [[c == sa.bindparam(f"p{i}_{j}") for j, c in enumerate(by)] for i in range(width)]
            # Spelled with OR: SQLite would answer an IN of tuples by reading the whole table.
            self._lookups[name] = self._compiled(sa.select(*columns).where(sa.or_(*(sa.and_(*key) for key in keys))))
        return self._lookups[name]


def _known_turn(values: Sequence[Any]) -> Row:
    row: Row = dict(zip(_TURN_NAMES, values, strict=True))
    row["row"] = row["id"]
    return row


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
