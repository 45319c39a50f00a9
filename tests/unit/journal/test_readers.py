"""Readers follow events in order, each once, from where they were."""

from __future__ import annotations

import pytest

from metaclaw.journal import Journal, SessionEnd

from .sample import START, Talk


@pytest.fixture
def told(journal: Journal) -> Journal:
    """A journal with five turns and an end."""
    talk = Talk()
    for number in range(5):
        journal.append(talk.exchange(f"question {number}"))
    journal.append(SessionEnd("talk", "idle", START)).result(10)
    return journal


def test_events_come_in_order_and_only_of_the_kinds_asked_for(told: Journal) -> None:
    events = told.events(0, kinds=["turn", "session_ended"], limit=100)
    assert [event.kind for event in events] == ["turn"] * 5 + ["session_ended"]
    assert [event.id for event in events] == sorted(event.id for event in events)
    assert told.events(events[3].id, kinds=["turn"], limit=100) == events[4:5]
    assert told.events(0, kinds=["session_ended", "turn"], limit=2) == events[:2]
    assert told.events(0, kinds=[], limit=2) == []


def test_a_cursor_starts_at_nothing_and_never_moves_back(told: Journal) -> None:
    assert told.cursor("skills") == 0
    told.advance("skills", 4)
    told.advance("skills", 2)
    assert told.cursor("skills") == 4
    assert told.cursor("memory") == 0


def test_a_reader_goes_on_behind_the_last_event_it_was_done_with(told: Journal) -> None:
    with told.reading("skills", kinds=["turn"], limit=3) as reading:
        for event in reading:
            reading.done(event)
    with told.reading("skills", kinds=["turn"]) as reading:
        assert [event.payload["number"] for event in reading] == [4, 5]


def test_what_failed_comes_again_and_what_was_done_does_not(told: Journal) -> None:
    def fail_at(number: int) -> None:
        with told.reading("memory", kinds=["turn"]) as reading:
            for event in reading:
                if event.payload["number"] == number:
                    raise OSError("the sidecar is down")
                reading.done(event)

    with pytest.raises(OSError, match="down"):
        fail_at(3)
    with told.reading("memory", kinds=["turn"]) as reading:
        assert [event.payload["number"] for event in reading] == [3, 4, 5]


def test_one_reader_reads_at_a_time_and_others_are_not_held_up(told: Journal) -> None:
    with told.reading("skills", kinds=["turn"]) as first, told.reading("skills", kinds=["turn"]) as second:
        assert len(first.events) == 5
        assert second.events == []
        with told.reading("memory", kinds=["turn"]) as other:
            assert len(other.events) == 5
    with told.reading("skills", kinds=["turn"]) as again:
        assert len(again.events) == 5


def test_a_reader_that_is_rewound_begins_anew(told: Journal) -> None:
    told.advance("memory", 6)
    told.rewind("memory")
    with told.reading("memory", kinds=["turn"]) as reading:
        assert len(reading.events) == 5


def test_two_processes_on_one_journal_share_the_numbering_and_the_claims(url: str, told: Journal) -> None:
    other = Journal.open(url)
    try:
        pending = [journal.append(Talk(f"t{number}").exchange()) for number in range(40) for journal in (told, other)]
        for future in pending:
            future.result(20)
        events = told.events(0, kinds=["turn", "session_started", "session_ended"], limit=1000)
        assert [event.id for event in events] == list(range(1, 6 + 1 + 40 + 40 + 1))
        if url.startswith("postgresql"):
            with told.reading("skills", kinds=["turn"]) as first, other.reading("skills", kinds=["turn"]) as second:
                assert (len(first.events), len(second.events)) == (45, 0)
    finally:
        other.close()
