"""Reads an Anthropic answer, streamed or whole, into events."""

from __future__ import annotations

from dataclasses import dataclass

from metaclaw.gateway.upstream.translated.events import (
    Closed,
    Event,
    Failed,
    Grew,
    Kind,
    Opened,
    Sealed,
    Started,
    Stopped,
    StopReason,
)
from metaclaw.gateway.upstream.translated.failures import broken, read_error
from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.parts import Proof
from metaclaw.gateway.upstream.translated.payload import Json, as_count, as_dict, as_dicts, as_text, encode_text
from metaclaw.gateway.upstream.translated.usage import Usage, read_messages

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "max_tokens": "length",
    "tool_use": "tool",
    "stop_sequence": "sequence",
    "refusal": "refused",
    "pause_turn": "pause",
    "model_context_window_exceeded": "context",
}
_KINDS: dict[str, Kind] = {"text": "text", "thinking": "reasoning", "redacted_thinking": "hidden", "tool_use": "tool"}
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


@dataclass(slots=True)
class _Block:
    part: int
    kind: Kind
    start: Json
    grown: bool = False
    signature: str = ""


class AnswerReader:
    """State is kept by the block's index, so interleaved blocks stay apart."""

    def __init__(self) -> None:
        self.finished = False
        self._blocks: dict[int, _Block] = {}
        self._parts = 0
        self._usage = Usage()
        self._stop: StopReason | None = None
        self._sequence = ""

    def event(self, name: str, data: Json) -> list[Event]:
        """The events in one event of the stream."""
        kind = as_text(data.get("type")) or name
        if kind == "content_block_delta":
            return self._delta(data)
        if kind == "content_block_start":
            return self._open(as_count(data.get("index")), as_dict(data.get("content_block")))
        if kind == "content_block_stop":
            return self._close(as_count(data.get("index")))
        if kind == "message_start":
            return self._start(as_dict(data.get("message")))
        if kind == "message_delta":
            self._usage = read_messages(as_dict(data.get("usage")), self._usage)
            self._stopping(as_dict(data.get("delta")))
            return []
        if kind == "message_stop":
            return self._finish()
        if kind == "error" or "error" in data:
            self.finished = True
            return [Failed(read_error(0, data))]
        return []

    def done(self) -> list[Event]:
        """An explicit end mark, which some servers add."""
        return self.end()

    def end(self) -> list[Event]:
        """The connection has ended."""
        if self.finished:
            return []
        if self._stop:
            return self._finish()
        self.finished = True
        return [Failed(broken())]

    def whole(self, body: Json) -> list[Event]:
        """The events of a JSON answer."""
        if body.get("type") == "error" or "error" in body:
            self.finished = True
            return [Failed(read_error(0, body))]
        events = self._start(body)
        for index, block in enumerate(as_dicts(body.get("content"))):
            events += self._open(index, block)
            if signature := as_text(block.get("signature")):
                self._sign(index, signature)
            events += self._close(index)
        self._stopping(body)
        return events + self._finish()

    def _start(self, message: Json) -> list[Event]:
        self._usage = read_messages(as_dict(message.get("usage")))
        return [Started(as_text(message.get("id")), as_text(message.get("model")), self._usage)]

    def _open(self, index: int, block: Json) -> list[Event]:
        kind = _KINDS.get(as_text(block.get("type")))
        if kind is None:
            LOSSES.note("messages answer block of another type")
            return []
        part, self._parts = self._parts, self._parts + 1
        opened = self._blocks[index] = _Block(part, kind, block)
        if kind == "hidden":
            return [Opened(part, kind, proof=Proof("messages", as_text(block.get("data")), hidden=True))]
        events: list[Event] = [Opened(part, kind, as_text(block.get("id")), as_text(block.get("name")))]
        if kind != "tool" and (text := as_text(block.get("text" if kind == "text" else "thinking"))):
            opened.grown = True
            events.append(Grew(part, text))
        return events

    def _delta(self, data: Json) -> list[Event]:
        block = self._blocks.get(as_count(data.get("index")))
        delta = as_dict(data.get("delta"))
        kind = as_text(delta.get("type"))
        if block is None:
            return []
        if kind == "signature_delta":
            block.signature += as_text(delta.get("signature"))
            return []
        if kind not in _DELTAS:
            LOSSES.note("messages answer delta of another type")
            return []
        text = as_text(delta.get(_DELTAS[kind]))
        if not text:
            return []
        block.grown = True
        return [Grew(block.part, text)]

    def _sign(self, index: int, signature: str) -> None:
        if block := self._blocks.get(index):
            block.signature = signature

    def _close(self, index: int) -> list[Event]:
        block = self._blocks.pop(index, None)
        if block is None:
            return []
        events: list[Event] = []
        if block.kind == "tool" and not block.grown:
            # A call without arguments has no deltas; some servers give the whole input at the start.
            events.append(Grew(block.part, encode_text(as_dict(block.start.get("input")))))
        if block.kind == "reasoning":
            signature = block.signature or as_text(block.start.get("signature"))
            if signature:
                events.append(Sealed(block.part, Proof("messages", signature)))
        events.append(Closed(block.part))
        return events

    def _stopping(self, delta: Json) -> None:
        if reason := as_text(delta.get("stop_reason")):
            self._stop = _STOPS.get(reason, "end")
            self._sequence = as_text(delta.get("stop_sequence"))

    def _finish(self) -> list[Event]:
        if self.finished:
            return []
        self.finished = True
        events: list[Event] = []
        for index in list(self._blocks):
            events += self._close(index)
        return [*events, Stopped(self._stop or "end", self._usage, self._sequence)]
