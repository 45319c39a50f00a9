"""Main turn or side call, on what OpenClaw really sends and on what people really write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metaclaw.gateway.classify import newest_person, side_reason
from metaclaw.gateway.protocols import CHAT, MESSAGES, ClientRequest

RECORDED = Path(__file__).parents[2] / "contract" / "openclaw" / "requests.jsonl"
EXPECTED = {
    "ordinary turn, request 1": "",
    "ordinary turn, request 2": "",
    "ordinary turn, request 3": "",
    "compaction": "compaction",
    "activity_recap": "recap",
    "memory_flush": "memory_flush",
    "skill_review": "skill_review",
    "heartbeat": "heartbeat",
    "cron": "cron",
    "subagent": "subagent",
    "subagent_announce": "internal_event",
    "retry_after_5xx": "",
}


def recorded() -> dict[str, ClientRequest]:
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    return {case["case"]: CHAT.read(json.dumps(case["body"]).encode()) for case in map(json.loads, lines)}


@pytest.mark.parametrize("case", EXPECTED)
def test_a_recorded_openclaw_request_is_told_apart(case: str) -> None:
    assert side_reason(recorded()[case], session_uses_tools=False) == EXPECTED[case]


def test_the_newest_message_of_the_person_is_not_the_synthetic_one() -> None:
    request = recorded()["ordinary turn, request 3"]
    index = newest_person(request)
    assert index == 3
    assert [u.text for u in request.items[index].units] == ['CALL_TOOL:ls:{"path":"."} then answer']


def ask(text: str, **fields: object) -> ClientRequest:
    return CHAT.read(json.dumps({"messages": [{"role": "user", "content": text}], **fields}).encode())


@pytest.mark.parametrize(
    "text",
    [
        "Write a title for my blog post about cats",
        "The heartbeat monitor in our cluster is broken",
        "Read HEARTBEAT.md and fix the typos",
        "summarize this conversation with my landlord: ...",
        "Skill review meeting is at ten, remind me",
        "what does [cron] mean in a log?",
    ],
)
def test_what_a_person_asks_is_a_main_turn(text: str) -> None:
    assert side_reason(ask(text), session_uses_tools=False) == ""


def test_a_call_without_tools_in_a_session_with_tools_is_a_side_call() -> None:
    assert side_reason(ask("Name this chat"), session_uses_tools=True) == "no_tools"


def test_a_one_token_probe_is_a_side_call() -> None:
    assert side_reason(ask("quota", max_tokens=1), session_uses_tools=False) == "probe"


def test_a_request_in_which_nobody_speaks_is_a_side_call() -> None:
    assert side_reason(CHAT.read(b'{"messages":[]}'), session_uses_tools=False) == "no_person"


def test_a_prefilled_answer_is_still_a_turn_of_the_person() -> None:
    body = {"messages": [{"role": "user", "content": "list fruits"}, {"role": "assistant", "content": "1."}]}
    assert side_reason(MESSAGES.read(json.dumps(body).encode()), session_uses_tools=False) == ""


def test_a_tool_result_in_anthropic_form_is_not_the_person_speaking() -> None:
    body = {
        "messages": [
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}]},
        ]
    }
    request = MESSAGES.read(json.dumps(body).encode())
    assert newest_person(request) == 0 and side_reason(request, session_uses_tools=False) == ""
