"""The words in which an answer is said between two protocols: an answer is a list of these events.

Readers make them from a stream or from a whole JSON answer; writers turn them into either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from metaclaw.gateway.upstream.translated.failures import Failure
from metaclaw.gateway.upstream.translated.parts import Proof
from metaclaw.gateway.upstream.translated.usage import Usage

Kind = Literal["text", "refusal", "reasoning", "hidden", "tool"]
StopReason = Literal["end", "length", "tool", "sequence", "refused", "pause", "context"]


@dataclass(frozen=True, slots=True)
class Started:
    id: str
    model: str
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A part begins. `part` numbers the parts of one answer; `hidden` reasoning brings its proof at once."""

    part: int
    kind: Kind
    id: str = ""
    name: str = ""
    custom: bool = False
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Grew:
    part: int
    text: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """The proof of a piece of reasoning, before it closes."""

    part: int
    proof: Proof


@dataclass(frozen=True, slots=True)
class Closed:
    part: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The answer is whole. Comes last, with the final usage."""

    reason: StopReason
    usage: Usage
    sequence: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer will not become whole. Comes last."""

    failure: Failure


Event = Started | Opened | Grew | Sealed | Closed | Stopped | Failed
