"""The tables of the journal, and the revisions that led to them.

`metadata` is the newest shape; `migrations/` leads there from every earlier one, and a test holds the two together.
Ids of turns and events are given out by the one row of `numbering`. A writer locks that row for its whole
transaction, so ids become visible in order and a reader that remembers an id never misses a late one.
"""

from __future__ import annotations

import sqlalchemy as sa

REVISIONS = ("0001",)
REVISION = REVISIONS[-1]

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite's row id is spelled INTEGER


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def _time(name: str, *, nullable: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=nullable)


def _bytes(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary, nullable=False)


def _session(*, nullable: bool = False) -> sa.Column[str]:
    return sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=nullable)


def _turn(on_delete: str) -> sa.Column[int]:
    return sa.Column("turn_id", Id, sa.ForeignKey("turns.id", ondelete=on_delete), nullable=True)


numbering = sa.Table(
    "numbering",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    _count("turn"),
    _count("event"),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("client_id"),
    _text("claw"),
    _text("user_id"),
    _text("workspace_id"),
    _text("scope"),
    _text("protocol"),
    _text("model"),
    _bytes("opening"),
    _bytes("head"),
    _time("started_at"),
    _time("last_at"),
    _time("ended_at", nullable=True),
    _text("end_reason"),
    _count("turns"),
    sa.Index("ix_sessions_last_at", "last_at"),
    sa.Index("ix_sessions_ended_at_last_at", "ended_at", "last_at"),
    sa.Index("ix_sessions_opening", "opening"),
)

turns = sa.Table(
    "turns",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    _session(),
    _bytes("key"),
    _count("number"),
    _text("status"),
    _text("reported"),  # the status that readers were last told: '', 'ok' or 'error'
    _text("user_text"),
    _text("answer_text"),
    _text("model"),
    _time("started_at"),
    _time("finished_at", nullable=True),
    _count("calls"),
    _text("recalled"),  # JSON list
    _count("prompt"),
    _count("cached"),
    _count("cache_write"),
    _count("completion"),
    _text("error"),
    sa.UniqueConstraint("session_id", "key"),
    sa.Index("ix_turns_session_id_number", "session_id", "number"),
)

messages = sa.Table(
    "messages",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session(),
    _turn("SET NULL"),  # null: retention has emptied it, only its place in the conversation is left
    _text("role"),
    _bytes("body"),
    _text("text"),
    _bytes("digest"),
    _bytes("chain"),
    sa.UniqueConstraint("chain", "session_id"),
    sa.Index("ix_messages_session_id_id", "session_id", "id"),
    sa.Index("ix_messages_turn_id", "turn_id"),
)

calls = sa.Table(
    "calls",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _session(nullable=True),
    _turn("CASCADE"),
    _text("kind"),
    _text("side_reason"),
    _text("upstream"),
    _text("model"),
    _time("started_at"),
    _time("first_byte_ms", nullable=True),
    sa.Column("duration_ms", sa.Double, nullable=False),
    sa.Column("added_ms", sa.Double, nullable=False),
    _count("http_status"),
    _text("status"),
    sa.Column("final", sa.Boolean, nullable=False),
    _text("finish_reason"),
    _text("error"),
    _count("prompt"),
    _count("cached"),
    _count("cache_write"),
    _count("completion"),
    _count("injected_tokens"),
    _text("request_id"),
    sa.Index("ix_calls_session_id", "session_id"),
    sa.Index("ix_calls_turn_id", "turn_id"),
)

injections = sa.Table(
    "injections",
    metadata,
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("anchor", sa.LargeBinary, primary_key=True),
    sa.Column("turn_id", Id, nullable=False),  # which turn brought it; outlives that turn, as the session needs it
    _text("block"),
    _text("items"),  # JSON list
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    _text("kind"),
    _text("session_id"),
    sa.Column("turn_id", Id, nullable=True),
    _text("payload"),  # JSON object
    _time("at"),
    sa.Index("ix_events_kind_id", "kind", "id"),
)

cursors = sa.Table(
    "cursors",
    metadata,
    sa.Column("reader", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
)
