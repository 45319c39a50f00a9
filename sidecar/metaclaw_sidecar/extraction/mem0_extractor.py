"""mem0's extraction as the second extractor: it only adds, and says neither what a fact replaces nor whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ..records import Memory, Turn
from ..retrieval.tokens import query_terms
from . import screens
from .extractor import Extraction, Fact
from .model import Model

_SIDE = 6000  # characters of one side of a turn that mem0 is given
_PROGRAM = "metaclaw_sidecar.extraction.mem0_child"


class Mem0Extractor:
    """Draws facts with mem0's prompt, in a process of its own; our screens judge what comes of it."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def extract(
        self, turns: Sequence[Turn], known: Sequence[Memory], earlier_summary: str, *, attempt: int = 1
    ) -> Extraction:
        """Ask once. Raises ExtractionError, also where mem0 alone would have taken the answer for none."""
        messages = [
            {"role": role, "content": text[:_SIDE]}
            for turn in turns
            for role, text in (("user", turn.prompt), ("assistant", turn.response))
            if text
        ]
        asked = {
            "messages": messages, "known": [memory.content for memory in known], "instructions": _instructions(turns),
        }  # fmt: skip
        answer = await self._model.run(_PROGRAM, asked, attempt=attempt)
        return _read(answer.get("facts") or [], turns)


def _instructions(turns: Sequence[Turn]) -> str:
    """What mem0's prompt leaves out: when it was said, and in which language."""
    days = sorted({datetime.fromtimestamp(turn.at, UTC).strftime("%Y-%m-%d (%A)") for turn in turns})
    return (
        f"The new messages were written on {' and '.join(days)}: this is the observation date, whatever else is "
        "given as one; count relative times from it. Write each memory in the language the person wrote in."
    )


def _read(items: Sequence[Any], turns: Sequence[Turn]) -> Extraction:
    facts: list[Fact] = []
    refused: dict[str, int] = {}
    for item in items:
        content = str(item.get("text", "")).strip()
        if reason := screens.untold(content):
            refused[reason] = refused.get(reason, 0) + 1
            continue
        subject = "" if item.get("said_by") == "assistant" else "user"
        facts.append(Fact(turn=_source(content, turns), memory_type="semantic", content=content, subject=subject))
    return Extraction(tuple(facts), "", refused)


def _source(content: str, turns: Sequence[Turn]) -> Turn:
    """The turn that shares most words with the fact; the last of those that are equal."""
    words = set(query_terms(content))
    return max(reversed(turns), key=lambda turn: len(words & set(query_terms(turn.text))))
