"""Trimming leaves out whole old turns and nothing else."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from metaclaw.gateway.protocols import CHAT
from metaclaw.gateway.trim import oldest_turns
from tests.scripted_upstream import ScriptedUpstream

turn = st.tuples(st.text(min_size=1, max_size=40), st.integers(0, 3), st.booleans())


def talk(turns: list[tuple[str, int, bool]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are an agent."}]
    for n, (text, calls, plain) in enumerate(turns):
        messages.append({"role": "user", "content": f"q{n} {text}"})
        for c in range(calls):
            call = {"id": f"c{n}-{c}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{n}-{c}", "content": text})
        if plain:
            messages.append({"role": "assistant", "content": f"a{n}"})
    return messages


@given(st.lists(turn, min_size=1, max_size=6), st.integers(0, 2000))
def test_no_tool_result_loses_its_call_and_the_newest_turn_stays(
    turns: list[tuple[str, int, bool]], limit: int
) -> None:
    messages = talk(turns)
    request = CHAT.read(json.dumps({"messages": messages}).encode())
    gone = oldest_turns(request, limit, len)
    kept = [m for i, m in enumerate(messages) if i not in gone]
    calls = {c["id"] for m in kept for c in m.get("tool_calls") or []}
    assert {m["tool_call_id"] for m in kept if m["role"] == "tool"} == calls
    assert kept[0]["role"] == "system" and any(m["content"] == f"q{len(turns) - 1} {turns[-1][0]}" for m in kept)
    if gone:
        assert sum(len(i.raw) for i in request.items) > limit


def test_a_configured_limit_reaches_the_upstream(gateway: Any, upstream: ScriptedUpstream) -> None:
    messages = talk([("word " * 300, 1, True), ("word " * 300, 1, True), ("now", 0, False)])
    gateway(max_context_tokens=1000).chat(messages)
    sent = json.loads(upstream.calls()[0].body)["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert sent[0] == messages[0] and sent[-1] == messages[-1]
