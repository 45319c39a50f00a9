"""What others find in the journal."""

from __future__ import annotations

import pytest

from metaclaw.journal import Journal, JournalError, SessionEnd

from .sample import START, Talk, digest


def fill(journal: Journal, *items: object) -> None:
    for future in [journal.append(item) for item in items]:
        future.result(10)


def talks(count: int) -> list[Talk]:
    return [Talk(f"talk{number}", at=START + 1000 * number) for number in range(count)]


def ids(sessions: list[object]) -> list[str]:
    return [session.id for session in sessions]  # type: ignore[attr-defined]


def test_sessions_come_newest_first_in_pages(journal: Journal) -> None:
    fill(journal, *(talk.exchange() for talk in talks(5)))
    first = journal.sessions(limit=2)
    assert ids(first) == ["talk4", "talk3"]
    assert ids(journal.sessions(limit=9, before=first[-1].last_at)) == ["talk2", "talk1", "talk0"]


def test_sessions_are_told_apart_by_whether_they_have_ended(journal: Journal) -> None:
    fill(journal, *(talk.exchange() for talk in talks(3)), SessionEnd("talk1", "idle", START))
    assert ids(journal.sessions(active=True)) == ["talk2", "talk0"]
    assert ids(journal.sessions(active=False)) == ["talk1"]


def test_idle_sessions_are_those_without_a_call_since_then_that_go_on(journal: Journal) -> None:
    fill(journal, *(talk.exchange() for talk in talks(3)), SessionEnd("talk0", "header", START))
    assert ids(journal.idle_sessions(START + 2000)) == ["talk1"]
    assert ids(journal.idle_sessions(START + 9000)) == ["talk1", "talk2"]


def test_a_session_is_found_by_its_opening(journal: Journal) -> None:
    fill(journal, *(talk.exchange() for talk in talks(3)))
    assert ids(journal.find_by_opening(digest("hello"), limit=2)) == ["talk2", "talk1"]
    assert journal.find_by_opening(digest("other")) == []


def test_sessions_are_found_by_any_chain_in_the_order_asked(journal: Journal) -> None:
    one, two = talks(2)
    fill(journal, one.exchange("x"), two.exchange("x"), one.exchange("more"))
    shared, own = two.said[0].chain, one.said[-1].chain
    found = journal.find_by_chain([own, digest("unknown"), shared, own])
    assert [(chain, session.id) for chain, session in found] == [(own, "talk0"), (shared, "talk1"), (shared, "talk0")]
    assert journal.find_by_chain([]) == []


def test_a_lineage_of_a_thousand_messages_is_found(journal: Journal) -> None:
    (talk,) = talks(1)
    fill(journal, talk.exchange("x"))
    chains = [digest(str(number)) for number in range(1000)] + [talk.chain]
    assert [session.id for _, session in journal.find_by_chain(chains)] == ["talk0"]


def test_turns_come_in_order_from_any_number_on(journal: Journal) -> None:
    (talk,) = talks(1)
    fill(journal, *(talk.exchange(f"question {number}") for number in range(1, 6)))
    assert [turn.number for turn in journal.turns("talk0", limit=2)] == [1, 2]
    assert [turn.user_text for turn in journal.turns("talk0", limit=9, after=3)] == ["question 4", "question 5"]


def test_what_is_not_there_is_not_found(journal: Journal) -> None:
    assert journal.session("x") is None
    assert journal.turn(1) is None
    assert journal.turns("x", limit=1) == journal.messages("x") == journal.chains("x") == journal.injections("x") == []
    assert journal.sessions() == []


def test_appending_after_close_fails_the_future_and_counts(journal: Journal) -> None:
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.append(Talk().exchange()).result(1)
    assert journal.dropped == 1
