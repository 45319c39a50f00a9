"""What is written does not depend on how it was grouped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaclaw.journal import Call, Feedback, Injection, Item, Session, SessionEnd, Usage, sqlite_url
from metaclaw.journal.database import open_engine, writing
from metaclaw.journal.plan import clean, encode
from metaclaw.journal.schema import metadata
from metaclaw.journal.statements import Statements

from .sample import START, Talk

NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", "one", "two"])
SEEN = [message for talk in [Talk()] for number in range(6) for message in talk.exchange(str(number)).messages]
RECALLED = st.lists(st.fixed_dictionaries({"name": TEXTS}), max_size=2)


def calls() -> st.SearchStrategy[Call]:
    session = st.builds(Session, id=NAMES, claw=TEXTS, opening=st.just(b"o"), head=st.binary(max_size=2))
    return st.builds(
        Call,
        session=session,
        kind=st.sampled_from(["main", "main", "main", "side"]),
        turn_key=st.sampled_from([b"1", b"2", b"3"]),
        user_text=TEXTS,
        answer_text=TEXTS,
        messages=st.lists(st.sampled_from(SEEN), max_size=3),
        injection=st.none() | st.builds(Injection, st.sampled_from([b"x", b"y"]), TEXTS, RECALLED),
        recalled=RECALLED,
        model=TEXTS,
        started_at=st.floats(START, START + 100),
        duration_ms=st.floats(0, 1000),
        status=st.sampled_from(["ok", "ok", "error", "aborted"]),
        final=st.booleans(),
        error=TEXTS,
        usage=st.none() | st.builds(Usage, *[st.integers(0, 99)] * 4),
    )


ITEMS = st.lists(
    calls()
    | st.builds(SessionEnd, NAMES, TEXTS, st.floats(START, START + 100))
    | st.builds(Feedback, NAMES, st.floats(-1, 1), st.just(START), st.none() | st.integers(1, 3), TEXTS),
    min_size=1,
    max_size=14,
)


@pytest.fixture
def database(file: Path) -> sa.Engine:
    return open_engine(sqlite_url(file))


def contents(engine: sa.Engine, groups: list[list[Item]]) -> dict[str, list[Any]]:
    """All rows after these transactions, whose last one is then taken back, so that the next example starts empty."""
    statements = Statements(engine.dialect)
    with writing(engine.connect()) as connection:
        with connection.begin() as transaction:
            for group in groups:
                statements.write(connection.connection.cursor(), group)
            found = {}
            for name, table in metadata.tables.items():
                columns = [c for c in table.c if not (name in ("messages", "calls") and c.name == "id")]
                rows = connection.execute(sa.select(*columns).order_by(*table.primary_key)).all()
                found[name] = [tuple(row) for row in rows]
            transaction.rollback()
        return found


@given(items=ITEMS, data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_transaction_or_many_make_the_same_journal(database: sa.Engine, items: list[Item], data: Any) -> None:
    cut = data.draw(st.integers(0, len(items)))
    singly = contents(database, [[item] for item in items])
    assert contents(database, [items]) == singly
    assert contents(database, [group for group in (items[:cut], items[cut:]) if group]) == singly


@given(items=ITEMS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_counts_of_a_journal_agree_with_its_rows(database: sa.Engine, items: list[Item]) -> None:
    found = contents(database, [items])
    column = {name: {c.name: i for i, c in enumerate(table.c)} for name, table in metadata.tables.items()}
    turn_of, session_of = column["turns"], column["sessions"]
    main = [item for item in items if isinstance(item, Call) and item.kind == "main"]
    assert {row[session_of["id"]] for row in found["sessions"]} == {call.session.id for call in main}
    assert len(found["calls"]) == sum(isinstance(item, Call) for item in items)
    assert sum(row[turn_of["calls"]] for row in found["turns"]) == len(main)
    assert sum(row[turn_of["prompt"]] for row in found["turns"]) == sum(c.usage.prompt for c in main if c.usage)
    for row in found["sessions"]:
        own = [turn for turn in found["turns"] if turn[turn_of["session_id"]] == row[session_of["id"]]]
        assert sorted(turn[turn_of["number"]] for turn in own) == list(range(1, row[session_of["turns"]] + 1))
    kinds = [row[column["events"]["kind"]] for row in found["events"]]
    assert kinds.count("session_started") == len(found["sessions"])
    assert found["numbering"] == [(1, len(found["turns"]), len(found["events"]))]


@given(st.text(st.characters()) | st.text(st.sampled_from("a\0\ud800\udc00é")))
def test_cleaned_text_can_be_encoded_and_keeps_what_was_right(text: str) -> None:
    cleaned = clean(text)
    assert "\0" not in cleaned
    cleaned.encode()
    assert clean(cleaned) == cleaned
    if "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text):
        assert cleaned == text


def test_values_with_broken_text_are_still_json() -> None:
    broken: dict[str, Any] = {"a\ud800": ["x\0", {"b": "\udfff"}, 1, None]}
    assert msgspec.json.decode(encode(broken)) == {"a\ufffd": ["x\ufffd", {"b": "\ufffd"}, 1, None]}
    assert encode([]) == "[]"
