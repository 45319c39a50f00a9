"""The responses API on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scripted_upstream.answer import CREATED, Made, fragments, sse

Event = tuple[str, dict[str, Any]]


def whole(made: Made) -> dict[str, Any]:
    """The answer in one piece."""
    return _response(made, "completed", _items(made))


def events(made: Made) -> Iterator[bytes]:
    """The answer as a stream, numbered."""
    for number, (kind, fields) in enumerate(_events(made)):
        yield sse({"type": kind, "sequence_number": number, **fields, **made.reply.extra}, kind)


def error(made: Made) -> bytes:
    """An error in the middle of a stream."""
    fields = {"code": "server_error", "message": made.reply.error, "param": None, "sequence_number": 999}
    return sse({"type": "error", **fields}, "error")


def usage(made: Made) -> dict[str, Any]:
    """Tokens, cached ones included."""
    counted = made.counted
    return {
        "input_tokens": counted.prompt,
        "input_tokens_details": {"cached_tokens": counted.cached},
        "output_tokens": counted.completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": counted.prompt + counted.completion,
    }


def _response(made: Made, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    done = status != "in_progress"
    short = made.reply.finish == "length" and done
    unset = dict.fromkeys(
        ("error", "instructions", "max_output_tokens", "max_tool_calls", "previous_response_id", "prompt_cache_key",
         "reasoning", "safety_identifier", "user")
    )  # fmt: skip
    return unset | {
        "id": made.ident("resp_"), "object": "response", "created_at": CREATED,
        "completed_at": CREATED + 1 if done else None,
        "status": "incomplete" if short else status, "background": False, "store": False, "service_tier": "default",
        "incomplete_details": {"reason": "max_output_tokens"} if short else None, "metadata": {}, "model": made.model,
        "output": output, "parallel_tool_calls": True, "presence_penalty": 0.0, "frequency_penalty": 0.0,
        "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_logprobs": 0,
        "top_p": 1.0, "truncation": "disabled", "usage": usage(made) if done else None, **made.reply.extra,
    }  # fmt: skip


def _items(made: Made) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if made.reply.reasoning:
        summary = [{"type": "summary_text", "text": made.reply.reasoning}]
        item = {"id": made.ident("rs_"), "type": "reasoning", "summary": summary}
        items.append(item | ({"encrypted_content": made.reply.signature} if made.reply.signature else {}))
    if made.reply.text or not made.reply.tool_calls:
        content = [{"type": "output_text", "text": made.reply.text, "annotations": [], "logprobs": []}]
        item = {"id": made.ident("msg_"), "type": "message", "status": "completed", "role": "assistant"}
        items.append({**item, "content": content})
    for part, call in enumerate(made.calls("call_"), 1):
        item = {"id": made.ident("fc_", part), "type": "function_call", "status": "completed", "call_id": call.id}
        items.append({**item, "name": call.name, "arguments": call.arguments})
    return items


def _events(made: Made) -> Iterator[Event]:
    yield "response.created", {"response": _response(made, "in_progress", [])}
    yield "response.in_progress", {"response": _response(made, "in_progress", [])}
    items = _items(made)
    for index, item in enumerate(items):
        if item["type"] == "reasoning":
            yield from _reasoning(made, index, item)
        elif item["type"] == "message":
            yield from _message(made, index, item)
    yield from _calls(made, [(index, item) for index, item in enumerate(items) if item["type"] == "function_call"])
    ending = _response(made, "completed", items)
    yield f"response.{ending['status']}", {"response": ending}


def _reasoning(made: Made, index: int, item: dict[str, Any]) -> Iterator[Event]:
    place = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    yield "response.output_item.added", {"output_index": index, "item": {**item, "summary": []}}
    yield "response.reasoning_summary_part.added", {**place, "part": {"type": "summary_text", "text": ""}}
    for piece in made.reply.text_pieces(made.reply.reasoning):
        yield "response.reasoning_summary_text.delta", {**place, "delta": piece}
    yield "response.reasoning_summary_text.done", {**place, "text": made.reply.reasoning}
    yield "response.reasoning_summary_part.done", {**place, "part": item["summary"][0]}
    yield "response.output_item.done", {"output_index": index, "item": item}


def _message(made: Made, index: int, item: dict[str, Any]) -> Iterator[Event]:
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    opening = {**item, "status": "in_progress", "content": []}
    yield "response.output_item.added", {"output_index": index, "item": opening}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    yield "response.content_part.added", {**place, "part": part}
    for piece in made.reply.text_pieces(made.reply.text):
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**place, "text": made.reply.text, "logprobs": []}
    yield "response.content_part.done", {**place, "part": item["content"][0]}
    yield "response.output_item.done", {"output_index": index, "item": item}


def _calls(made: Made, items: list[tuple[int, dict[str, Any]]]) -> Iterator[Event]:
    """Parallel calls are open together when the reply interleaves them, else one after the other."""
    groups = [items] if made.reply.interleave else [[item] for item in items]
    calls = {item["call_id"]: call for (_, item), call in zip(items, made.calls("call_"), strict=True)}
    for group in groups:
        for index, item in group:
            opening = {**item, "status": "in_progress", "arguments": ""}
            yield "response.output_item.added", {"output_index": index, "item": opening}
        for at, piece in fragments([calls[item["call_id"]] for _, item in group], interleave=True):
            place = {"item_id": group[at][1]["id"], "output_index": group[at][0]}
            yield "response.function_call_arguments.delta", {**place, "delta": piece}
        for index, item in group:
            place = {"item_id": item["id"], "output_index": index, "name": item["name"]}
            yield "response.function_call_arguments.done", {**place, "arguments": item["arguments"]}
            yield "response.output_item.done", {"output_index": index, "item": item}
