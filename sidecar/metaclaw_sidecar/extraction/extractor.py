"""From turns to facts that have passed the screens: one call of the model for a batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..errors import ExtractionError
from ..records import MEMORY_TYPES, Memory, MemoryType, Turn, seconds
from . import prompt, screens
from .model import Model

_LONGEST_SUMMARY = 900
Change = Literal["new", "restates", "replaces", "retracts"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing to remember, founded on a quote of one turn."""

    turn: Turn
    memory_type: MemoryType
    content: str
    subject: str
    change: Change = "new"
    known: Memory | None = None
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.7
    valid_from: float | None = None
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was drawn from a batch, and what was refused for which reason."""

    facts: tuple[Fact, ...] = ()
    summary: str = ""
    refused: dict[str, int] = field(default_factory=dict)


class Extractor(Protocol):
    """Draws facts from turns."""

    async def extract(
        self, turns: Sequence[Turn], known: Sequence[Memory], earlier_summary: str, *, attempt: int = 1
    ) -> Extraction:
        """Ask once; a later `attempt` leaves more room for the answer. Raises ExtractionError."""
        ...


class LeanExtractor:
    """Our own: one short request, whose facts quote what was said and say what they do to known memories."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def extract(
        self, turns: Sequence[Turn], known: Sequence[Memory], earlier_summary: str, *, attempt: int = 1
    ) -> Extraction:
        """Ask once. Raises ExtractionError."""
        shape = prompt.schema(len(turns), len(known))
        request = prompt.messages(turns, known, earlier_summary)
        wanted = json.dumps(shape, separators=(",", ":"))
        request[0]["content"] += f"\n\nAnswer with one JSON value and nothing else. JSON Schema:\n{wanted}"
        reply = await self._model.ask(request, shape, attempt=attempt)
        return read(reply.value, turns, known)


def read(value: Any, turns: Sequence[Turn], known: Sequence[Memory]) -> Extraction:
    """Check an answer. One that has not the wanted shape is a failure; a single fact that is not right is refused."""
    if not isinstance(value, dict) or not isinstance(value.get("facts"), list):
        raise ExtractionError("the model's answer has no list of facts")
    facts: list[Fact] = []
    refused: dict[str, int] = {}
    for item in value["facts"]:
        fact = _fact(item, turns, known)
        if isinstance(fact, Fact):
            facts.append(fact)
        else:
            refused[fact] = refused.get(fact, 0) + 1
    summary = value.get("summary")
    text = summary.strip()[:_LONGEST_SUMMARY] if isinstance(summary, str) else ""
    if screens.unsafe(text):
        text = ""
    return Extraction(tuple(facts), text, refused)


def _fact(item: Any, turns: Sequence[Turn], known: Sequence[Memory]) -> Fact | str:
    """The fact, or why it is refused."""
    if not isinstance(item, dict):
        return "shape"
    number, content, quote = item.get("turn"), item.get("content"), item.get("quote")
    if not isinstance(number, int) or not 1 <= number <= len(turns):
        return "shape"
    kind = item.get("kind")
    if (
        not isinstance(content, str)
        or not isinstance(quote, str)
        or kind not in MEMORY_TYPES
        or kind == "working_summary"
    ):
        return "shape"
    turn = turns[number - 1]
    said_by_user = item.get("said_by") != "assistant"
    if not said_by_user and (kind == "preference" or _is_user(item.get("subject"))) and kind != "episodic":
        return "not_said_by_user"
    if reason := screens.problem(content, quote, turn.prompt if said_by_user else turn.response):
        return reason
    try:
        begins, ends = seconds(item.get("valid_from")), seconds(item.get("expires"))
    except (ValueError, AttributeError, OverflowError):
        begins = ends = None
    change, target = _change(item, known)
    return Fact(
        turn=turn, memory_type=kind, content=content.strip(), subject=str(item.get("subject") or "user").strip()[:120],
        change=change, known=target, entities=_words(item.get("entities")), tags=_words(item.get("tags")),
        importance=_share(item.get("importance"), 0.5), confidence=_share(item.get("confidence"), 0.7),
        valid_from=begins, expires_at=ends,
    )  # fmt: skip


def _change(item: dict[str, Any], known: Sequence[Memory]) -> tuple[Change, Memory | None]:
    """What the fact does to a known memory. It replaces only one of its own kind and subject, and a visit replaces no
    home."""
    number, change = item.get("known"), item.get("change")
    if (
        change not in ("restates", "replaces", "retracts")
        or not isinstance(number, int)
        or not 1 <= number <= len(known)
    ):
        return "new", None
    target = known[number - 1]
    if change == "restates":
        return "restates", target
    subject = str(item.get("subject") or "user").strip().casefold()
    same_subject = not target.subject or target.subject.casefold() == subject
    if change == "retracts":
        return ("retracts", target) if same_subject and item.get("said_by") != "assistant" else ("new", None)
    events = (item.get("kind") == "episodic", target.memory_type == "episodic")
    visit = screens.passing(str(item.get("content"))) and not screens.passing(target.content)
    return ("replaces", target) if same_subject and events[0] == events[1] and not visit else ("new", None)


def _is_user(subject: Any) -> bool:
    return not subject or str(subject).strip().casefold() == "user"


def _words(value: Any) -> tuple[str, ...]:
    return tuple(str(word) for word in value[:12] if isinstance(word, str)) if isinstance(value, list) else ()


def _share(value: Any, default: float) -> float:
    return min(max(float(value), 0.0), 1.0) if isinstance(value, int | float) else default
