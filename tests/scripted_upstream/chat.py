"""Chat completions (and legacy completions) on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scripted_upstream.answer import CREATED, Made, fragments, sse


def whole(made: Made) -> dict[str, Any]:
    """The answer in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": made.reply.text or None}
    if made.reply.reasoning:
        message["reasoning_content"] = made.reply.reasoning
    calls = made.calls("call_")
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(made)}
    return {**_head(made, "chat.completion"), "choices": [choice], "usage": usage(made), **made.reply.extra}


def events(made: Made) -> Iterator[bytes]:
    """The answer as a stream; content events carry text, reasoning or tool calls."""
    yield _chunk(made, {"role": "assistant", "content": ""})
    for piece in made.reply.text_pieces(made.reply.reasoning):
        yield _chunk(made, {"reasoning_content": piece})
    for piece in made.reply.text_pieces(made.reply.text):
        yield _chunk(made, {"content": piece})
    calls = made.calls("call_")
    opened: set[int] = set()
    for index, piece in fragments(calls, interleave=made.reply.interleave):
        call: dict[str, Any] = {"index": index, "function": {"arguments": piece}}
        if index not in opened:
            opened.add(index)
            call |= {"id": calls[index].id, "type": "function"}
            call["function"]["name"] = calls[index].name
        yield _chunk(made, {"tool_calls": [call]})
    yield _chunk(made, {}, _finish(made))
    if made.asked.include_usage:
        yield sse({**_head(made, "chat.completion.chunk"), "choices": [], "usage": usage(made)})
    yield sse("[DONE]")


def error(made: Made) -> bytes:
    """An error in the middle of a stream."""
    return sse({"error": {"message": made.reply.error, "type": "server_error", "code": 500}})


def refusal(status: int, message: str) -> dict[str, Any]:
    """The body of an error status."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def usage(made: Made) -> dict[str, Any]:
    """Tokens, cached ones included."""
    counted = made.counted
    return {
        "prompt_tokens": counted.prompt,
        "completion_tokens": counted.completion,
        "total_tokens": counted.prompt + counted.completion,
        "prompt_tokens_details": {"cached_tokens": counted.cached},
    }


def completion(made: Made) -> dict[str, Any]:
    """A legacy completion."""
    choice = {"index": 0, "text": made.reply.text, "logprobs": None, "finish_reason": "stop"}
    return {**_head(made, "text_completion"), "choices": [choice], "usage": usage(made)}


def completion_events(made: Made) -> Iterator[bytes]:
    """A legacy completion as a stream."""
    for piece in made.reply.text_pieces(made.reply.text):
        choice = {"index": 0, "text": piece, "logprobs": None, "finish_reason": None}
        yield sse({**_head(made, "text_completion"), "choices": [choice]})
    yield sse({**_head(made, "text_completion"), "choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})
    yield sse("[DONE]")


def _head(made: Made, kind: str) -> dict[str, Any]:
    return {"id": made.ident("chatcmpl-"), "object": kind, "created": CREATED, "model": made.model}


def _finish(made: Made) -> str:
    return made.reply.finish or ("tool_calls" if made.reply.tool_calls else "stop")


def _chunk(made: Made, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return sse({**_head(made, "chat.completion.chunk"), "choices": [choice], **made.reply.extra})
