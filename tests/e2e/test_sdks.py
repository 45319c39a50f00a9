"""The official Python SDKs get the same through the gateway as from the provider itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import openai
import pytest

from tests.e2e.program import MetaClaw
from tests.scripted_upstream import Reply, ScriptedUpstream, ToolCall

FUNCTION = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CHAT_TOOLS: Any = [{"type": "function", "function": FUNCTION}]
RESPONSES_TOOLS: Any = [{"type": "function", **FUNCTION, "strict": False}]
MESSAGES_TOOLS: Any = [
    {"name": "weather", "description": FUNCTION["description"], "input_schema": FUNCTION["parameters"]}
]
PARALLEL = Reply(
    text="Two cities. ",
    reasoning="Both at once, then.",
    signature="c2lnbmF0dXJl",
    interleave=True,
    tool_calls=(ToolCall("weather", '{"city":"Reykjavík"}'), ToolCall("weather", '{"city":"京都"}', "functions.w:1")),
    extra={"x_vendor": {"kept": True}},
)
LONG = " ".join(["The prompt is long enough for a cache."] * 200)

Run = Callable[[Any], Any]


def user(text: str) -> Any:
    return [{"role": "user", "content": text}]


def chat(client: openai.OpenAI) -> Any:
    answer = client.chat.completions.with_raw_response.create(model="scripted-model", messages=user("SAY:hello"))
    return json.loads(answer.content)


def chat_stream(client: openai.OpenAI) -> Any:
    options: Any = {"include_usage": True}
    stream = client.chat.completions.create(
        model="scripted-model", messages=user("weather?"), tools=CHAT_TOOLS, stream=True, stream_options=options
    )
    return [chunk.model_dump() for chunk in stream]


def chat_stream_without_usage(client: openai.OpenAI) -> Any:
    stream = client.chat.completions.create(model="scripted-model", messages=user("SAY:a b c"), stream=True)
    return [chunk.model_dump() for chunk in stream]


def chat_tool_loop(client: openai.OpenAI) -> Any:
    messages = user("weather?")
    first = client.chat.completions.create(model="scripted-model", messages=messages, tools=CHAT_TOOLS)
    message = first.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    messages += [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in message.tool_calls or []]
    return client.chat.completions.create(model="scripted-model", messages=messages, tools=CHAT_TOOLS).model_dump()


def chat_cached_twice(client: openai.OpenAI) -> Any:
    asked = [client.chat.completions.create(model="scripted-model", messages=user(LONG)) for _ in range(2)]
    return [answer.usage.model_dump() if answer.usage else None for answer in asked]


def completions(client: openai.OpenAI) -> Any:
    return client.completions.create(model="scripted-model", prompt="SAY:old style").model_dump()


def embeddings(client: openai.OpenAI) -> Any:
    return client.embeddings.create(model="scripted-model", input=["one", "two"]).model_dump()


def models(client: openai.OpenAI) -> Any:
    return sorted(model.id for model in client.models.list())


def responses(client: openai.OpenAI) -> Any:
    answer = client.responses.with_raw_response.create(model="scripted-model", input="weather?", tools=RESPONSES_TOOLS)
    return json.loads(answer.content)


def responses_stream(client: openai.OpenAI) -> Any:
    stream = client.responses.create(model="scripted-model", input="weather?", tools=RESPONSES_TOOLS, stream=True)
    return [event.model_dump() for event in stream]


def refused(client: openai.OpenAI) -> Any:
    with pytest.raises(openai.RateLimitError) as caught:
        client.chat.completions.create(model="scripted-model", messages=user("too many"))
    error = caught.value
    return error.status_code, error.body, error.response.headers["retry-after"]


def error_in_stream(client: openai.OpenAI) -> Any:
    seen = []
    with pytest.raises(openai.APIError) as caught:
        for chunk in client.chat.completions.create(model="scripted-model", messages=user("late error"), stream=True):
            seen.append(chunk.model_dump())
    return seen, caught.value.message


def messages(client: anthropic.Anthropic) -> Any:
    answer = client.messages.with_raw_response.create(
        model="scripted-model", max_tokens=99, messages=user("weather?"), tools=MESSAGES_TOOLS
    )
    return answer.http_response.json()


def messages_stream(client: anthropic.Anthropic) -> Any:
    stream = client.messages.create(
        model="scripted-model", max_tokens=99, messages=user("weather?"), tools=MESSAGES_TOOLS, stream=True
    )
    return [event.model_dump() for event in stream]


def messages_tool_loop(client: anthropic.Anthropic) -> Any:
    history = user("weather?")
    first = client.messages.create(model="scripted-model", max_tokens=99, messages=history, tools=MESSAGES_TOOLS)
    blocks = [block.model_dump(exclude_none=True) for block in first.content]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "sunny"}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    history += [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    again = client.messages.create(model="scripted-model", max_tokens=99, messages=history, tools=MESSAGES_TOOLS)
    return again.model_dump()


def messages_cached_twice(client: anthropic.Anthropic) -> Any:
    system: Any = [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}]
    asked = [
        client.messages.create(model="scripted-model", max_tokens=9, system=system, messages=user("SAY:hi"))
        for _ in range(2)
    ]
    return [answer.usage.model_dump() for answer in asked]


def count_tokens(client: anthropic.Anthropic) -> Any:
    return client.messages.count_tokens(model="scripted-model", messages=user("how many?")).model_dump()


def script(provider: ScriptedUpstream) -> None:
    """The same script and an empty cache for each of two runs."""
    provider.reset()
    provider.rule("weather", PARALLEL, "Sunny in both.")
    provider.rule("too many", Reply(status=429, error="slow down", headers={"Retry-After": "17"}))
    provider.rule("late error", Reply(text="one two three", error="exploded", error_after=3))


def same(provider: ScriptedUpstream, run: Run, direct: Any, through: Any) -> None:
    """Run once against the provider, once through the gateway, and compare."""
    script(provider)
    expected = run(direct)
    sent = [json.loads(call.body) for call in provider.calls()]
    script(provider)
    assert run(through) == expected
    assert [without_usage_wish(call.body) for call in provider.calls()] == [without_usage_wish(body) for body in sent]


def without_usage_wish(body: Any) -> Any:
    """A request without `stream_options`: the gateway always asks for usage."""
    parsed = json.loads(body) if isinstance(body, bytes) else body
    return {name: value for name, value in parsed.items() if name != "stream_options"}


OPENAI_CHAT = [
    chat, chat_stream, chat_stream_without_usage, chat_tool_loop, chat_cached_twice, completions, embeddings, models,
    refused, error_in_stream,
]  # fmt: skip
RESPONSES = [responses, responses_stream]
ANTHROPIC = [messages, messages_stream, messages_tool_loop, messages_cached_twice, count_tokens]


@pytest.mark.parametrize("run", OPENAI_CHAT, ids=lambda run: run.__name__)
def test_openai_sdk_on_chat_completions(provider: ScriptedUpstream, plain_gateway: MetaClaw, run: Run) -> None:
    same(provider, run, *openai_clients(provider, plain_gateway))


@pytest.mark.parametrize("plain_gateway", ["responses"], indirect=True)
@pytest.mark.parametrize("run", RESPONSES, ids=lambda run: run.__name__)
def test_openai_sdk_on_responses(provider: ScriptedUpstream, plain_gateway: MetaClaw, run: Run) -> None:
    same(provider, run, *openai_clients(provider, plain_gateway))


@pytest.mark.parametrize("plain_gateway", ["messages"], indirect=True)
@pytest.mark.parametrize("run", ANTHROPIC, ids=lambda run: run.__name__)
def test_anthropic_sdk_on_messages(provider: ScriptedUpstream, plain_gateway: MetaClaw, run: Run) -> None:
    made = [
        anthropic.Anthropic(base_url=url, api_key="sk-upstream-key", max_retries=0)
        for url in (provider.url, plain_gateway.url)
    ]
    same(provider, run, *made)


def test_the_first_half_of_an_answer_is_there_before_the_second_is_written(
    provider: ScriptedUpstream, plain_gateway: MetaClaw
) -> None:
    go_on = threading.Event()
    provider.rule("hold it", Reply(text="first second", hold=go_on, hold_after=2))
    _, client = openai_clients(provider, plain_gateway)
    stream = client.chat.completions.create(model="scripted-model", messages=user("hold it"), stream=True)
    texts = []
    for chunk in stream:
        texts.append(chunk.choices[0].delta.content if chunk.choices else None)
        if texts[-1] == "first ":
            assert not go_on.is_set()
            go_on.set()
    assert "".join(text or "" for text in texts) == "first second"


def test_a_client_that_leaves_closes_the_upstream(provider: ScriptedUpstream, plain_gateway: MetaClaw) -> None:
    provider.reset()
    provider.rule("never ends", Reply(text="a b c d e f", hold=threading.Event(), hold_after=2))
    _, client = openai_clients(provider, plain_gateway)
    stream = client.chat.completions.create(model="scripted-model", messages=user("never ends"), stream=True)
    next(iter(stream))
    stream.close()
    provider.wait(lambda seen: bool(seen.calls()) and seen.calls()[-1].ended, timeout=10)
    assert provider.calls()[-1].hung_up


def test_a_stream_that_breaks_upstream_ends_as_broken(provider: ScriptedUpstream, plain_gateway: MetaClaw) -> None:
    provider.reset()
    provider.rule("cut", Reply(text="a b c", break_after=2))
    _, client = openai_clients(provider, plain_gateway)
    finishes = []
    with pytest.raises((openai.APIError, httpx.RemoteProtocolError)):
        for chunk in client.chat.completions.create(model="scripted-model", messages=user("cut"), stream=True):
            finishes += [choice.finish_reason for choice in chunk.choices]
    assert set(finishes) == {None}


def openai_clients(provider: ScriptedUpstream, gateway: MetaClaw) -> list[openai.OpenAI]:
    """One client for the provider, one for the gateway."""
    return [
        openai.OpenAI(base_url=url, api_key="sk-upstream-key", max_retries=0)
        for url in (provider.base_url, f"{gateway.url}/v1")
    ]
