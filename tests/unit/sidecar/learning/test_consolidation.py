"""Tidying: near-duplicates, expiry, fading, old summaries; one run, one undo."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metaclaw_sidecar.errors import NotFound
from metaclaw_sidecar.learning import consolidate, undo
from metaclaw_sidecar.learning.likeness import likeness
from metaclaw_sidecar.records import Memory
from metaclaw_sidecar.store import Database, memories

_DAY = 86_400.0


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "memory.sqlite3")
    yield opened
    opened.close()


def keep(database: Database, text: str, kind: Any = "semantic", **more: Any) -> Memory:
    def work(tx: Any) -> Memory:
        return memories.insert(tx, memories.draft("ann", text, kind, tx.now, **{"origin": "extracted", **more}))

    return database.write(work).result()


def held(database: Database) -> dict[str, Memory]:
    with database.reading() as db:
        return {memory.content: memory for memory in memories.every(db, "ann")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user likes tea.", "User really likes the tea"),
        ("Ann’s dog is called Rex", "ann's dog is called REX!"),
        ("The user owns two cats", "The user owns two cat"),
    ],
)
def test_the_same_in_almost_the_same_words_is_alike(one: str, other: str) -> None:
    assert likeness(one) == likeness(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user likes tea.", "The user does not like tea."),
        ("The user lives in Paris.", "The user lived in Paris."),
        ("Tom loves Anna.", "Anna loves Tom."),
        ("The user has 2 cats.", "The user has 3 cats."),
        ("The user likes green tea.", "The user likes black tea."),
        ("The user drinks tea before work.", "The user drinks tea after work."),
        ("用户喜欢绿茶。", "用户不喜欢绿茶。"),
    ],
)
def test_what_differs_in_meaning_is_not(one: str, other: str) -> None:
    assert likeness(one) != likeness(other)


def test_near_duplicates_become_one_and_come_back(database: Database) -> None:
    keep(database, "The user likes tea.", subject="user")
    keep(database, "User really likes the tea", subject="user")
    keep(database, "Likes tea", subject="Tom")
    keep(database, "The user likes tea!", subject="user", kind="preference")
    before = held(database)
    outcome = consolidate(database, "ann", time.time())
    assert (outcome.superseded, outcome.reinforced) == (1, 1)
    now = held(database)
    assert now["User really likes the tea"].superseded_by == now["The user likes tea."].memory_id
    assert now["The user likes tea."].reinforcement_score == 1.0
    assert database.write(lambda tx: undo(tx, "ann", outcome.run_id)).result() == 2
    after = held(database)
    assert {name: (one.status, one.reinforcement_score) for name, one in after.items()} == {
        name: (one.status, one.reinforcement_score) for name, one in before.items()
    }
    with pytest.raises(NotFound):
        database.write(lambda tx: undo(tx, "ben", outcome.run_id)).result()


def test_what_has_expired_is_archived_and_what_is_pinned_stays(database: Database) -> None:
    past = time.time() - 10
    keep(database, "The trip ends on Sunday.", expires_at=past)
    keep(database, "The passport number is in the safe.", expires_at=past, pinned=True)
    outcome = consolidate(database, "ann", time.time())
    assert outcome.archived == 1
    assert held(database)["The trip ends on Sunday."].status == "archived"
    assert held(database)["The passport number is in the safe."].status == "active"


def test_events_fade_when_nobody_needs_them_and_what_somebody_is_does_not(database: Database) -> None:
    keep(database, "The user saw a heron.", kind="episodic")
    keep(database, "The user likes herons.", kind="preference")
    outcome = consolidate(database, "ann", time.time() + 90 * _DAY)
    assert outcome.decayed == 1
    assert held(database)["The user saw a heron."].importance == pytest.approx(0.45)
    assert held(database)["The user likes herons."].importance == 0.5


def test_summaries_of_long_ago_give_way(database: Database) -> None:
    for number in range(35):
        keep(
            database,
            f"Session {number}.",
            kind="working_summary",
            valid_from=float(number),
            source_session_id=str(number),
        )
    assert consolidate(database, "ann", time.time()).archived == 5
    left = [memory.content for memory in held(database).values() if memory.status == "active"]
    assert left == [f"Session {number}." for number in range(5, 35)]


def test_a_memory_that_changed_meanwhile_is_left_alone(database: Database) -> None:
    first = keep(database, "The user likes tea.")
    keep(database, "User likes the tea")
    outcome = consolidate(database, "ann", time.time())
    edited = next(one for one in held(database).values() if one.status == "active")
    database.write(lambda tx: memories.change(tx, edited, "edited", content="The user likes mate.")).result()
    restored = database.write(lambda tx: undo(tx, "ann", outcome.run_id)).result()
    assert restored == 1
    assert "The user likes mate." in held(database)
    assert first.scope_id == "ann"
