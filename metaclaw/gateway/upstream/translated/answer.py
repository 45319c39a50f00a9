"""A whole answer collected from events, for JSON answers and for the closing event of responses."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

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
from metaclaw.gateway.upstream.translated.failures import Failure
from metaclaw.gateway.upstream.translated.parts import Proof
from metaclaw.gateway.upstream.translated.toolnames import text_arguments
from metaclaw.gateway.upstream.translated.usage import Usage


@dataclass(slots=True)
class Piece:
    """One part of an answer."""

    kind: Kind
    id: str = ""
    name: str = ""
    custom: bool = False
    proof: Proof | None = None
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All that it grew to."""
        return "".join(self.pieces)

    def function_text(self) -> str:
        """The arguments as JSON text, also of a free-text tool."""
        return text_arguments(self.text) if self.custom else self.text or "{}"


@dataclass(slots=True)
class Collected:
    """The answer as a whole."""

    id: str = ""
    model: str = ""
    parts: list[Piece] = field(default_factory=list)
    reason: StopReason = "end"
    sequence: str = ""
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


def collect(events: Iterable[Event]) -> Collected:
    """Fold events into the answer that they tell."""
    answer = Collected()
    by_part: dict[int, Piece] = {}
    for event in events:
        if isinstance(event, Started):
            answer.id, answer.model = event.id, event.model
        elif isinstance(event, Opened):
            piece = Piece(event.kind, event.id, event.name, event.custom, event.proof)
            by_part[event.part] = piece
            answer.parts.append(piece)
        elif isinstance(event, Grew):
            by_part[event.part].pieces.append(event.text)
        elif isinstance(event, Sealed):
            by_part[event.part].proof = event.proof
        elif isinstance(event, Stopped):
            answer.reason, answer.sequence, answer.usage = event.reason, event.sequence, event.usage
        elif isinstance(event, Failed):
            answer.failure = event.failure
        elif isinstance(event, Closed):
            continue
    return answer


def answer_id(prefix: str, upstream: str) -> str:
    """An id in the form of the client's protocol, made of the upstream's, so that the two can be matched."""
    if upstream.startswith(prefix):
        return upstream
    return prefix + (upstream or uuid.uuid4().hex)
