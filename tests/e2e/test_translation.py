"""Official SDKs in front of a provider that speaks another protocol: text, thinking and tool calls arrive whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest

from tests.e2e.program import MetaClaw
from tests.e2e.test_sdks import CHAT_TOOLS, MESSAGES_TOOLS, PARALLEL, RESPONSES_TOOLS
from tests.scripted_upstream import ScriptedUpstream

Calls = list[tuple[str, str, Any]]  # id, name, arguments
QUESTION: Any = [{"role": "user", "content": "weather?"}]
RESULT = "sunny"


def chat(url: str, *, stream: bool) -> tuple[str, Calls, str]:
    """First answer's text and calls, and the text after the tools have run, in chat completions."""
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="sk-any", max_retries=0)
    asked: Any = {"model": "scripted-model", "tools": CHAT_TOOLS}
    if stream:
        with client.chat.completions.stream(messages=QUESTION, **asked) as events:
            message: Any = events.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(messages=QUESTION, **asked).choices[0].message
    made = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]
    results: Any = [{"role": "tool", "tool_call_id": ident, "content": RESULT} for ident, *_ in made]
    turn: Any = {
        "role": "assistant",
        "content": message.content,
        "tool_calls": [c.model_dump() for c in message.tool_calls],
    }
    after = client.chat.completions.create(messages=[*QUESTION, turn, *results], **asked)
    return message.content, made, after.choices[0].message.content or ""


def responses(url: str, *, stream: bool) -> tuple[str, Calls, str]:
    """The same in responses."""
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="sk-any", max_retries=0)
    asked: Any = {"model": "scripted-model", "tools": RESPONSES_TOOLS}
    if stream:
        with client.responses.stream(input=QUESTION, **asked) as events:
            answer: Any = events.get_final_response()
    else:
        answer = client.responses.create(input=QUESTION, **asked)
    called = [item for item in answer.output if item.type == "function_call"]
    made = [(item.call_id, item.name, json.loads(item.arguments)) for item in called]
    history: Any = [
        *QUESTION,
        *(item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output),
    ]
    history += [{"type": "function_call_output", "call_id": ident, "output": RESULT} for ident, *_ in made]
    return answer.output_text, made, client.responses.create(input=history, **asked).output_text


def messages(url: str, *, stream: bool) -> tuple[str, Calls, str]:
    """The same in Anthropic messages."""
    client = anthropic.Anthropic(base_url=url, api_key="sk-any", max_retries=0)
    asked: Any = {"model": "scripted-model", "max_tokens": 999, "tools": MESSAGES_TOOLS}
    if stream:
        with client.messages.stream(messages=QUESTION, **asked) as events:
            answer: Any = events.get_final_message()
    else:
        answer = client.messages.create(messages=QUESTION, **asked)
    text = "".join(block.text for block in answer.content if block.type == "text")
    made = [(block.id, block.name, block.input) for block in answer.content if block.type == "tool_use"]
    results: Any = [{"type": "tool_result", "tool_use_id": ident, "content": RESULT} for ident, *_ in made]
    turn: Any = {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]}
    after: Any = client.messages.create(messages=[*QUESTION, turn, {"role": "user", "content": results}], **asked)
    return text, made, after.content[0].text


Client = Callable[..., tuple[str, Calls, str]]
CLIENTS: dict[str, Client] = {"chat": chat, "responses": responses, "messages": messages}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("plain_gateway", ["chat", "responses", "messages"], indirect=True)
@pytest.mark.parametrize("spoken", CLIENTS)
def test_parallel_tool_calls_and_their_results_cross_protocols(
    provider: ScriptedUpstream, plain_gateway: MetaClaw, spoken: str, stream: bool
) -> None:
    provider.reset()
    provider.rule("weather", PARALLEL, "Sunny in both.")
    text, made, after = CLIENTS[spoken](plain_gateway.url, stream=stream)
    assert text == PARALLEL.text
    assert [(name, arguments) for _, name, arguments in made] == [
        (call.name, json.loads(call.arguments)) for call in PARALLEL.tool_calls
    ]
    assert made[1][0] == PARALLEL.tool_calls[1].id
    assert after == "Sunny in both."
    ids = {ident for ident, *_ in made}
    assert all(ident.encode() in provider.calls()[-1].body for ident in ids)
