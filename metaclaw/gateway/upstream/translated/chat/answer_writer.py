"""Writes a chat completions answer, streamed or whole, from events."""

from __future__ import annotations

import time

from metaclaw.gateway.upstream.translated.answer import Collected, Piece, answer_id
from metaclaw.gateway.upstream.translated.chat.reasoning import merged_details, open_own_proof, proof_details
from metaclaw.gateway.upstream.translated.chat.request_reader import read_tools
from metaclaw.gateway.upstream.translated.events import (
    Closed,
    Event,
    Grew,
    Opened,
    Sealed,
    Started,
    Stopped,
    StopReason,
)
from metaclaw.gateway.upstream.translated.failures import openai_error
from metaclaw.gateway.upstream.translated.parts import Proof
from metaclaw.gateway.upstream.translated.payload import Json, as_dict
from metaclaw.gateway.upstream.translated.sse import DONE, data_event
from metaclaw.gateway.upstream.translated.toolnames import ToolNames, free_text
from metaclaw.gateway.upstream.translated.usage import write_chat

_STOPS: dict[StopReason, str] = {
    "end": "stop",
    "length": "length",
    "tool": "tool_calls",
    "sequence": "stop",
    "refused": "content_filter",
    "pause": "stop",
    "context": "length",
}


def _details(text: str, proof: Proof, index: int) -> list[Json]:
    if proof.origin == "chat":
        return merged_details(open_own_proof(proof)[1])
    return proof_details(text, proof, index)


class StreamWriter:
    """Chunks as OpenAI sends them. Interleaved parts need no ordering: every tool call delta bears its index."""

    one_at_a_time = False

    def __init__(self, request: Json, model: str) -> None:
        self._model = model
        self._names = ToolNames(read_tools(request))
        self._with_usage = as_dict(request.get("stream_options")).get("include_usage") is True
        self._head: Json = {}
        self._calls: dict[int, int] = {}
        self._parts: dict[int, Piece] = {}
        self._details = 0
        self._grown: set[int] = set()  # calls with arguments
        self._free: set[int] = set()  # calls of free-text tools that the upstream saw as functions

    def write(self, event: Event) -> bytes:
        """The bytes for one event."""
        if isinstance(event, Grew):
            return self._grow(event)
        if isinstance(event, Opened):
            return self._open(event)
        if isinstance(event, Closed):
            return self._close(event.part)
        if isinstance(event, Sealed):
            self._parts[event.part].proof = event.proof
            return b""
        if isinstance(event, Started):
            self._head = {
                "id": answer_id("chatcmpl-", event.id),
                "object": "chat.completion.chunk",
                "created": int(time.time()),
                "model": event.model or self._model,
            }
            return self._chunk({"role": "assistant", "content": ""})
        if isinstance(event, Stopped):
            out = self._chunk({}, _STOPS[event.reason])
            if self._with_usage:
                out += data_event({**self._head, "choices": [], "usage": write_chat(event.usage)})
            return out + DONE
        return data_event(openai_error(event.failure))

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk: Json = {**self._head, "choices": [choice]}
        if self._with_usage:
            chunk["usage"] = None
        return data_event(chunk)

    def _open(self, event: Opened) -> bytes:
        name, _, custom = self._names.resolve(event.name)
        piece = Piece(event.kind, event.id, name, custom=custom or event.custom, proof=event.proof)
        self._parts[event.part] = piece
        if custom and not event.custom:
            self._free.add(event.part)
        if event.kind != "tool":
            return b""
        index = self._calls[event.part] = len(self._calls)
        if piece.custom:
            call: Json = {"type": "custom", "custom": {"name": name, "input": ""}}
        else:
            call = {"type": "function", "function": {"name": name, "arguments": ""}}
        return self._chunk({"tool_calls": [{"index": index, "id": event.id, **call}]})

    def _grow(self, event: Grew) -> bytes:
        piece = self._parts[event.part]
        if piece.kind == "tool":
            self._grown.add(event.part)
            if event.part in self._free:
                piece.pieces.append(event.text)  # only the whole of it can be unwrapped
                return b""
            form = {"custom": {"input": event.text}} if piece.custom else {"function": {"arguments": event.text}}
            return self._chunk({"tool_calls": [{"index": self._calls[event.part], **form}]})
        if piece.kind == "reasoning":
            piece.pieces.append(event.text)
            return self._chunk({"reasoning_content": event.text})
        return self._chunk({"refusal" if piece.kind == "refusal" else "content": event.text})

    def _close(self, part: int) -> bytes:
        piece = self._parts.pop(part)
        if part in self._free:
            call = {"index": self._calls[part], "custom": {"input": free_text(piece.text)}}
            return self._chunk({"tool_calls": [call]})
        if piece.kind == "tool" and not piece.custom and part not in self._grown:
            return self._chunk({"tool_calls": [{"index": self._calls[part], "function": {"arguments": "{}"}}]})
        details = _details(piece.text, piece.proof, self._details) if piece.proof else []
        if not details:
            return b""
        self._details += 1
        return self._chunk({"reasoning_details": details})


def write_answer(answer: Collected, request: Json) -> Json:
    """The whole answer as JSON."""
    names = ToolNames(read_tools(request))
    texts = [part.text for part in answer.parts if part.kind == "text"]
    refusals = [part.text for part in answer.parts if part.kind == "refusal"]
    calls = [_call(part, names) for part in answer.parts if part.kind == "tool"]
    message: Json = {
        "role": "assistant",
        "content": "".join(texts) if texts else None,
        "refusal": "".join(refusals) if refusals else None,
    }
    reasoning = [part for part in answer.parts if part.kind in ("reasoning", "hidden")]
    if thought := "\n\n".join(part.text for part in reasoning if part.text):
        message["reasoning_content"] = thought
    details = [item for n, part in enumerate(reasoning) if part.proof for item in _details(part.text, part.proof, n)]
    if details:
        message["reasoning_details"] = details
    if calls:
        message["tool_calls"] = calls
    return {
        "id": answer_id("chatcmpl-", answer.id),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _STOPS[answer.reason]}],
        "usage": write_chat(answer.usage),
    }


def _call(part: Piece, names: ToolNames) -> Json:
    name, _, custom = names.resolve(part.name)
    if part.custom:
        return {"id": part.id, "type": "custom", "custom": {"name": name, "input": part.text}}
    if custom:
        return {"id": part.id, "type": "custom", "custom": {"name": name, "input": free_text(part.text)}}
    return {"id": part.id, "type": "function", "function": {"name": name, "arguments": part.text or "{}"}}
