"""Anthropic messages on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.scripted_upstream.answer import Made, fragments, sse

STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


def whole(made: Made) -> dict[str, Any]:
    """The answer in one piece."""
    blocks: list[dict[str, Any]] = []
    if made.reply.reasoning:
        blocks.append({"type": "thinking", "thinking": made.reply.reasoning, "signature": made.reply.signature})
    if made.reply.text or not made.reply.tool_calls:
        blocks.append({"type": "text", "text": made.reply.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in made.calls("toolu_")
    ]
    return {**_head(made), "content": blocks, "stop_reason": _stop(made), "usage": usage(made), **made.reply.extra}


def events(made: Made) -> Iterator[bytes]:
    """The answer as a stream."""
    opening = {**_head(made), "content": [], "stop_reason": None, "usage": {**usage(made), "output_tokens": 1}}
    yield _event({"type": "message_start", "message": opening, **made.reply.extra})
    yield _event({"type": "ping"})
    index = 0
    if made.reply.reasoning:
        yield _start(index, {"type": "thinking", "thinking": "", "signature": ""})
        for piece in made.reply.text_pieces(made.reply.reasoning):
            yield _delta(index, {"type": "thinking_delta", "thinking": piece})
        yield _delta(index, {"type": "signature_delta", "signature": made.reply.signature})
        yield _stop_block(index)
        index += 1
    if made.reply.text or not made.reply.tool_calls:
        yield _start(index, {"type": "text", "text": ""})
        for piece in made.reply.text_pieces(made.reply.text):
            yield _delta(index, {"type": "text_delta", "text": piece})
        yield _stop_block(index)
        index += 1
    for call in made.calls("toolu_"):
        yield _start(index, {"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
        for _, piece in fragments([call], interleave=False):
            yield _delta(index, {"type": "input_json_delta", "partial_json": piece})
        yield _stop_block(index)
        index += 1
    ending = {"stop_reason": _stop(made), "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": ending, "usage": usage(made)})
    yield _event({"type": "message_stop"})


def error(made: Made) -> bytes:
    """An error in the middle of a stream."""
    return _event({"type": "error", "error": {"type": "overloaded_error", "message": made.reply.error}})


def refusal(status: int, message: str) -> dict[str, Any]:
    """The body of an error status."""
    kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}


def usage(made: Made) -> dict[str, Any]:
    """Tokens; Anthropic counts read and written ones apart from `input_tokens`."""
    counted = made.counted
    return {
        "input_tokens": counted.prompt - counted.cached - counted.written,
        "cache_creation_input_tokens": counted.written,
        "cache_read_input_tokens": counted.cached,
        "output_tokens": counted.completion,
    }


def _head(made: Made) -> dict[str, Any]:
    return {
        "id": made.ident("msg_"), "type": "message", "role": "assistant", "model": made.model, "stop_sequence": None,
    }  # fmt: skip


def _stop(made: Made) -> str:
    finish = made.reply.finish or ("tool_calls" if made.reply.tool_calls else "stop")
    return STOP.get(finish, finish)


def _event(data: dict[str, Any]) -> bytes:
    return sse(data, str(data["type"]))


def _start(index: int, block: dict[str, Any]) -> bytes:
    return _event({"type": "content_block_start", "index": index, "content_block": block})


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return _event({"type": "content_block_delta", "index": index, "delta": delta})


def _stop_block(index: int) -> bytes:
    return _event({"type": "content_block_stop", "index": index})
