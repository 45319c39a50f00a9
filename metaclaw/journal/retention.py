"""Forgets what is older than a given time, and gives the space back; in steps too small to hold up the writer.

A session that is still going on keeps, of its old messages, their place in the conversation (chain and digest) without
their content: the client goes on sending them, and they must not look new. Its injections stay too.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

import sqlalchemy as sa

from .schema import calls, events, messages, sessions, turns

Step = Callable[[sa.Connection], int]
Run = Callable[[Step], "Future[int]"]

_TURNS = 25
_ROWS = 200
_SESSIONS = 25
_PAGES = 64


def delete_before(run: Run, when: float) -> int:
    """Delete turns that began before `when` and all that hangs on them; returns how many turns that were."""
    deleted = _repeat(run, partial(_delete_turns, when=when))
    _repeat(run, partial(_delete_oldest, table=calls, time=calls.c.started_at, when=when))
    _repeat(run, partial(_delete_oldest, table=events, time=events.c.at, when=when))
    _repeat(run, partial(_delete_sessions, when=when))
    return deleted


def vacuum(run: Run, engine: sa.Engine) -> None:
    """Give free space back to the disk."""
    if engine.dialect.name == "sqlite":
        _repeat(run, _release_pages)
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in (turns, messages, calls, events, sessions):
            connection.exec_driver_sql(f"VACUUM (ANALYZE) {table.name}")


def _repeat(run: Run, step: Step) -> int:
    """One step after the other until one finds nothing; each is a transaction, with the writer's own between them."""
    total = 0
    while done := run(step).result():
        total += done
    return total


def _delete_turns(connection: sa.Connection, when: float) -> int:
    front = sa.select(turns.c.id, turns.c.session_id, turns.c.started_at).order_by(turns.c.id).limit(_TURNS)
    old = [(id, session) for id, session, at in connection.execute(front) if at < when]
    if not old:
        return 0
    ids = [id for id, _ in old]
    over = sa.select(sessions.c.id).where(sessions.c.id.in_({s for _, s in old}), sessions.c.last_at < when)
    of_turns = messages.c.turn_id.in_(ids)
    connection.execute(sa.delete(messages).where(of_turns, messages.c.session_id.in_(over)))
    connection.execute(sa.update(messages).where(of_turns).values(body=b"", text="", turn_id=None))
    connection.execute(sa.delete(turns).where(turns.c.id.in_(ids)))
    return len(ids)


def _delete_oldest(connection: sa.Connection, table: sa.Table, time: sa.Column[float], when: float) -> int:
    front = sa.select(table.c.id, time).order_by(table.c.id).limit(_ROWS)
    ids = [id for id, at in connection.execute(front) if at < when]
    if ids:
        connection.execute(sa.delete(table).where(table.c.id.in_(ids)))
    return len(ids)


def _delete_sessions(connection: sa.Connection, when: float) -> int:
    """Sessions that are over, once their emptied messages are gone."""
    oldest = sa.select(sessions.c.id).where(sessions.c.last_at < when).order_by(sessions.c.last_at).limit(_SESSIONS)
    ids = list(connection.execute(oldest).scalars())
    if not ids:
        return 0
    left = sa.select(messages.c.id).where(messages.c.session_id.in_(ids)).limit(_ROWS)
    emptied = list(connection.execute(left).scalars())
    connection.execute(sa.delete(messages).where(messages.c.id.in_(emptied)))
    if len(emptied) < _ROWS:
        connection.execute(sa.delete(sessions).where(sessions.c.id.in_(ids)))
    return len(ids)


def _release_pages(connection: sa.Connection) -> int:
    free = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    connection.connection.cursor().execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()  # a page for each fetch
    return min(int(free), _PAGES)
