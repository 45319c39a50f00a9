"""Trials: sessions with and without a skill, counted once each, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metaclaw.config.models import Evolve
from metaclaw.journal import Call, Journal, Session, SessionEnd, sqlite_url
from metaclaw.skills import Library, NotFound, Skill
from metaclaw.skills.lifecycle import Move
from metaclaw.skills.sequential import Arm
from metaclaw.skills.trials import RecordStore, Trials, assigned

from .shelf import SQL, document, propose

NAME = str(SQL["name"])


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal.open(sqlite_url(tmp_path / "journal.sqlite3"))
    yield opened
    opened.close()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "skills", builtin=False)


def session(journal: Journal, name: str, skill: Skill, arm: str, next_words: str) -> None:
    """A session of two turns: the skill was under test in the first one."""
    item: dict[str, Any] = {
        "kind": "skill",
        "name": skill.name,
        "version": skill.digest[:12],
        "score": 0.9,
        "tokens": 50,
    }
    item |= {"arm": arm} | ({"withheld": True} if arm == "control" else {})
    for number, (said, recalled) in enumerate((("Why is this query slow?", [item]), (next_words, []))):
        call = Call(
            session=Session(id=name, started_at=1.0, last_at=1.0), kind="main", turn_key=f"{number}".encode(),
            user_text=said, answer_text="Because.", started_at=100.0 + number, status="ok", final=True,
            recalled=recalled,
        )  # fmt: skip
        journal.append(call).result(10)
    journal.append(SessionEnd(name, "idle", 200.0)).result(10)


def many(journal: Journal, skill: Skill, count: int, with_it: str, without: str) -> None:
    for number in range(count):
        session(journal, f"with-{with_it[:3]}-{number}", skill, "treated", with_it)
        session(journal, f"without-{without[:3]}-{number}", skill, "control", without)


async def test_what_helps_becomes_active_with_its_evidence_in_the_log(library: Library, journal: Journal) -> None:
    skill = propose(library, document(SQL))
    many(journal, skill, 8, "Thanks, that was it.", "No, that's wrong.")
    (move,) = await Trials(library, journal, Evolve()).run_once()
    assert (move.stage, move.by) == ("active", "trial") and "good in 8 of 8 with it, 0 of 8 without" in move.reason
    assert library.get(NAME).stage == "active"
    record = RecordStore(library.user_dir).load().of(library.get(NAME))
    assert (record.evidence.treated, record.evidence.control) == (Arm(8, 8), Arm(8, 0))
    assert (record.recalled, record.tokens, record.last_used) == (8, 400, 100.0)


async def test_what_hurts_is_turned_down_and_what_turns_harmful_is_retired(library: Library, journal: Journal) -> None:
    skill = propose(library, document(SQL))
    library.decide(NAME, Move(1.0, NAME, "", "active", "person", "I like it"))
    many(journal, skill, 8, "No, that's wrong.", "Thanks, that was it.")
    (move,) = await Trials(library, journal, Evolve()).run_once()
    assert move.stage == "retired" and not library.get(NAME).enabled
    library.decide(NAME, Move(2.0, NAME, "", "trial", "person", "again"))
    (move,) = await Trials(library, journal, Evolve()).run_once()
    assert move.stage == "rejected"
    with pytest.raises(NotFound):
        library.get(NAME)


async def test_without_a_difference_the_trial_goes_on_until_its_end(library: Library, journal: Journal) -> None:
    skill = propose(library, document(SQL))
    many(journal, skill, 5, "Thanks, that was it.", "Thanks, all good.")
    assert await Trials(library, journal, Evolve(most_outcomes=6)).run_once() == []
    many(journal, skill, 2, "Great, go on.", "Fine, go on.")
    (move,) = await Trials(library, journal, Evolve(most_outcomes=6)).run_once()
    assert move.stage == "rejected" and "no effect was seen" in move.reason


async def test_a_session_counts_once_whenever_the_process_dies(
    library: Library, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill = propose(library, document(SQL))
    session(journal, "one", skill, "treated", "Thanks, that was it.")

    class Killed(BaseException):
        pass

    def dying(*_: object) -> None:
        raise Killed

    for _ in range(3):
        monkeypatch.setattr(Journal, "advance", dying)
        with pytest.raises(Killed):
            await Trials(library, journal, Evolve()).run_once()
        monkeypatch.undo()
    await Trials(library, journal, Evolve()).run_once()
    await Trials(library, journal, Evolve()).run_once()
    assert RecordStore(library.user_dir).load().of(skill).evidence.treated == Arm(1, 1)


async def test_another_version_has_a_record_of_its_own(library: Library, journal: Journal) -> None:
    first = propose(library, document(SQL))
    session(journal, "one", first, "treated", "Thanks, that was it.")
    second = propose(library, document(SQL, body="Shorter."), "Amend")
    session(journal, "two", second, "treated", "No, that's wrong.")
    await Trials(library, journal, Evolve()).run_once()
    records = RecordStore(library.user_dir).load()
    assert records.of(first).evidence.treated == Arm(1, 1) and records.of(second).evidence.treated == Arm(1, 0)


def test_a_session_is_in_one_arm_for_good_and_the_share_is_kept() -> None:
    sessions = [f"session-{number}" for number in range(4000)]
    got = [assigned(name, NAME, "abc", 0.5) for name in sessions]
    assert got == [assigned(name, NAME, "abc", 0.5) for name in sessions]
    assert 0.47 < sum(got) / len(got) < 0.53
    assert all(assigned(name, NAME, "abc", 1.0) for name in sessions)
    assert not any(assigned(name, NAME, "abc", 0.0) for name in sessions)
    other = [assigned(name, "another", "abc", 0.5) for name in sessions]
    assert 0.47 < sum(a == b for a, b in zip(got, other, strict=True)) / len(got) < 0.53
