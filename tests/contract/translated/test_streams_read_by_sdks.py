"""What the official SDKs make of our streams, whatever protocol the provider speaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest

from tests.contract.translated.provider_streams import CHAT_SIGNED, CHAT_TEXT, STREAMS, chat_chunk, chat_sse
from tests.contract.translated.serving import Served

_ASK = [{"role": "user", "content": "Find the cat."}]
_TEXT = "Ich schaue nach – moment 🐈."
_THOUGHT = "Let me think: 猫"
_CALLS = {
    "chat": [("functions.search:0", "search", {"q": '{"naïve"}'}), ("functions.read:1", "read", {"path": "a.txt"})],
    "messages": [("toolu_01A", "search", {"q": "naïve"}), ("toolu_01B", "now", {})],
    "responses": [("call_A", "search", {"q": "naïve"}), ("call_B", "read", {"path": "a.txt"})],
}


def _openai(server: Served) -> openai.OpenAI:
    return openai.OpenAI(api_key="sk-test", base_url=f"{server.url}/v1", max_retries=0)


def _anthropic(server: Served) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="sk-test", base_url=server.url, max_retries=0)


@pytest.mark.parametrize("wire", ["messages", "responses"])
def test_the_chat_sdk_reads_every_providers_stream(wire: str, provider_of: Callable[[str], Served]) -> None:
    server = provider_of(wire)
    server.provider.answer(STREAMS[wire])
    text, thought, reason, usage = "", "", None, None
    calls: dict[int, list[str]] = {}
    chunks = _openai(server).chat.completions.create(
        model="m", messages=_ASK, stream=True, stream_options={"include_usage": True}
    )
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            thought += (choice.delta.model_extra or {}).get("reasoning_content") or ""
            reason = choice.finish_reason or reason
            for part in choice.delta.tool_calls or ():
                known = calls.setdefault(part.index, ["", "", ""])
                known[0] += part.id or ""
                known[1] += part.function.name or ""
                known[2] += part.function.arguments or ""
    assert (text, thought, reason) == (_TEXT, _THOUGHT, "tool_calls")
    assert [(i, n, json.loads(a)) for i, n, a in calls.values()] == _CALLS[wire]
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (1000, 50, 1050)
    assert usage.prompt_tokens_details.cached_tokens == 600
    assert usage.prompt_tokens_details.cache_write_tokens == 100
    assert usage.completion_tokens_details.reasoning_tokens == 20


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_the_anthropic_sdk_reads_every_providers_stream(wire: str, provider_of: Callable[[str], Served]) -> None:
    server = provider_of(wire)
    server.provider.answer(STREAMS[wire])
    with _anthropic(server).messages.stream(model="m", max_tokens=100, messages=_ASK) as stream:
        kinds = [event.type for event in stream]
        message = stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert message.content[0].thinking == _THOUGHT
    assert message.content[0].signature
    assert message.content[1].text == _TEXT
    assert [(b.id, b.name, b.input) for b in message.content[2:]] == _CALLS[wire]
    assert message.stop_reason == "tool_use"
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (300, 600, 100)
    assert usage.output_tokens == 50
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"


@pytest.mark.parametrize("wire", ["chat", "messages"])
def test_the_responses_sdk_reads_every_providers_stream(wire: str, provider_of: Callable[[str], Served]) -> None:
    server = provider_of(wire)
    server.provider.answer(STREAMS[wire])
    with _openai(server).responses.stream(model="m", input="Find the cat.") as stream:
        events = list(stream)
        response = stream.get_final_response()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert response.status == "completed"
    assert response.output_text == _TEXT
    items = [item for item in response.output if item.type == "function_call"]
    assert [(i.call_id, i.name, json.loads(i.arguments)) for i in items] == _CALLS[wire]
    reasoning = [item for item in response.output if item.type == "reasoning"]
    assert reasoning[0].summary[0].text == _THOUGHT
    assert reasoning[0].encrypted_content
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (1000, 50)
    assert response.usage.input_tokens_details.cached_tokens == 600


def test_comments_crlf_and_missing_blanks_are_read(chat_provider: Served) -> None:
    chat_provider.provider.answer(CHAT_TEXT)
    with _anthropic(chat_provider).messages.stream(model="m", max_tokens=100, messages=_ASK) as stream:
        message = stream.get_final_message()
    assert message.content[0].text == "Hello, wörld"
    assert message.stop_reason == "end_turn"
    assert message.usage.output_tokens == 50


@pytest.mark.parametrize("asked", [None, {"include_usage": True}])
def test_usage_is_always_asked_for_and_relayed_only_on_request(
    messages_provider: Served, chat_provider: Served, asked: Any
) -> None:
    messages_provider.provider.answer(STREAMS["messages"])
    more = {"stream_options": asked} if asked else {}
    chunks = list(_openai(messages_provider).chat.completions.create(model="m", messages=_ASK, stream=True, **more))
    assert any(chunk.usage for chunk in chunks) is bool(asked)
    chat_provider.provider.answer(CHAT_TEXT)
    with _anthropic(chat_provider).messages.stream(model="m", max_tokens=9, messages=_ASK) as stream:
        stream.get_final_message()
    assert chat_provider.provider.asked[-1]["stream_options"] == {"include_usage": True}


def test_reasoning_comes_back_to_its_provider_as_it_was(chat_provider: Served) -> None:
    """OpenRouter's signed details survive the way through an Anthropic client."""
    client = _anthropic(chat_provider)
    chat_provider.provider.answer(CHAT_SIGNED)
    with client.messages.stream(model="m", max_tokens=99, messages=_ASK) as stream:
        message = stream.get_final_message()
    history = [*_ASK, {"role": "assistant", "content": message.content}, {"role": "user", "content": "And?"}]
    with client.messages.stream(model="m", max_tokens=99, messages=history) as stream:
        stream.get_final_message()
    sent = chat_provider.provider.asked[-1]["messages"][1]
    assert sent["reasoning"] == "First this."
    assert sent["reasoning_details"] == [
        {
            "type": "reasoning.text",
            "text": "First this.",
            "signature": "sig-router",
            "format": "anthropic-claude-v1",
            "index": 0,
        }
    ]


def test_anthropic_signatures_come_back_through_both_openai_protocols(messages_provider: Served) -> None:
    client = _openai(messages_provider)
    messages_provider.provider.answer(STREAMS["messages"])
    with client.responses.stream(model="claude-sonnet-4-5", input="Find the cat.") as stream:
        output = stream.get_final_response().output
    results = [
        {"type": "function_call_output", "call_id": "toolu_01A", "output": "found"},
        {"type": "function_call_output", "call_id": "toolu_01B", "output": "noon"},
    ]
    items = [item.model_dump(exclude_none=True) for item in output]
    with client.responses.stream(
        model="claude-sonnet-4-5", input=[{"role": "user", "content": "Find the cat."}, *items, *results]
    ) as stream:
        stream.get_final_response()
    blocks = messages_provider.provider.asked[-1]["messages"][1]["content"]
    assert blocks[0] == {"type": "thinking", "thinking": _THOUGHT, "signature": "EqQBsig=="}
    assert blocks[1] == {"type": "redacted_thinking", "data": "RVdhc=="}
    assert [block["type"] for block in blocks[2:]] == ["text", "tool_use", "tool_use"]

    chunks = client.chat.completions.create(model="claude-sonnet-4-5", messages=_ASK, stream=True)
    details = [d for c in chunks for d in (c.choices[0].delta.model_extra or {}).get("reasoning_details", ())]
    history = [*_ASK, {"role": "assistant", "content": "x", "reasoning_details": details}, *_ASK]
    list(client.chat.completions.create(model="claude-sonnet-4-5", messages=history, stream=True))
    assert messages_provider.provider.asked[-1]["messages"][1]["content"][:2] == blocks[:2]


def test_encrypted_reasoning_comes_back_through_an_anthropic_client(responses_provider: Served) -> None:
    client = _anthropic(responses_provider)
    responses_provider.provider.answer(STREAMS["responses"])
    with client.messages.stream(model="gpt-5.2", max_tokens=99, messages=_ASK) as stream:
        message = stream.get_final_message()
    with client.messages.stream(
        model="gpt-5.2", max_tokens=99, messages=[*_ASK, {"role": "assistant", "content": message.content}, *_ASK]
    ) as stream:
        stream.get_final_message()
    asked = responses_provider.provider.asked[-1]
    assert asked["input"][1] == {
        "type": "reasoning",
        "id": "rs_68b",
        "summary": [{"type": "summary_text", "text": _THOUGHT}],
        "encrypted_content": "gAAAAABo",
    }
    assert asked["include"] == ["reasoning.encrypted_content"]
    assert asked["store"] is False


def test_a_free_text_tool_is_called_through_a_chat_provider(chat_provider: Served) -> None:
    patch = "*** Begin Patch\n*** End Patch"
    chat_provider.provider.answer(
        chat_sse(
            chat_chunk(
                {
                    "tool_calls": [
                        {"index": 0, "id": "call_p", "function": {"name": "apply_patch", "arguments": '{"input": '}},
                        {"index": 1, "id": "call_m", "function": {"name": "mcp__db__query", "arguments": "{}"}},
                    ]
                }
            ),
            chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": json.dumps(patch) + "}"}}]}),
            chat_chunk({}, "tool_calls"),
        )
    )
    tools: list[Any] = [
        {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}},
        {
            "type": "namespace",
            "name": "mcp__db__",
            "description": "",
            "tools": [{"type": "function", "name": "query", "parameters": {"type": "object"}}],
        },
        {"type": "web_search"},
    ]
    stream = _openai(chat_provider).responses.create(model="m", input="Patch it.", tools=tools, stream=True)
    events = {event.type: event for event in stream}
    custom, call = events["response.completed"].response.output
    assert (custom.type, custom.name, custom.call_id, custom.input) == (
        "custom_tool_call",
        "apply_patch",
        "call_p",
        patch,
    )
    assert (call.name, call.namespace, call.call_id) == ("query", "mcp__db__", "call_m")
    assert events["response.custom_tool_call_input.done"].input == patch
    assert [t["function"]["name"] for t in chat_provider.provider.asked[-1]["tools"]] == [
        "apply_patch",
        "mcp__db__query",
    ]
