"""Which conversation a request belongs to."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from metaclaw.gateway.capture import Capture
from metaclaw.gateway.classify import newest_person
from metaclaw.gateway.identity import Identity
from metaclaw.gateway.protocols import CHAT, ClientRequest
from metaclaw.gateway.sessions import Extent, Live, SessionTable, measure, spoken_digests

LONG = "Here is the long answer that only this conversation has: {}."


class Table:
    """A session table with the moves the gateway makes on it."""

    def __init__(self) -> None:
        self.sessions = SessionTable(lambda: 1000.0)

    def turn(self, messages: list[dict[str, Any]], answer: str | None, session_id: str = "") -> str:
        """A request comes in, is found or opened, and answered; the session's id."""
        live = self.ask(messages, session_id)
        self.reply(live, messages, answer)
        return live.id

    def ask(self, messages: list[dict[str, Any]], session_id: str = "") -> Live:
        request, extent = read(messages)
        live = self.sessions.get(session_id) if session_id else self.sessions.find(request, extent)
        live = live or self.sessions.open(request, Identity(session_id=session_id), extent)
        live.asked = extent.whole
        live.in_flight += 1
        self.sessions.note(live, [extent.whole])
        return live

    def reply(self, live: Live, messages: list[dict[str, Any]], answer: str | None) -> None:
        request, extent = read(messages)
        capture = Capture(request, live=live, extent=extent, status=200 if answer is not None else 502)
        message = {"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
        capture.feed(json.dumps({"choices": [message]}).encode() if answer is not None else b"bad gateway")
        call = capture.build()
        live.in_flight -= 1
        said = spoken_digests(CHAT.item(m.body) for m in call.messages if m.role == "assistant")
        self.sessions.note(live, [live.record.head], said)


def read(messages: list[dict[str, Any]]) -> tuple[ClientRequest, Extent]:
    request = CHAT.read(json.dumps({"messages": messages}).encode())
    person = newest_person(request)
    assert person is not None
    return request, measure(request, person)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def model(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_a_conversation_that_goes_on_is_one_session() -> None:
    table = Table()
    first = table.turn([user("a")], "1")
    second = table.turn([user("a"), model("1"), user("b")], "2")
    third = table.turn([user("a"), model("1"), user("b"), model("2"), user("c")], "3")
    assert first == second == third


def test_two_chats_that_begin_alike_stay_apart() -> None:
    table = Table()
    one, two = table.turn([user("hello")], "Hi!"), table.turn([user("hello")], "Hi!")
    assert one != two
    greeting = [user("hello"), model("Hi!")]
    a = table.turn([*greeting, user("about cats")], "Cats.")
    b = table.turn([*greeting, user("about dogs")], "Dogs.")
    assert {a, b} == {one, two}
    assert table.turn([*greeting, user("about cats"), model("Cats."), user("more")], "x") == a
    assert table.turn([*greeting, user("about dogs"), model("Dogs."), user("more")], "y") == b


def test_two_chats_in_flight_at_once_stay_apart() -> None:
    table = Table()
    one, two = table.ask([user("hello")]), table.ask([user("hello")])
    assert one.id != two.id


def test_a_first_message_that_failed_and_is_sent_again_is_the_same_session() -> None:
    table = Table()
    assert table.turn([user("hello")], None) == table.turn([user("hello")], "Hi!")


def test_an_answer_that_the_client_renders_differently_does_not_split_the_session() -> None:
    table = Table()
    first = table.turn([user("a")], "<think>hm</think>One, with thought")
    assert table.turn([user("a"), model("One, with thought"), user("b")], "2") == first


def test_an_edited_question_goes_on_in_its_session() -> None:
    table = Table()
    first = table.turn([user("a")], "1")
    table.turn([user("a"), model("1"), user("b")], "2")
    assert table.turn([user("a"), model("1"), user("b, but better")], "3") == first


def test_a_chat_from_elsewhere_that_begins_alike_is_not_taken_for_a_known_one() -> None:
    table = Table()
    table.turn([user("hello")], "Hi!")
    known = table.turn([user("hello"), model("Hi!"), user("cats")], "Cats.")
    other = [user("hello"), model("Hi!"), user("boats"), model(LONG.format("boats")), user("more")]
    assert table.turn(other, "x") != known


def test_a_compacted_history_goes_on_in_its_session() -> None:
    table = Table()
    talk = [user("plan my trip")]
    first = ""
    for n in range(4):
        answer = LONG.format(n)
        first = table.turn(talk, answer)
        talk = [*talk, model(answer), user(f"question {n}")]
    summary = user("The conversation history before this point was compacted into the following summary: trip.")
    assert table.turn([summary, *talk[-5:]], "9") == first


def test_a_merged_history_with_new_clocks_and_tool_ids_is_the_same_session() -> None:
    table = Table()
    call = {"id": "call_8", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
    talk = [user("[Tue 2026-12-01 03:17 UTC] list"), {"role": "assistant", "content": None, "tool_calls": [call]}]
    first = table.turn([talk[0]], None)
    table.turn([*talk, {"role": "tool", "tool_call_id": "call_8", "content": "a.txt"}], "One file.")
    renamed = {**call, "id": "call8", "function": {"name": "ls", "arguments": '{"path":"."}'}}
    parts = [{"type": "text", "text": "[Tue 2026-12-01 03:20 UTC] and now"}, {"type": "text", "text": "count"}]
    again = [
        {"role": "user", "content": [{"type": "text", "text": "list"}]},
        {"role": "assistant", "content": "", "tool_calls": [renamed]},
        {"role": "tool", "tool_call_id": "call8", "content": "a.txt"},
        model("One file."),
        {"role": "user", "content": parts},
    ]
    assert table.turn(again, "1") == first


def test_an_id_outranks_lineage() -> None:
    table = Table()
    one = table.turn([user("a")], "1", session_id="chat-1")
    assert one == "chat-1"
    assert table.turn([user("a"), model("1"), user("b")], "2", session_id="chat-2") == "chat-2"


@given(st.lists(st.tuples(st.integers(0, 2), st.text(min_size=1, max_size=6)), min_size=1, max_size=14))
def test_chats_that_take_turns_never_merge(steps: list[tuple[int, str]]) -> None:
    """Three chats over one table, each answered with what only it has, in any order of turns."""
    table = Table()
    talks: list[list[dict[str, Any]]] = [[], [], []]
    ids: list[set[str]] = [set(), set(), set()]
    for who, text in steps:
        talk = [*talks[who], user(f"{who} {text}")]
        answer = LONG.format(f"{who}-{len(talk)}")
        ids[who].add(table.turn(talk, answer))
        talks[who] = [*talk, model(answer)]
    assert all(len(found) <= 1 for found in ids)
    assert len(set.union(*ids)) == sum(1 for found in ids if found)
