"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """What was said: sessions, turns, messages, calls, injections. What readers follow: events and cursors."""
    _sessions()
    _turns()
    _messages()
    _calls()
    _injections()
    _numbering()
    _events()
    _cursors()


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False, server_default="")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")


def _number(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=False)


def _bytes(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=False)


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text(), nullable=False),
        _text("client_id"),
        _text("claw"),
        _text("user_id"),
        _text("workspace_id"),
        _text("scope"),
        _text("protocol"),
        _text("model"),
        _bytes("opening"),
        _bytes("head"),
        _number("started_at"),
        _number("last_at"),
        sa.Column("ended_at", sa.Double(), nullable=True),
        _text("end_reason"),
        _count("turns"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_last_at", "sessions", ["last_at"])
    op.create_index("ix_sessions_ended_at_last_at", "sessions", ["ended_at", "last_at"])
    op.create_index("ix_sessions_opening", "sessions", ["opening"])


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", Id, autoincrement=False, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        _bytes("key"),
        _count("number"),
        _text("status"),
        _text("reported"),
        _text("user_text"),
        _text("answer_text"),
        _text("model"),
        _number("started_at"),
        sa.Column("finished_at", sa.Double(), nullable=True),
        _count("calls"),
        _text("recalled"),
        _count("prompt"),
        _count("cached"),
        _count("cache_write"),
        _count("completion"),
        _text("error"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_turns_session_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
        sa.UniqueConstraint("session_id", "key", name="uq_turns_session_id_key"),
    )
    op.create_index("ix_turns_session_id_number", "turns", ["session_id", "number"])


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("id", Id, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("turn_id", Id, nullable=True),
        _text("role"),
        _bytes("body"),
        _text("text"),
        _bytes("digest"),
        _bytes("chain"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_messages_session_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_messages_turn_id", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
        sa.UniqueConstraint("chain", "session_id", name="uq_messages_chain_session_id"),
    )
    op.create_index("ix_messages_session_id_id", "messages", ["session_id", "id"])
    op.create_index("ix_messages_turn_id", "messages", ["turn_id"])


def _calls() -> None:
    op.create_table(
        "calls",
        sa.Column("id", Id, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("turn_id", Id, nullable=True),
        _text("kind"),
        _text("side_reason"),
        _text("upstream"),
        _text("model"),
        _number("started_at"),
        sa.Column("first_byte_ms", sa.Double(), nullable=True),
        _number("duration_ms"),
        _number("added_ms"),
        _count("http_status"),
        _text("status"),
        sa.Column("final", sa.Boolean(), nullable=False),
        _text("finish_reason"),
        _text("error"),
        _count("prompt"),
        _count("cached"),
        _count("cache_write"),
        _count("completion"),
        _count("injected_tokens"),
        _text("request_id"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_calls_session_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_calls_turn_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_calls"),
    )
    op.create_index("ix_calls_session_id", "calls", ["session_id"])
    op.create_index("ix_calls_turn_id", "calls", ["turn_id"])


def _injections() -> None:
    op.create_table(
        "injections",
        sa.Column("session_id", sa.Text(), nullable=False),
        _bytes("anchor"),
        sa.Column("turn_id", Id, nullable=False),
        _text("block"),
        _text("items"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_injections_session_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", "anchor", name="pk_injections"),
    )


def _numbering() -> None:
    table = op.create_table(
        "numbering",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        _count("turn"),
        _count("event"),
        sa.PrimaryKeyConstraint("id", name="pk_numbering"),
    )
    op.bulk_insert(table, [{"id": 1, "turn": 0, "event": 0}])


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", Id, autoincrement=False, nullable=False),
        _text("kind"),
        _text("session_id"),
        sa.Column("turn_id", Id, nullable=True),
        _text("payload"),
        _number("at"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
    )
    op.create_index("ix_events_kind_id", "events", ["kind", "id"])


def _cursors() -> None:
    op.create_table(
        "cursors",
        sa.Column("reader", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("reader", name="pk_cursors"),
    )
