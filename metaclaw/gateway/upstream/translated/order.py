"""Parts one at a time: for protocols whose clients expect a part to end before the next begins.

A chat upstream may interleave the arguments of parallel tool calls. The first call is passed on as it comes; what
belongs to the next one waits until the first is complete, which is seen by its JSON closing, or by its end.
"""

from __future__ import annotations

import re
from collections import deque

from metaclaw.gateway.upstream.translated.events import Closed, Event, Failed, Grew, Opened, Sealed, Stopped
from metaclaw.gateway.upstream.translated.losses import LOSSES

_STRUCTURE = re.compile(r'[{}\[\]"\\]')


class JsonEnd:
    """Sees when a JSON object or array that arrives in pieces is complete. Each character is looked at once."""

    def __init__(self) -> None:
        self.complete = False
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def feed(self, text: str) -> None:
        """The next piece."""
        start = 0
        if self._escaped and text:
            self._escaped, start = False, 1
        while found := _STRUCTURE.search(text, start):
            start, mark = found.end(), found[0]
            if self._quoted:
                if mark == "\\":
                    self._escaped = start == len(text)
                    start += 1
                elif mark == '"':
                    self._quoted = False
            elif mark == '"':
                self._quoted = True
            elif mark in "{[":
                self._depth += 1
            elif mark in "}]":
                self._depth -= 1
                self.complete = self._depth <= 0


class OneAtATime:
    """Reorders events so that parts don't overlap; the order of the parts is that in which they began."""

    def __init__(self) -> None:
        self._open: int | None = None
        self._tool: JsonEnd | None = None
        self._held: dict[int, list[Event]] = {}
        self._waiting: deque[int] = deque()

    def push(self, event: Event) -> list[Event]:
        """The events that may go out now."""
        if isinstance(event, Opened):
            return self._begin(event)
        if isinstance(event, Grew | Sealed | Closed):
            return self._go_on(event)
        if isinstance(event, Stopped):
            return [*self._flush(), event]
        if isinstance(event, Failed):
            self._held.clear()
            self._waiting.clear()
        return [event]

    def _begin(self, event: Opened) -> list[Event]:
        out: list[Event] = []
        if self._open is not None and self._tool and self._tool.complete:
            out.append(Closed(self._open))
            self._open = None
        if self._open is None:
            return [*out, self._opened(event)]
        self._held[event.part] = [event]
        self._waiting.append(event.part)
        return out

    def _opened(self, event: Opened) -> Event:
        self._open = event.part
        self._tool = JsonEnd() if event.kind == "tool" and not event.custom else None
        return event

    def _go_on(self, event: Grew | Sealed | Closed) -> list[Event]:
        if event.part == self._open:
            return self._pass(event) + self._advance()
        if event.part in self._held:
            self._held[event.part].append(event)
        elif isinstance(event, Grew) and event.text.strip():
            LOSSES.note("text behind the end of a part")
        return []

    def _pass(self, event: Event) -> list[Event]:
        if isinstance(event, Closed):
            self._open = None
        elif isinstance(event, Grew) and self._tool:
            self._tool.feed(event.text)
        return [event]

    def _advance(self) -> list[Event]:
        """Let waiting parts follow while the open one is complete."""
        out: list[Event] = []
        while self._waiting:
            if self._open is not None:
                if not (self._tool and self._tool.complete):
                    break
                out.append(Closed(self._open))
                self._open = None
            out += self._release(self._waiting.popleft())
        return out

    def _release(self, part: int) -> list[Event]:
        out: list[Event] = []
        for event in self._held.pop(part):
            if isinstance(event, Opened):
                out.append(self._opened(event))
            elif self._open == part:
                out += self._pass(event)
        return out

    def _flush(self) -> list[Event]:
        out: list[Event] = []
        if self._open is not None:
            out.append(Closed(self._open))
            self._open = None
        while self._waiting:
            out += self._release(self._waiting.popleft())
            if self._open is not None:
                out.append(Closed(self._open))
                self._open = None
        return out
