"""Reads a responses answer, streamed or whole, into events."""

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
from metaclaw.gateway.upstream.translated.payload import Json, as_count, as_dict, as_dicts, as_text
from metaclaw.gateway.upstream.translated.usage import read_responses

_Key = tuple[int, int]  # output index, content index (-1 for the item itself)

_GROWING: dict[str, Kind] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.function_call_arguments.delta": "tool",
    "response.custom_tool_call_input.delta": "tool",
}
_THINKING = {"response.reasoning_summary_text.delta": "summary_index", "response.reasoning_text.delta": "content_index"}


@dataclass(slots=True)
class _Open:
    part: int
    kind: Kind
    grown: bool = False
    section: tuple[str, int] | None = None  # which summary or text of a reasoning item grew last


class AnswerReader:
    """State is kept by output and content index, so interleaved items stay apart."""

    def __init__(self) -> None:
        self.finished = False
        self._started = False
        self._parts = 0
        self._called = False
        self._open: dict[_Key, _Open] = {}

    def event(self, name: str, data: Json) -> list[Event]:
        """The events in one event of the stream."""
        kind = as_text(data.get("type")) or name
        if growing := _GROWING.get(kind):
            return self._grow(data, growing)
        if kind in _THINKING:
            return self._think(data, kind)
        if kind in ("response.output_item.added", "response.output_item.done"):
            index, item = as_count(data.get("output_index")), as_dict(data.get("item"))
            return self._add(index, item) if kind.endswith("added") else self._done(index, item)
        if kind in ("response.created", "response.in_progress"):
            return self._start(as_dict(data.get("response")))
        if kind in ("response.completed", "response.incomplete", "response.done"):
            return self._complete(as_dict(data.get("response")))
        if kind in ("response.failed", "response.cancelled", "error") or "error" in data:
            return self._fail(as_dict(data.get("response")) or data)
        return []

    def done(self) -> list[Event]:
        """[DONE], which some servers add."""
        return self.end()

    def end(self) -> list[Event]:
        """The connection has ended; only response.completed makes an answer whole."""
        if self.finished:
            return []
        self.finished = True
        return [Failed(broken())]

    def whole(self, body: Json) -> list[Event]:
        """The events of a JSON answer."""
        if body.get("error") or body.get("status") in ("failed", "cancelled"):
            return self._fail(body)
        return self._start(body) + self._complete(body)

    def _start(self, response: Json) -> list[Event]:
        if self._started:
            return []
        self._started = True
        return [Started(as_text(response.get("id")), as_text(response.get("model")))]

    def _new(self, key: _Key, kind: Kind, item: Json | None = None) -> tuple[_Open, Opened]:
        opened = self._open[key] = _Open(self._parts, kind)
        self._parts += 1
        if kind != "tool" or item is None:
            return opened, Opened(opened.part, kind)
        self._called = True
        custom = item.get("type") == "custom_tool_call"
        call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
        return opened, Opened(opened.part, kind, call_id, as_text(item.get("name")), custom=custom)

    def _add(self, index: int, item: Json) -> list[Event]:
        kind = item.get("type")
        if kind in ("function_call", "custom_tool_call") and (index, -1) not in self._open:
            return [self._new((index, -1), "tool", item)[1]]
        if kind not in ("function_call", "custom_tool_call", "message", "reasoning"):
            LOSSES.note("responses answer item of another type")
        return []

    def _grow(self, data: Json, kind: Kind) -> list[Event]:
        index = as_count(data.get("output_index"))
        key = (index, -1 if kind == "tool" else as_count(data.get("content_index")))
        text = as_text(data.get("delta"))
        known = self._open.get(key)
        if not text or (known is None and kind == "tool"):
            return []
        events: list[Event] = []
        if known is None:
            known, opened = self._new(key, kind)
            events.append(opened)
        known.grown = True
        return [*events, Grew(known.part, text)]

    def _think(self, data: Json, kind: str) -> list[Event]:
        key = (as_count(data.get("output_index")), -1)
        section = (kind, as_count(data.get(_THINKING[kind])))
        text = as_text(data.get("delta"))
        known = self._open.get(key)
        if not text or (known and known.section and known.section[0] != kind):
            return []  # a summary beside the full text: one of the two is enough
        events: list[Event] = []
        if known is None:
            known, opened = self._new(key, "reasoning")
            events.append(opened)
        elif known.section != section:
            text = f"\n\n{text}"
        known.section, known.grown = section, True
        return [*events, Grew(known.part, text)]

    def _done(self, index: int, item: Json) -> list[Event]:
        kind = item.get("type")
        if kind == "reasoning":
            return self._reasoned(index, item)
        if kind == "message":
            return self._said(index, item)
        if kind not in ("function_call", "custom_tool_call"):
            return []
        events: list[Event] = []
        call = self._open.get((index, -1))
        if call is None:
            call, opened = self._new((index, -1), "tool", item)
            events.append(opened)
        if not call.grown and (text := as_text(item.get("input" if kind == "custom_tool_call" else "arguments"))):
            events.append(Grew(call.part, text))
        del self._open[(index, -1)]
        return [*events, Closed(call.part)]

    def _said(self, index: int, item: Json) -> list[Event]:
        events: list[Event] = []
        for number, content in enumerate(as_dicts(item.get("content"))):
            kind: Kind = "refusal" if content.get("type") == "refusal" else "text"
            said = self._open.pop((index, number), None)
            if said is None and (text := as_text(content.get(kind))):
                said, opened = self._new((index, number), kind)
                del self._open[(index, number)]
                events += [opened, Grew(said.part, text)]
            if said:
                events.append(Closed(said.part))
        return events

    def _reasoned(self, index: int, item: Json) -> list[Event]:
        thought = self._open.pop((index, -1), None)
        sealed = as_text(item.get("encrypted_content"))
        pieces = as_dicts(item.get("summary")) or as_dicts(item.get("content"))
        text = "\n\n".join(as_text(piece.get("text")) for piece in pieces)
        proof = Proof("responses", sealed, as_text(item.get("id")), hidden=not (thought or text)) if sealed else None
        events: list[Event] = []
        if thought is None and text:
            thought, opened = self._new((index, -1), "reasoning")
            del self._open[(index, -1)]
            events += [opened, Grew(thought.part, text)]
        if thought is None:
            if proof is None:
                return []
            part, self._parts = self._parts, self._parts + 1
            return [Opened(part, "hidden", proof=proof), Closed(part)]
        if proof:
            events.append(Sealed(thought.part, proof))
        return [*events, Closed(thought.part)]

    def _complete(self, response: Json) -> list[Event]:
        if self.finished:
            return []
        self.finished = True
        events = self._start(response)
        if not self._parts:
            # Nothing was streamed before, as some servers do and as in every JSON answer.
            for index, item in enumerate(as_dicts(response.get("output"))):
                events += self._done(index, item)
        events += [Closed(item.part) for item in self._open.values()]
        reason: StopReason = "tool" if self._called else "end"
        if response.get("status") == "incomplete":
            why = as_text(as_dict(response.get("incomplete_details")).get("reason"))
            reason = "refused" if why == "content_filter" else "length"
        return [*events, Stopped(reason, read_responses(as_dict(response.get("usage"))))]

    def _fail(self, data: Json) -> list[Event]:
        if self.finished:
            return []
        self.finished = True
        failure = read_error(0, data) if data.get("error") or data.get("message") else broken()
        return [Failed(failure)]
