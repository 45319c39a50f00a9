"""Writes an Anthropic answer, streamed or whole, from events."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.answer import Collected, answer_id
from metaclaw.gateway.upstream.translated.events import (
    Closed,
    Event,
    Grew,
    Kind,
    Opened,
    Sealed,
    Started,
    Stopped,
    StopReason,
)
from metaclaw.gateway.upstream.translated.failures import messages_error
from metaclaw.gateway.upstream.translated.messages.arguments import to_input
from metaclaw.gateway.upstream.translated.parts import Proof
from metaclaw.gateway.upstream.translated.payload import Json
from metaclaw.gateway.upstream.translated.seals import seal, worn
from metaclaw.gateway.upstream.translated.sse import named_event
from metaclaw.gateway.upstream.translated.toolnames import text_arguments
from metaclaw.gateway.upstream.translated.usage import Usage, write_messages

_STOPS: dict[StopReason, str] = {
    "end": "end_turn",
    "length": "max_tokens",
    "tool": "tool_use",
    "sequence": "stop_sequence",
    "refused": "refusal",
    "pause": "pause_turn",
    "context": "model_context_window_exceeded",
}
_DELTAS: dict[Kind, tuple[str, str]] = {
    "text": ("text_delta", "text"),
    "refusal": ("text_delta", "text"),
    "reasoning": ("thinking_delta", "thinking"),
    "tool": ("input_json_delta", "partial_json"),
}


def _message(id: str, model: str, usage: Usage) -> Json:
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": write_messages(usage),
    }


def _hidden(proof: Proof | None) -> Json:
    return {"type": "redacted_thinking", "data": worn(proof, "messages") if proof else ""}


class StreamWriter:
    """Blocks one after the other, each with its start, deltas and stop. Wants its parts one at a time."""

    one_at_a_time = True

    def __init__(self, request: Json, model: str) -> None:
        self._model = model
        self._index = -1
        self._kind: Kind = "text"
        self._signed = False
        self._custom: list[str] | None = None  # a free-text call's input, which only as a whole becomes JSON

    def write(self, event: Event) -> bytes:
        """The bytes for one event."""
        if isinstance(event, Grew):
            return self._grow(event.text)
        if isinstance(event, Opened):
            return self._open(event)
        if isinstance(event, Closed):
            return self._close()
        if isinstance(event, Sealed):
            self._signed = True
            return self._delta("signature_delta", "signature", worn(event.proof, "messages"))
        if isinstance(event, Started):
            message = _message(answer_id("msg_", event.id), event.model or self._model, event.usage or Usage())
            return named_event("message_start", {"type": "message_start", "message": message})
        if isinstance(event, Stopped):
            return self._stop(event)
        return named_event("error", messages_error(event.failure))

    def _open(self, event: Opened) -> bytes:
        self._index += 1
        self._kind, self._signed, self._custom = event.kind, False, [] if event.custom else None
        block: Json = {"type": "text", "text": ""}
        if event.kind == "hidden":
            block = _hidden(event.proof)
        elif event.kind == "reasoning":
            block = {"type": "thinking", "thinking": "", "signature": ""}
        elif event.kind == "tool":
            block = {"type": "tool_use", "id": event.id, "name": event.name, "input": {}}
        data = {"type": "content_block_start", "index": self._index, "content_block": block}
        return named_event("content_block_start", data)

    def _grow(self, text: str) -> bytes:
        if self._custom is not None:
            self._custom.append(text)
            return b""
        kind, field = _DELTAS[self._kind]
        return self._delta(kind, field, text)

    def _delta(self, kind: str, field: str, value: str) -> bytes:
        data = {"type": "content_block_delta", "index": self._index, "delta": {"type": kind, field: value}}
        return named_event("content_block_delta", data)

    def _close(self) -> bytes:
        out = b""
        if self._custom is not None:
            whole = text_arguments("".join(self._custom))
            self._custom = None
            out = self._delta("input_json_delta", "partial_json", whole)
        if self._kind == "reasoning" and not self._signed:
            # Agents turn thinking without a signature into plain text; a mark of ours keeps it what it is.
            out = self._delta("signature_delta", "signature", seal(Proof("chat", "{}")))
        data = {"type": "content_block_stop", "index": self._index}
        return out + named_event("content_block_stop", data)

    def _stop(self, event: Stopped) -> bytes:
        delta = {"stop_reason": _STOPS[event.reason], "stop_sequence": event.sequence or None}
        data = {"type": "message_delta", "delta": delta, "usage": write_messages(event.usage)}
        return named_event("message_delta", data) + named_event("message_stop", {"type": "message_stop"})


def write_answer(answer: Collected, request: Json) -> Json:
    """The whole answer as JSON."""
    body = _message(answer_id("msg_", answer.id), answer.model, answer.usage)
    for part in answer.parts:
        if part.kind in ("text", "refusal"):
            block: Json = {"type": "text", "text": part.text}
        elif part.kind == "hidden":
            block = _hidden(part.proof)
        elif part.kind == "reasoning":
            signature = worn(part.proof, "messages") if part.proof else seal(Proof("chat", "{}"))
            block = {"type": "thinking", "thinking": part.text, "signature": signature}
        else:
            block = {"type": "tool_use", "id": part.id, "name": part.name, "input": to_input(part.function_text())}
        body["content"].append(block)
    body["stop_reason"] = _STOPS[answer.reason]
    body["stop_sequence"] = answer.sequence or None
    return body
