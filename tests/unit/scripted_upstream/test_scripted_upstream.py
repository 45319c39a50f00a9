"""The scripted upstream behaves like a provider: official clients, faults, cache counts, no loops."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import openai
import pytest

from tests.scripted_upstream import Reply, Script, ScriptedUpstream, ToolCall
from tests.scripted_upstream.cache import LEAST, PromptCache
from tests.scripted_upstream.reading import read

TOOLS: list[Any] = [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}]


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as server:
        yield server


@pytest.fixture
def client(upstream: ScriptedUpstream) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=upstream.base_url, api_key="sk-test", max_retries=0) as made:
        yield made


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def test_interleaved_parallel_tool_calls_reach_the_client_whole(
    upstream: ScriptedUpstream, client: openai.OpenAI
) -> None:
    calls = (ToolCall("ls", '{"path":"/one"}'), ToolCall("ls", '{"path":"/two"}', "functions.ls:1"))
    upstream.rule("list", Reply(tool_calls=calls, interleave=True))
    with client.chat.completions.stream(model="m", messages=user("list both"), tools=TOOLS) as stream:
        indexes = [
            call.index
            for event in stream
            if event.type == "chunk"
            for call in event.chunk.choices[0].delta.tool_calls or []
        ]
        message = stream.get_final_completion().choices[0].message
    assert [call.function.arguments for call in message.tool_calls or []] == [call.arguments for call in calls]
    assert (message.tool_calls or [])[1].id == "functions.ls:1"
    assert indexes[:4] == [0, 1, 0, 1]


def test_thinking_keeps_its_signature(upstream: ScriptedUpstream) -> None:
    upstream.rule("why", Reply(text="Because.", reasoning="Let me think.", signature="c2ln"))
    client = anthropic.Anthropic(base_url=upstream.url, api_key="sk-test", max_retries=0)
    with client.messages.stream(model="m", max_tokens=99, messages=[{"role": "user", "content": "why?"}]) as stream:
        blocks = stream.get_final_message().content
    assert [block.type for block in blocks] == ["thinking", "text"]
    assert blocks[0].type == "thinking" and blocks[0].signature == "c2ln"


def test_a_tool_call_is_scripted_once_for_each_user_message(upstream: ScriptedUpstream, client: openai.OpenAI) -> None:
    upstream.tool("files", "ls", then="Two files.")
    history = user("which files?")
    first = client.chat.completions.create(model="m", messages=history, tools=TOOLS).choices[0].message
    assert first.tool_calls
    history += [
        first.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "a b"},
        {"role": "user", "content": [{"type": "text", "text": "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> none"}]},
    ]
    second = client.chat.completions.create(model="m", messages=history, tools=TOOLS).choices[0].message
    assert second.content == "Two files." and not second.tool_calls


def test_a_client_that_loses_tool_results_does_not_loop_for_ever(upstream: ScriptedUpstream) -> None:
    upstream.tool("files", "ls")
    body = {"model": "m", "messages": user("files"), "tools": TOOLS}
    script, asked = upstream.script, read("chat", body)
    answers = [bool(script.reply(asked)[1].tool_calls) for _ in range(60)]
    assert any(answers) and not any(answers[50:])


def test_faults_are_faults_on_the_wire(upstream: ScriptedUpstream) -> None:
    upstream.rule("busy", Reply(status=429, error="slow down", headers={"Retry-After": "17"}))
    upstream.rule("late error", Reply(text="one two three", error="exploded", error_after=2))
    upstream.rule("cut", Reply(text="one two three", break_after=2))
    with httpx.Client(base_url=upstream.base_url) as http:
        busy = http.post("/chat/completions", json={"model": "m", "messages": user("busy")})
        assert (busy.status_code, busy.headers["retry-after"]) == (429, "17")
        late = http.post("/chat/completions", json={"model": "m", "messages": user("late error"), "stream": True})
        assert late.status_code == 200 and "exploded" in late.text and "[DONE]" not in late.text
        with pytest.raises(httpx.RemoteProtocolError):
            http.post("/chat/completions", json={"model": "m", "messages": user("cut"), "stream": True})


def test_it_records_raw_bytes_and_a_client_that_hangs_up(upstream: ScriptedUpstream) -> None:
    upstream.rule("slow", Reply(text="a b c d e f", pace_ms=100_000))
    body = b'{"model":"m", "stream":true,  "messages":[{"role":"user","content":"slow \\ud83d"}]}'
    url = f"{upstream.base_url}/chat/completions"
    with httpx.stream("POST", url, content=body, headers={"X-Thing": "1"}) as response:
        next(response.iter_raw())
    upstream.wait(lambda seen: seen.requests[0].ended)
    assert upstream.requests[0].hung_up
    assert upstream.requests[0].body == body
    assert upstream.requests[0].header("x-thing") == "1"
    assert json.loads(upstream.requests[0].line())["body"].encode() == body


def test_an_automatic_cache_reads_the_longest_prefix_in_steps_of_128() -> None:
    cache, long = PromptCache(), b"x" * 8000
    assert cache.automatic([(long, False)]).cached == 0
    again = cache.automatic([(long, False), (b"y" * 400, False)])
    assert again.cached == 8000 // 4 // 128 * 128 and again.prompt == 2100
    assert cache.automatic([(b"z" + long, False)]).cached == 0
    assert cache.automatic([(long[: LEAST * 2], False)]).cached == 0


def test_a_marked_cache_reads_and_writes_at_marks_only() -> None:
    cache = PromptCache()
    system, first, second = b"s" * 8000, b"a" * 400, b"b" * 400
    counted = cache.marked([(system, True), (first, True)])
    assert (counted.cached, counted.written) == (0, 2100)
    counted = cache.marked([(system, True), (first, False), (second, True)])
    assert (counted.cached, counted.written) == (2100, 100)
    assert cache.marked([(system + b"!", True), (first, True)]).cached == 0


def test_a_script_can_come_from_json() -> None:
    rules = [{"when": "go (\\w+)", "replies": [{"tool_calls": [{"name": "run", "arguments": '{"it":"\\1"}'}]}]}]
    script = Script.from_json(json.dumps(rules))
    _, reply = script.reply(read("chat", {"messages": user("go home")}))
    assert reply.tool_calls[0].arguments == '{"it":"home"}'
