"""What a turn is, however many calls it took, and how a session begins, ends and comes back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from metaclaw.journal import Event, Feedback, Journal, SessionEnd, Usage

from .sample import START, Talk, digest, injection

KINDS = ("session_started", "turn", "session_ended", "feedback")


def told(journal: Journal) -> list[tuple[str, dict[str, object]]]:
    return [(event.kind, event.payload) for event in journal.events(0, kinds=KINDS, limit=100)]


def write(journal: Journal, *items: object) -> None:
    for future in [journal.append(item) for item in items]:
        future.result(10)


def test_a_turn_is_there_once_its_future_is_done(journal: Journal) -> None:
    talk = Talk()
    write(journal, talk.exchange("What is a monad?"))
    (turn,) = journal.turns("talk", limit=10)
    assert (turn.number, turn.status, turn.user_text, turn.calls) == (1, "ok", "What is a monad?", 1)
    assert turn.answer_text == "About What is a monad?: so."
    assert turn.usage == Usage(100, 60, 10, 20)
    assert turn.started_at == START + 10
    assert turn.finished_at == START + 11.5
    assert journal.turn(turn.id) == turn


def test_the_messages_come_back_as_they_were_sent(journal: Journal) -> None:
    talk = Talk()
    write(journal, talk.exchange("one"), talk.exchange("two"))
    assert journal.messages("talk") == talk.said
    second = journal.turns("talk", limit=10)[1]
    assert journal.messages("talk", turn_id=second.id) == talk.said[2:]
    assert journal.chains("talk") == [message.chain for message in talk.said]


def test_all_calls_of_a_tool_loop_make_one_turn(journal: Journal) -> None:
    talk = Talk()
    write(
        journal,
        talk.call(("user", "List the files"), ("assistant", "I will look."), final=False, finish_reason="tool_calls"),
        talk.call(("tool", "a.txt"), ("assistant", "One more look."), new_turn=False, final=False),
    )
    (turn,) = journal.turns("talk", limit=10)
    assert (turn.status, turn.finished_at, turn.calls) == ("open", None, 2)
    assert told(journal)[1:] == []
    write(journal, talk.call(("tool", "b.txt"), ("assistant", "Two files."), new_turn=False))
    (turn,) = journal.turns("talk", limit=10)
    assert (turn.status, turn.answer_text, turn.user_text, turn.calls) == ("ok", "Two files.", "List the files", 3)
    assert turn.usage == Usage(300, 180, 30, 60)
    assert told(journal)[1:] == [("turn", {"status": "ok", "number": 1})]
    assert len(journal.messages("talk")) == 6


def test_a_retry_after_a_failure_is_the_same_turn_and_readers_hear_of_both_outcomes(journal: Journal) -> None:
    talk = Talk()
    write(journal, talk.failed("Try"))
    (turn,) = journal.turns("talk", limit=10)
    assert (turn.status, turn.error, turn.answer_text) == ("error", "overloaded", "")
    write(journal, talk.failed("Try", new_turn=False))
    write(journal, talk.call(("assistant", "Done."), new_turn=False))
    (turn,) = journal.turns("talk", limit=10)
    assert (turn.status, turn.error, turn.answer_text, turn.calls) == ("ok", "", "Done.", 3)
    assert [payload for kind, payload in told(journal) if kind == "turn"] == [
        {"status": "error", "number": 1},
        {"status": "ok", "number": 1},
    ]


def test_a_turn_that_came_out_well_is_told_once_even_if_it_is_asked_again(journal: Journal) -> None:
    talk = Talk()
    first = talk.exchange("Again")
    write(journal, first, replace(first, started_at=first.started_at + 5, answer_text="Differently."))
    (turn,) = journal.turns("talk", limit=10)
    assert (turn.calls, turn.answer_text) == (2, "Differently.")
    assert [kind for kind, _ in told(journal)].count("turn") == 1
    assert len(journal.messages("talk")) == 2


def test_a_failed_retry_does_not_wipe_the_answer_that_was_there(journal: Journal) -> None:
    talk = Talk()
    write(journal, talk.exchange("Keep"), talk.failed("Keep", new_turn=False))
    (turn,) = journal.turns("talk", limit=10)
    assert (turn.status, turn.answer_text) == ("error", "About Keep: so.")


def test_a_turn_that_the_client_left_is_aborted_and_not_told(journal: Journal) -> None:
    talk = Talk()
    write(journal, talk.exchange("Stop", status="aborted", final=False))
    (turn,) = journal.turns("talk", limit=10)
    assert turn.status == "aborted"
    assert turn.finished_at is not None
    assert [kind for kind, _ in told(journal)] == ["session_started"]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("how", ["a tool loop without an end", "the client left"])
def test_a_turn_that_is_left_behind_is_told_when_the_session_goes_on(
    journal: Journal, how: str, together: bool
) -> None:
    talk = Talk()
    ending = {"final": False, "finish_reason": "tool_calls"} if how.startswith("a tool") else {"status": "aborted"}
    items = [talk.exchange("Look it up", **ending), talk.exchange("Never mind")]
    for group in [items] if together else [[item] for item in items]:
        write(journal, *group)
    turns = [payload for kind, payload in told(journal) if kind == "turn"]
    assert turns == [{"status": "aborted", "number": 1}, {"status": "ok", "number": 2}]
    first, second = journal.turns("talk", limit=10)
    assert (first.status, second.status) == ("aborted", "ok") and first.finished_at is not None


@pytest.mark.parametrize("together", [True, False])
def test_a_turn_that_is_left_behind_is_told_ahead_of_the_end_of_its_session(journal: Journal, together: bool) -> None:
    talk = Talk()
    items = [talk.exchange("Look it up", final=False), SessionEnd("talk", "idle", START + 99)]
    for group in [items] if together else [[item] for item in items]:
        write(journal, *group)
    kinds = [kind for kind, _ in told(journal)]
    assert kinds == ["session_started", "turn", "session_ended"]
    write(journal, talk.call(("tool", "found"), ("assistant", "There."), new_turn=False))
    turns = [payload["status"] for kind, payload in told(journal) if kind == "turn"]
    assert turns == ["aborted", "ok"]


def test_the_same_key_in_another_session_is_another_turn(journal: Journal) -> None:
    key = digest("same")
    write(journal, Talk("a").exchange("x", turn_key=key), Talk("b").exchange("x", turn_key=key))
    assert [len(journal.turns(id, limit=10)) for id in "ab"] == [1, 1]


def test_a_side_call_makes_neither_turn_nor_message_nor_session(journal: Journal) -> None:
    talk = Talk()
    side = talk.exchange("Summarise", kind="side", side_reason="title", messages=[])
    write(journal, side)
    assert journal.session("talk") is None
    write(journal, talk.exchange("Real"), side)
    assert [turn.user_text for turn in journal.turns("talk", limit=10)] == ["Real"]
    assert len(journal.messages("talk")) == 2
    assert journal.written == 3


def test_a_hundred_messages_cost_only_what_each_turn_adds(journal: Journal) -> None:
    talk = Talk()
    for number in range(50):
        write(journal, talk.exchange(f"question {number} " + "x" * 1000))
    messages = journal.messages("talk")
    assert len(messages) == 100
    assert sum(len(message.body) for message in messages) == sum(len(message.body) for message in talk.said)


def test_messages_that_are_there_already_are_not_written_again(journal: Journal) -> None:
    talk = Talk()
    first = talk.exchange("one")
    second = talk.exchange("two")
    write(journal, first, replace(second, messages=[*first.messages, *second.messages]))
    assert journal.messages("talk") == talk.said


def test_a_session_is_announced_once_and_counts_its_turns(journal: Journal) -> None:
    talk = Talk()
    write(journal, talk.exchange("one"), talk.exchange("two"))
    session = journal.session("talk")
    assert session is not None
    assert (session.turns, session.head, session.opening) == (2, talk.chain, digest("hello"))
    assert (session.started_at, session.last_at, session.ended_at) == (START, START + 21.5, None)
    assert [kind for kind, _ in told(journal)] == ["session_started", "turn", "turn"]


def test_an_end_is_told_once_and_a_later_call_revives_the_session(journal: Journal) -> None:
    talk = Talk()
    end = SessionEnd("talk", "idle", START + 100)
    write(journal, talk.exchange("one"), end, end)
    session = journal.session("talk")
    assert session is not None
    assert (session.ended_at, session.end_reason) == (START + 100, "idle")
    write(journal, talk.exchange("two"))
    session = journal.session("talk")
    assert session is not None
    assert (session.ended_at, session.end_reason, session.turns) == (None, "", 2)
    write(journal, SessionEnd("talk", "header", START + 200))
    assert [entry for entry in told(journal) if entry[0].startswith("session")] == [
        ("session_started", {"claw": "openclaw", "protocol": "chat", "model": "kimi-k2", "scope": ""}),
        ("session_ended", {"reason": "idle", "turns": 1}),
        ("session_ended", {"reason": "header", "turns": 2}),
    ]


def test_the_end_of_an_unknown_session_is_nothing(journal: Journal) -> None:
    write(journal, SessionEnd("nobody", "idle", START))
    assert told(journal) == []


def test_feedback_without_a_turn_is_for_the_newest_one(journal: Journal) -> None:
    talk = Talk()
    write(journal, talk.exchange("one"))
    write(journal, talk.exchange("two"), Feedback("talk", 1.0, START, text="great"), Feedback("talk", -1.0, START, 1))
    write(journal, Feedback("talk", 0.5, START))
    events: list[Event] = journal.events(0, kinds=["feedback"], limit=10)
    assert [(event.turn_id, event.payload["score"]) for event in events] == [(2, 1.0), (1, -1.0), (2, 0.5)]
    assert events[0].payload == {"score": 1.0, "text": "great", "source": "user"}


def test_an_injection_is_kept_by_its_anchor_and_the_last_one_sent_counts(journal: Journal) -> None:
    talk = Talk()
    first = talk.exchange("one")
    kept = injection(talk)
    second = talk.exchange("two")
    other = injection(talk, "<recalled>Other.</recalled>")
    write(journal, replace(first, injection=kept, recalled=kept.items, injected_tokens=9))
    write(journal, replace(second, injection=other))
    assert journal.injections("talk") == [kept, other]
    assert journal.turns("talk", limit=1)[0].recalled == kept.items
    again = replace(other, block="<recalled>Newer.</recalled>")
    write(journal, replace(second, injection=again, started_at=second.started_at + 1))
    assert journal.injections("talk") == [kept, again]


def test_what_several_calls_of_a_turn_recalled_is_each_there_once(journal: Journal) -> None:
    talk = Talk()
    one, two = {"kind": "skill", "name": "one"}, {"kind": "memory", "id": "two"}
    write(journal, talk.exchange("x", recalled=[one], final=False))
    write(journal, talk.call(("assistant", "y"), new_turn=False, recalled=[one, two]))
    assert journal.turns("talk", limit=1)[0].recalled == [one, two]


@pytest.mark.parametrize(
    "text", ["nul \0 inside", "half a pair \ud83d", "\udc00\ud83d", "好的 \U0001f600", "'; DROP TABLE turns; --"]
)
def test_no_text_is_too_odd_to_be_written(journal: Journal, text: str) -> None:
    talk = Talk()
    items = [{"kind": "memory", "text": text}]
    write(journal, talk.exchange(text, error=text, recalled=items), SessionEnd("talk", text, START))
    write(journal, Feedback("talk", 1.0, START, text=text))
    (turn,) = journal.turns("talk", limit=1)
    assert turn.user_text.encode()
    assert len(turn.user_text) == len(text)
    assert json.loads(journal.messages("talk")[0].body)["content"] == text  # the body is bytes: exactly as sent
