"""What the vendors' programs print, as events of one kind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_STATUS = re.compile(r"\b(?:status|API Error:?)\s+(\d{3})\b")
_NO_LOGIN = re.compile(r"not logged in|/login|please run .*login|set an auth method|invalid auth method", re.IGNORECASE)
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "refusal": "content_filter"}


@dataclass(frozen=True, slots=True)
class Event:
    """A piece of the answer; the last one has `finish`, or `error` with `status` (0: not logged in)."""

    text: str = ""
    reasoning: str = ""
    finish: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    status: int = 0

    @property
    def last(self) -> bool:
        """Whether the answer ends here."""
        return bool(self.finish or self.error)


class Reader:
    """Reads one program's output, line by line."""

    def __init__(self, program: str) -> None:
        self._read = {"claude": self._claude, "codex": self._codex, "gemini": self._gemini}[program]
        self._streamed = False
        self._finish = "stop"
        self._messages = 0

    def feed(self, line: str) -> Iterator[Event]:
        """The events of one printed line; what is no event of the program's is passed over."""
        try:
            data = json.loads(line)
        except ValueError:
            return
        if isinstance(data, dict):
            yield from self._read(data)

    def _claude(self, data: dict[str, Any]) -> Iterator[Event]:
        if data.get("type") == "stream_event":
            yield from self._claude_delta(_dict(data.get("event")))
        elif data.get("type") == "result":
            said = str(data.get("result") or "")
            if data.get("is_error"):
                status = data.get("api_error_status")
                yield failed(said, status if isinstance(status, int) else None)
                return
            if said and not self._streamed:
                yield Event(text=said)
            yield Event(finish=self._finish, usage=_claude_usage(_dict(data.get("usage"))))

    def _claude_delta(self, event: dict[str, Any]) -> Iterator[Event]:
        delta = _dict(event.get("delta"))
        if event.get("type") == "content_block_delta":
            if text := delta.get("text"):
                self._streamed = True
                yield Event(text=text)
            elif thought := delta.get("thinking"):
                yield Event(reasoning=thought)
        elif event.get("type") == "message_delta":
            self._finish = _FINISH.get(str(delta.get("stop_reason")), self._finish)

    def _codex(self, data: dict[str, Any]) -> Iterator[Event]:
        kind, item = data.get("type"), _dict(data.get("item"))
        if kind == "item.completed" and item.get("type") in ("agent_message", "reasoning"):
            text = str(item.get("text") or "")
            if item["type"] == "reasoning":
                yield Event(reasoning=text)
            elif text:
                self._messages += 1
                yield Event(text=text if self._messages == 1 else f"\n\n{text}")
        elif kind == "turn.completed":
            yield Event(finish="stop", usage=_codex_usage(_dict(data.get("usage"))))
        elif kind == "turn.failed":
            yield failed(str(_dict(data.get("error")).get("message") or "the turn failed"))
        elif kind == "error":
            # It announces each new try in this way; one that the vendor has refused will be refused again.
            error = failed(str(data.get("message") or ""))
            if 400 <= error.status < 500:
                yield error

    def _gemini(self, data: dict[str, Any]) -> Iterator[Event]:
        kind = data.get("type")
        if kind == "message" and data.get("role") == "assistant" and data.get("content"):
            yield Event(text=str(data["content"]))
        elif kind == "result" and data.get("status") == "success":
            yield Event(finish="stop", usage=_gemini_usage(_dict(data.get("stats"))))
        elif kind == "result":
            yield failed(str(_dict(data.get("error")).get("message") or "the call failed"))


def failed(message: str, status: int | None = None) -> Event:
    """The failure behind a message; its status is the vendor's, read from the text if need be."""
    if status is None and _NO_LOGIN.search(message):
        return Event(error=message or "not logged in", status=0)
    if status is None:
        match = _STATUS.search(message)
        status = int(match[1]) if match else 502
    return Event(error=message or "no reason given", status=status)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0


def _claude_usage(usage: dict[str, Any]) -> dict[str, int]:
    cached, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
    prompt = _count(usage, "input_tokens") + cached + written
    return {"prompt": prompt, "completion": _count(usage, "output_tokens"), "cached": cached, "cache_write": written}


def _codex_usage(usage: dict[str, Any]) -> dict[str, int]:
    return {
        "prompt": _count(usage, "input_tokens"),
        "completion": _count(usage, "output_tokens"),
        "cached": _count(usage, "cached_input_tokens"),
        "cache_write": _count(usage, "cache_write_input_tokens"),
    }


def _gemini_usage(stats: dict[str, Any]) -> dict[str, int]:
    return {
        "prompt": _count(stats, "input_tokens"),
        "completion": _count(stats, "output_tokens"),
        "cached": _count(stats, "cached"),
        "cache_write": 0,
    }
