"""Rules that hold for every input: chunk borders, conversations, garbage."""

from __future__ import annotations

import itertools
import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaclaw.gateway.upstream.translated import LOSSES, StreamTranslator, Untranslatable, translate_request
from metaclaw.gateway.upstream.translated.parts import Origin
from tests.contract.translated.provider_streams import CHAT_SIGNED, CHAT_TEXT, STREAMS, call, chat_chunk, chat_sse

Json = dict[str, Any]
_WIRES: tuple[Any, ...] = get_args(Origin)
_PAIRS = [(target, source) for target in _WIRES for source in _WIRES if target != source]
_REQUEST: Json = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}


def _run(target: Any, source: Any, chunks: list[bytes]) -> bytes:
    translator = StreamTranslator(target, source, request=_REQUEST)
    return b"".join(translator.feed(chunk) for chunk in chunks) + translator.finish()


def _cut(stream: bytes, borders: list[int]) -> list[bytes]:
    places = [0, *sorted({border % (len(stream) + 1) for border in borders}), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(places)]


def _timeless(out: bytes) -> list[Any]:
    events = [line.removeprefix(b"data: ") for line in out.splitlines() if line.startswith(b"data: ")]
    told = [json.loads(event) if event != b"[DONE]" else event for event in events]
    for event in told:
        for body in (event, event.get("response", {})) if isinstance(event, dict) else ():
            for key in ("created", "created_at", "completed_at"):
                body.pop(key, None)
    return told


@pytest.mark.parametrize(("target", "source"), _PAIRS)
@settings(max_examples=25, deadline=None)
@given(borders=st.lists(st.integers(0, 2**20), max_size=30))
def test_chunk_borders_change_nothing(target: Any, source: Any, borders: list[int]) -> None:
    stream = STREAMS[target]
    assert _timeless(_run(target, source, _cut(stream, borders))) == _timeless(_run(target, source, [stream]))


@pytest.mark.parametrize("stream", [CHAT_TEXT, CHAT_SIGNED])
def test_a_stream_may_come_byte_by_byte(stream: bytes) -> None:
    pieces = [stream[i : i + 1] for i in range(len(stream))]
    assert _timeless(_run("chat", "messages", pieces)) == _timeless(_run("chat", "messages", [stream]))


_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=12).filter(
    lambda text: bool(text.strip())
)
_NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)
_ARGUMENTS = st.dictionaries(_NAMES, _VALUES, max_size=3)


@st.composite
def _conversations(draw: st.DrawFn) -> list[Json]:
    messages: list[Json] = [{"role": "system", "content": draw(_WORDS)}] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        many = draw(st.lists(_WORDS, min_size=1, max_size=3))
        content: Any = many[0] if len(many) == 1 else [{"type": "text", "text": text} for text in many]
        messages.append({"role": "user", "content": content})
        for _ in range(draw(st.integers(0, 2))):
            calls = []
            for name, arguments in draw(st.lists(st.tuples(_NAMES, _ARGUMENTS), min_size=1, max_size=3)):
                function = {"name": name, "arguments": json.dumps(arguments)}
                calls.append({"id": f"functions.{name}:{number}", "type": "function", "function": function})
                number += 1
            messages.append({"role": "assistant", "content": draw(st.none() | _WORDS), "tool_calls": calls})
            for item in draw(st.permutations(calls)):
                messages.append({"role": "tool", "tool_call_id": item["id"], "content": draw(_WORDS)})
        messages.append({"role": "assistant", "content": draw(_WORDS)})
    return messages


def _told(messages: list[Json]) -> list[tuple[Any, ...]]:
    """Everything that was said, called and answered, in order."""
    told: list[tuple[Any, ...]] = []
    for message in messages:
        content = message.get("content") or []
        texts = [content] if isinstance(content, str) else [part["text"] for part in content]
        if message["role"] == "tool":
            told.append(("result", message["tool_call_id"], *texts))
        else:
            told += [(message["role"], text) for text in texts]
        for item in message.get("tool_calls", ()):
            function = item["function"]
            told.append(("call", item["id"], function["name"], json.loads(function["arguments"])))
    return told


@pytest.mark.parametrize("over", ["messages", "responses"])
@settings(max_examples=60, deadline=None)
@given(messages=_conversations())
def test_a_conversation_comes_back_as_it_went(over: Any, messages: list[Json]) -> None:
    there = translate_request("chat", over, {"model": "m", "messages": messages})
    back = translate_request(over, "chat", there)
    assert _told(back["messages"]) == _told(messages)


@st.composite
def _interleavings(draw: st.DrawFn) -> tuple[list[Json], list[Json]]:
    """(arguments of each call, the chunks that bring them interleaved)."""
    arguments = draw(st.lists(_ARGUMENTS, min_size=1, max_size=4))
    queues = []
    for index, value in enumerate(arguments):
        text = json.dumps(value, ensure_ascii=draw(st.booleans()))
        size = draw(st.integers(1, 9))
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        queues.append([call(index, "", f"functions.t:{index}", f"t{index}"), *(call(index, piece) for piece in pieces)])
    order = draw(st.permutations([index for index, queue in enumerate(queues) for _ in queue]))
    chunks = [chat_chunk(queues[index].pop(0)) for index in order]
    return arguments, chunks


@settings(max_examples=80, deadline=None)
@given(case=_interleavings())
def test_interleaved_calls_never_mix(case: tuple[list[Json], list[Json]]) -> None:
    arguments, chunks = case
    stream = chat_sse(*chunks, chat_chunk({}, "tool_calls"))
    blocks: dict[int, list[Any]] = {}
    open_block = None
    for event in _timeless(_run("chat", "messages", [stream])):
        if event["type"] == "content_block_start":
            assert open_block is None, "two blocks open at once"
            open_block = event["index"]
            assert open_block == len(blocks)
            blocks[open_block] = [event["content_block"]["id"], ""]
        elif event["type"] == "content_block_delta":
            assert event["index"] == open_block
            blocks[open_block][1] += event["delta"]["partial_json"]
        elif event["type"] == "content_block_stop":
            open_block = None
    found = {call_id: json.loads(text or "{}") for call_id, text in blocks.values()}
    assert found == {f"functions.t:{index}": value for index, value in enumerate(arguments)}

    items = _timeless(_run("chat", "responses", [stream]))[-1]["response"]["output"]
    assert {item["call_id"]: json.loads(item["arguments"]) for item in items} == found


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "type",
                    "index",
                    "delta",
                    "choices",
                    "message",
                    "content",
                    "text",
                    "role",
                    "name",
                    "tool_calls",
                    "function",
                    "arguments",
                    "error",
                    "usage",
                    "content_block",
                    "item",
                    "output_index",
                    "response",
                    "output",
                    "summary",
                    "part",
                    "custom",
                    "input",
                    "finish_reason",
                    "status",
                    "reasoning_details",
                    "prompt_tokens",
                    "input_tokens",
                    "stop_reason",
                    "signature",
                    "data",
                    "model",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
_FIELDS = st.sampled_from(
    [
        "messages",
        "input",
        "tools",
        "system",
        "tool_choice",
        "stop",
        "thinking",
        "reasoning",
        "text",
        "response_format",
        "output_config",
        "stream_options",
        "model",
        "max_tokens",
    ]
)
_TYPES = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
        "ping",
        "response.created",
        "response.output_item.added",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.output_item.done",
        "response.reasoning_summary_text.delta",
        "response.completed",
        "response.failed",
    ]
)


@pytest.mark.parametrize(("target", "source"), _PAIRS)
@settings(max_examples=60, deadline=None)
@given(garbage=st.lists(st.binary(max_size=20) | st.tuples(_TYPES, _ODD), max_size=8))
def test_garbage_is_read_without_a_fault_and_the_stream_ends(target: Any, source: Any, garbage: list[Any]) -> None:
    faults = LOSSES.counts["fault in a translation"]
    translator = StreamTranslator(target, source, request=_REQUEST)
    out = b""
    for item in garbage:
        if isinstance(item, tuple):
            kind, data = item
            body = {"type": kind, **data} if isinstance(data, dict) else data
            item = f"event: {kind}\ndata: {json.dumps(body)}\n\n".encode()
        out += translator.feed(item)
    out += translator.finish()
    assert translator.ended
    assert LOSSES.counts["fault in a translation"] == faults
    for event in out.split(b"\n\n")[:-1]:
        assert event.startswith((b"event: ", b"data: "))


@pytest.mark.parametrize(("target", "source"), _PAIRS)
@settings(max_examples=40, deadline=None)
@given(body=st.dictionaries(_FIELDS, _ODD))
def test_odd_requests_never_crash(target: Any, source: Any, body: Json) -> None:
    conversation = body.get("input" if source == "responses" else "messages")
    try:
        assert isinstance(translate_request(source, target, body), dict)
    except Untranslatable as refused:
        assert refused.status == 400
        asks_for_more = any(body.get(key) for key in ("previous_response_id", "conversation", "prompt"))
        assert not isinstance(conversation, list) or asks_for_more or "item_reference" in str(conversation)
