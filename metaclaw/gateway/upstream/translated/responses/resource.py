"""The response object itself, with everything that OpenAI's API says about the request in it."""

from __future__ import annotations

import time
from typing import Any

from metaclaw.gateway.upstream.translated.answer import Piece
from metaclaw.gateway.upstream.translated.events import StopReason
from metaclaw.gateway.upstream.translated.payload import Json, as_dict
from metaclaw.gateway.upstream.translated.seals import worn
from metaclaw.gateway.upstream.translated.toolnames import ToolNames, free_text

_DEFAULTS: dict[str, Any] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "service_tier": "default",
    "store": False,
    "temperature": 1.0,
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


def response_object(id: str, model: str, request: Json) -> Json:
    """A response that has just begun."""
    told = {key: default if (said := request.get(key)) is None else said for key, default in _DEFAULTS.items()}
    reasoning = {"effort": None, "summary": None, **as_dict(request.get("reasoning"))}
    text = {"format": {"type": "text"}, **as_dict(request.get("text"))}
    return {
        "id": id,
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "model": model,
        "output": [],
        "reasoning": reasoning,
        "text": text,
        "usage": None,
        **told,
    }


def closing(reason: StopReason) -> tuple[str, Json | None]:
    """(status, incomplete_details) at the end of an answer."""
    if reason in ("length", "context"):
        return "incomplete", {"reason": "max_output_tokens"}
    if reason == "refused":
        return "incomplete", {"reason": "content_filter"}
    return "completed", None


def text_part(kind: str, text: str) -> Json:
    """A content part of a message item."""
    if kind == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def item_of(piece: Piece, item_id: str, names: ToolNames, *, done: bool) -> Json:
    """The output item for one part of the answer, as far as it has grown."""
    status = "completed" if done else "in_progress"
    if piece.kind in ("text", "refusal"):
        content = [text_part(piece.kind, piece.text)] if done else []
        return {"id": item_id, "type": "message", "status": status, "role": "assistant", "content": content}
    if piece.kind in ("reasoning", "hidden"):
        summary = [{"type": "summary_text", "text": piece.text}] if done and piece.text else []
        item: Json = {"id": item_id, "type": "reasoning", "summary": summary}
        if done:
            item["encrypted_content"] = worn(piece.proof, "responses") if piece.proof else None
        return item
    name, namespace, free = names.resolve(piece.name)
    call: Json = {"id": item_id, "type": "function_call", "status": status, "call_id": piece.id, "name": name}
    if free:
        call["type"] = "custom_tool_call"
        call["input"] = free_text(piece.text) if done else ""
    else:
        call["arguments"] = (piece.text or "{}") if done else ""
    if namespace:
        call["namespace"] = namespace
    return call
