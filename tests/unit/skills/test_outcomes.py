"""How a turn came out, from what was said next."""
# ruff: noqa: E501 - the lists are easier to read whole

from __future__ import annotations

import pytest

from metaclaw.journal.records import Event, Turn, Usage
from metaclaw.skills.outcomes import corrects, outcome


def turn(number: int, said: str, status: str = "ok") -> Turn:
    return Turn(
        id=number, session_id="s", number=number, status=status, user_text=said, answer_text="done", model="m",
        started_at=1.0, finished_at=2.0, calls=1, recalled=[], usage=Usage(), error="",
    )  # fmt: skip


CORRECTIONS = (
    "No, the date goes first.", "That's not what I asked for", "I told you to use underscores", "wrong file!",
    "You forgot the header again", "Again please, with the header", "still not right", "nope",
    "Nein, das Datum zuerst", "Falsch.", "Non, pas comme ça", "Te dije que no", "Нет, не так", "неправильно",
    "不对,日期应该在前面", "我说过要用下划线", "错了", "違います", "もう一度お願いします", "아니 날짜가 먼저야", "틀렸어",
)  # fmt: skip
OTHERS = (
    "Thanks!", "Great, now the next one.", "No problem, go on.", "Could you also add a table?", "What is the capital of Peru?",
    "Danke, weiter so", "Merci beaucoup", "谢谢", "很好,继续", "ありがとう", "고마워요", "Nothing else for today.", "Notes on the meeting: …",
    "Now do the second file the same way.", "",
)  # fmt: skip


@pytest.mark.parametrize("said", CORRECTIONS)
def test_a_correction_is_known_in_many_languages(said: str) -> None:
    assert corrects(said)
    assert outcome(turn(1, "Export the report please"), turn(2, said)) is False


@pytest.mark.parametrize("said", OTHERS)
def test_going_on_is_no_correction(said: str) -> None:
    assert not corrects(said)


def test_going_on_is_a_success_and_silence_tells_nothing() -> None:
    first = turn(1, "Export the report please")
    assert outcome(first, turn(2, "Thanks, now the summary")) is True
    assert outcome(first, None) is None
    assert outcome(turn(1, "Export", "error"), turn(2, "Thanks")) is None


def test_the_same_request_again_is_a_failure() -> None:
    first = turn(1, "Export the report of March as CSV please")
    assert outcome(first, turn(2, "export the report of march as CSV, please!")) is False


def test_explicit_feedback_outranks_what_was_said_and_the_newest_counts() -> None:
    first, second = turn(1, "Export the report please"), turn(2, "No, wrong")
    liked = Event(5, "feedback", "s", 1, {"score": 1.0}, 1.0)
    disliked = Event(6, "feedback", "s", 1, {"score": -1.0}, 2.0)
    elsewhere = Event(7, "feedback", "s", 9, {"score": 1.0}, 3.0)
    assert outcome(first, second, [liked]) is True
    assert outcome(first, turn(2, "Thanks"), [liked, disliked, elsewhere]) is False
