"""What the official SDKs make of our JSON answers, whatever protocol the provider speaks."""

from __future__ import annotations

import json
from collections.abc import Callable

import anthropic
import openai
import pytest

from tests.contract.translated.provider_streams import ANSWERS, CHAT_WHOLE, STREAMS
from tests.contract.translated.serving import Served

_ASK = [{"role": "user", "content": "Find the cat."}]
_TEXT = "Ich schaue nach – moment 🐈."
_THOUGHT = "Let me think: 猫"
_CALLS = {
    "chat": [("functions.search:0", "search", {"q": "naïve"}), ("functions.read:1", "read", {"path": "a.txt"})],
    "messages": [("toolu_01A", "search", {"q": "naïve"}), ("toolu_01B", "now", {})],
    "responses": [("call_A", "search", {"q": "naïve"}), ("call_B", "read", {"path": "a.txt"})],
}


@pytest.mark.parametrize("wire", ["messages", "responses"])
def test_the_chat_sdk_reads_every_providers_answer(wire: str, provider_of: Callable[[str], Served]) -> None:
    server = provider_of(wire)
    server.provider.answer(ANSWERS[wire])
    client = openai.OpenAI(api_key="sk-test", base_url=f"{server.url}/v1", max_retries=0)
    answer = client.chat.completions.create(model="m", messages=_ASK)
    choice = answer.choices[0]
    assert choice.message.content == _TEXT
    assert (choice.message.model_extra or {})["reasoning_content"] == _THOUGHT
    assert choice.finish_reason == "tool_calls"
    calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in choice.message.tool_calls or ()]
    assert calls == _CALLS[wire]
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (1000, 50)
    assert answer.usage.prompt_tokens_details.cached_tokens == 600


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_the_anthropic_sdk_reads_every_providers_answer(wire: str, provider_of: Callable[[str], Served]) -> None:
    server = provider_of(wire)
    server.provider.answer(ANSWERS[wire])
    client = anthropic.Anthropic(api_key="sk-test", base_url=server.url, max_retries=0)
    message = client.messages.create(model="m", max_tokens=100, messages=_ASK)
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert (message.content[0].thinking, message.content[1].text) == (_THOUGHT, _TEXT)
    assert [(b.id, b.name, b.input) for b in message.content[2:]] == _CALLS[wire]
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (300, 600)
    assert (message.usage.cache_creation_input_tokens, message.usage.output_tokens) == (100, 50)


@pytest.mark.parametrize("wire", ["chat", "messages"])
def test_the_responses_sdk_reads_every_providers_answer(wire: str, provider_of: Callable[[str], Served]) -> None:
    server = provider_of(wire)
    server.provider.answer(ANSWERS[wire])
    client = openai.OpenAI(api_key="sk-test", base_url=f"{server.url}/v1", max_retries=0)
    response = client.responses.create(model="m", input="Find the cat.")
    assert (response.status, response.output_text) == ("completed", _TEXT)
    calls = [(i.call_id, i.name, json.loads(i.arguments)) for i in response.output if i.type == "function_call"]
    assert calls == _CALLS[wire]
    assert response.output[0].type == "reasoning"
    assert response.output[0].summary[0].text == _THOUGHT
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.total_tokens) == (1000, 1050)


def test_a_provider_that_cannot_stream_still_serves_a_stream(chat_provider: Served) -> None:
    chat_provider.provider.answer(CHAT_WHOLE)
    client = anthropic.Anthropic(api_key="sk-test", base_url=chat_provider.url, max_retries=0)
    with client.messages.stream(model="m", max_tokens=100, messages=_ASK) as stream:
        message = stream.get_final_message()
    assert message.content[1].text == _TEXT
    assert message.usage.output_tokens == 50


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_a_provider_that_always_streams_still_serves_one_document(
    wire: str, provider_of: Callable[[str], Served]
) -> None:
    server = provider_of(wire)
    server.provider.answer(STREAMS[wire])
    client = anthropic.Anthropic(api_key="sk-test", base_url=server.url, max_retries=0)
    message = client.messages.create(model="m", max_tokens=100, messages=_ASK)
    assert message.content[1].text == _TEXT
    assert len(message.content) == 4
