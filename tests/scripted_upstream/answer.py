"""One reply about to be written: the reply, what was asked, made ids, counted tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.scripted_upstream.cache import Counted
from tests.scripted_upstream.reading import Asked
from tests.scripted_upstream.script import Reply, ToolCall

CREATED = 1764547200  # fixed, so that the same request has the same answer


@dataclass(frozen=True, slots=True)
class Made:
    """What a protocol module renders."""

    asked: Asked
    reply: Reply
    counted: Counted

    @property
    def model(self) -> str:
        """The model as the client named it."""
        return self.asked.model

    def ident(self, prefix: str, part: int = 0) -> str:
        """The same id for the same place in the same conversation."""
        where = f"{self.asked.messages}|{self.asked.rounds}|{self.asked.user_text[:48]}|{part}"
        return prefix + hashlib.sha256(where.encode("utf-8", "replace")).hexdigest()[:20]

    def calls(self, prefix: str) -> list[ToolCall]:
        """The tool calls, each with an id."""
        return [
            ToolCall(call.name, call.arguments, call.id or self.ident(prefix, part))
            for part, call in enumerate(self.reply.tool_calls, 1)
        ]


def fragments(calls: list[ToolCall], *, interleave: bool) -> Iterator[tuple[int, str]]:
    """(call index, piece of its arguments), one call after the other or in turn."""
    cut = [[call.arguments[at : at + 7] for at in range(0, len(call.arguments), 7)] for call in calls]
    if not interleave:
        for index, pieces in enumerate(cut):
            yield from ((index, piece) for piece in pieces)
        return
    for row in range(max(map(len, cut), default=0)):
        yield from ((index, pieces[row]) for index, pieces in enumerate(cut) if row < len(pieces))


def sse(data: dict[str, Any] | str, event: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {text}\n\n".encode()
