"""Reads a chat completions answer, streamed or whole, into events."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.chat.reasoning import (
    content_pieces,
    details_text,
    own_proof,
    reasoning_text,
)
from metaclaw.gateway.upstream.translated.chat.tool_calls import ToolCalls
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
from metaclaw.gateway.upstream.translated.failures import Failure, broken, read_error
from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.payload import Json, as_dict, as_dicts, as_text
from metaclaw.gateway.upstream.translated.usage import Usage, read_chat

_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool",
    "function_call": "tool",
    "content_filter": "refused",
    "sensitive": "refused",
    "refusal": "refused",
}
# Reasons by which providers say that the answer is not whole: told as an error, not as a stop.
_FAILURES: dict[str, Failure] = {
    "error": Failure("server", 502, "The model's provider ended the answer with an error."),
    "network_error": Failure("server", 502, "The model's provider ended the answer with a network error."),
    "abort": Failure("server", 502, "The model's provider aborted the answer."),
    "insufficient_system_resource": Failure("overloaded", 503, "The model's provider ran out of resources."),
}


class AnswerReader:
    """Text and reasoning come one after the other; tool calls have a state of their own by index."""

    def __init__(self) -> None:
        self.finished = False
        self._started = False
        self._next = 0
        self._open: tuple[Kind, int] | None = None
        self._calls = ToolCalls()
        self._field = ""
        self._details: list[Json] = []
        self._usage = Usage()
        self._reason: StopReason | None = None
        self._sequence = ""

    def event(self, name: str, data: Json) -> list[Event]:
        """The events in one chunk of the stream."""
        if data.get("error"):
            self.finished = True
            return [Failed(read_error(0, data))]
        events: list[Event] = []
        if not self._started:
            self._started = True
            events.append(Started(as_text(data.get("id")), as_text(data.get("model"))))
        if isinstance(data.get("usage"), dict):
            self._usage = read_chat(data["usage"])
        for choice in as_dicts(data.get("choices")):
            if choice.get("index") in (None, 0):
                events += self._choice(choice)
            else:
                LOSSES.note("chat further choice")
        return events

    def done(self) -> list[Event]:
        """[DONE]: the answer is whole, even if a server forgot to say why it stopped."""
        if self.finished:
            return []
        if not self._started:
            return self.end()
        return self._finish()

    def end(self) -> list[Event]:
        """The connection has ended."""
        if self.finished:
            return []
        if self._reason:
            return self._finish()
        self.finished = True
        return [Failed(broken())]

    def whole(self, body: Json) -> list[Event]:
        """The events of a JSON answer."""
        events = self.event("", body)
        if not self.finished and not as_dicts(body.get("choices")):
            self.finished = True
            return [Failed(broken("The model's provider answered without a choice."))]
        return events if self.finished else events + self._finish()

    def _choice(self, choice: Json) -> list[Event]:
        if isinstance(choice.get("usage"), dict):
            self._usage = read_chat(choice["usage"])
        delta = as_dict(choice.get("delta") or choice.get("message"))
        events = self._reasoning(delta)
        for kind, text in content_pieces(delta.get("content")):
            events += self._grow("reasoning" if kind == "reasoning" else "text", text)
        if refusal := as_text(delta.get("refusal")):
            events += self._grow("refusal", refusal)
        for item in as_dicts(delta.get("tool_calls")):
            events += self._tool(item)
        if legacy := as_dict(delta.get("function_call")):
            events += self._tool({"index": 0, "function": legacy})
        if reason := as_text(choice.get("finish_reason")):
            if failure := _FAILURES.get(reason):
                self.finished = True
                return [*events, Failed(failure)]
            self._reason = _STOPS.get(reason, "end")
            self._sequence = as_text(choice.get("stop_reason"))
        return events

    def _reasoning(self, delta: Json) -> list[Event]:
        field, text = reasoning_text(delta)
        details = as_dicts(delta.get("reasoning_details"))
        self._details += details
        self._field = self._field or field
        text = text or details_text(details)
        return self._grow("reasoning", text) if text else []

    def _grow(self, kind: Kind, text: str) -> list[Event]:
        if self._open and self._open[0] == kind:
            return [Grew(self._open[1], text)]
        events = self._close()
        self._open = (kind, self._next)
        self._next += 1
        return [*events, Opened(self._open[1], kind), Grew(self._open[1], text)]

    def _tool(self, item: Json) -> list[Event]:
        events = self._close()
        before = len(self._calls)
        events += self._calls.delta(item, self._next)
        self._next += len(self._calls) - before
        return events

    def _close(self) -> list[Event]:
        if self._open is None:
            return []
        kind, part = self._open
        self._open = None
        if kind != "reasoning":
            return [Closed(part)]
        proof = own_proof(self._field, self._details, {})
        self._details = []
        return [Sealed(part, proof), Closed(part)]

    def _finish(self) -> list[Event]:
        self.finished = True
        events = self._close() + self._calls.end()
        events += [Closed(part) for part in self._calls.parts()]
        if self._details or self._calls.extras:
            # Proofs that came after the reasoning they belong to: kept in a part of their own.
            proof = own_proof(self._field, self._details, self._calls.extras)
            if proof.value != own_proof(self._field, [], {}).value:
                events += [Opened(self._next, "hidden", proof=proof), Closed(self._next)]
        reason: StopReason = self._reason or "end"
        if reason in ("end", "tool"):
            # Servers say "stop" behind tool calls, too; the agent acts on the reason, so it must be true.
            reason = "tool" if len(self._calls) else "end"
        if reason == "end" and self._sequence:
            reason = "sequence"
        return [*events, Stopped(reason, self._usage, self._sequence)]
