"""What the three dialects have in common: reading a request, putting text into it, reading an answer."""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from metaclaw.gateway.canonical import Unit
from metaclaw.gateway.protocols import spans
from metaclaw.gateway.upstream.base import WireName
from metaclaw.journal.records import Usage

OWN_FIELDS = ("session_id", "turn_type", "session_done", "memory_scope", "user_id", "workspace_id")
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


@dataclass(slots=True)
class Item:
    """One entry of the conversation, its bytes and what they say."""

    raw: bytes
    role: str
    units: tuple[Unit, ...]
    raw_text: str  # uncleaned text of a user message, for telling side calls; else empty


@dataclass(slots=True)
class Answer:
    """What the upstream answered, put together from its bytes."""

    messages: list[bytes] = field(default_factory=list)
    text: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    error: str = ""
    pending_calls: bool = False
    complete: bool = False


class ClientRequest:
    """A model call as the client sent it. Its conversation is read only when somebody asks for it."""

    def __init__(self, dialect: Dialect, body: bytes, fields: dict[str, bytes]) -> None:
        self.dialect = dialect
        self.body = body
        self.fields = fields
        self.model = _text(fields.get("model"))
        self.stream = fields.get("stream", b"").strip() == b"true"
        self.has_tools = len(fields.get("tools", b"").strip()) > 2

    @cached_property
    def items(self) -> list[Item]:
        """The conversation's entries. Raises NotJson."""
        return self.dialect.read_items(self.fields)

    @cached_property
    def system(self) -> str:
        """The beginning of the system prompt."""
        return self.dialect.system_text(self.fields, self.items)

    def own(self, name: str) -> str:
        """One of MetaClaw's own body fields, as text; empty when absent."""
        raw = self.fields.get(name)
        value = None if raw is None else spans.loads(raw)
        return "" if value is None or isinstance(value, dict | list) else str(value)


class Dialect(ABC):
    """One wire protocol: stateless, shared by all requests."""

    wire: ClassVar[WireName]
    items_key: ClassVar[str]
    done_marks: ClassVar[tuple[bytes, ...]]  # bytes that only the last event of a stream has

    def read(self, body: bytes) -> ClientRequest:
        """Read the few fields we need. Raises NotJson."""
        return ClientRequest(self, body, spans.members(body))

    def read_items(self, fields: dict[str, bytes]) -> list[Item]:
        """The entries of the conversation."""
        return [self.item(raw) for raw in self._items(fields.get(self.items_key, b"[]"))]

    def _items(self, raw: bytes) -> list[bytes]:
        return spans.elements(raw) if raw.lstrip()[:1] == b"[" else []

    def item(self, raw: bytes) -> Item:
        key = (self.wire, hash(raw), len(raw))
        known = _items.get(key)
        if known is None:
            message = spans.loads(raw)
            role, units = self.units(message) if isinstance(message, dict) else ("", [])
            text = "\n".join(self.texts(message)) if role == "user" else ""
            known = _items.put(key, (role, tuple(u for u in units if u is not None), text[:4000]))
        return Item(raw, *known)

    @abstractmethod
    def units(self, message: dict[str, Any]) -> tuple[str, list[Unit | None]]:
        """Role and canonical units of one message."""

    @abstractmethod
    def texts(self, message: dict[str, Any]) -> list[str]:
        """The texts of a user message, uncleaned."""

    @abstractmethod
    def system_text(self, fields: dict[str, bytes], items: list[Item]) -> str:
        """The beginning of the system prompt."""

    @abstractmethod
    def append(self, raw: bytes, block: str) -> bytes:
        """A message with a block of text of its own at the end, all its other bytes kept."""

    @abstractmethod
    def append_system(self, request: ClientRequest, block: str) -> tuple[dict[int, bytes], dict[str, bytes | None]]:
        """Item and field edits that put a block at the end of the system prompt."""

    @abstractmethod
    def assemble(self, data: bytes, *, stream: bool) -> Answer:
        """Put an answer together from all its bytes; never raises."""

    @abstractmethod
    def error(self, status: int, message: str) -> bytes:
        """An error of our own, as a client of this dialect expects it."""

    def edit(
        self,
        request: ClientRequest,
        items: dict[int, bytes],
        fields: dict[str, bytes | None],
        left_out: frozenset[int] = frozenset(),
    ) -> bytes:
        """The request's bytes with items and fields exchanged or left out; without any, the very same object."""
        if items or left_out:
            fields = {**fields, self.items_key: self._array(request, items, left_out)}
        if not any(request.fields.get(k) != v for k, v in fields.items()):
            return request.body
        return spans.replace_members(request.body, fields)

    def _array(self, request: ClientRequest, items: dict[int, bytes], left_out: frozenset[int]) -> bytes:
        values = [items.get(index, item.raw) for index, item in enumerate(request.items)]
        if left_out:
            return b"[" + b",".join(v for i, v in enumerate(values) if i not in left_out) + b"]"
        return spans.replace_elements(request.fields[self.items_key], [item.raw for item in request.items], items)


class _ItemCache:
    """Recently read messages, so that a long history is understood once; bounded by entries and by text."""

    MAX_BYTES = 24 * 1024 * 1024

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], tuple[str, tuple[Unit, ...], str]] = {}
        self._bytes = 0
        self._lock = threading.Lock()  # answers are read in the journal's thread

    def get(self, key: tuple[str, int, int]) -> tuple[str, tuple[Unit, ...], str] | None:
        with self._lock:
            found = self._known.pop(key, None)
            if found is not None:
                self._known[key] = found  # newest last
            return found

    def put(
        self, key: tuple[str, int, int], value: tuple[str, tuple[Unit, ...], str]
    ) -> tuple[str, tuple[Unit, ...], str]:
        with self._lock:
            self._bytes += key[2] + 500 if key not in self._known else 0
            self._known[key] = value
            while self._bytes > self.MAX_BYTES and len(self._known) > 1:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._bytes -= oldest[2] + 500
        return value


_items = _ItemCache()


def _text(raw: bytes | None) -> str:
    value = None if raw is None else spans.loads(raw)
    return value if isinstance(value, str) else ""


def part_texts(content: Any, kinds: tuple[str, ...] = ("text",)) -> list[str]:
    """The texts in a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    found = []
    for part in content:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str):
            found.append(part["text"])
    return found


def append_to_content(raw: bytes, block: str, part: dict[str, str]) -> bytes:
    """A message with a text block at the end of its `content`: a part of its own, or more of the string."""
    content = spans.members(raw).get("content", b"null")
    kind = content.lstrip()[:1]
    if kind == b'"':
        new = spans.extend_string(content, "\n\n" + block)
    elif kind == b"[":
        new = spans.extend_array(content, spans.dumps({**part, "text": block}))
    else:
        new = spans.dumps(block)
    return spans.replace_members(raw, {"content": new})


def events(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON payloads of a server-sent event stream; what isn't JSON is passed over."""
    # The usual stream has one line for an event, and hundreds of events: those are cut without the general rules.
    for block in data.split(b"\n\n") if b"\r" not in data else _EVENT_END.split(data):
        if block.startswith(b"data:") and b"\n" not in block:
            payload = block[5:].strip()
        else:
            lines = [line[5:].lstrip(b" ") for line in block.splitlines() if line.startswith(b"data:")]
            payload = b"\n".join(lines)
        if not payload or payload == b"[DONE]":
            continue
        try:
            value = spans.loads(payload)
        except spans.NotJson:
            continue
        if isinstance(value, dict):
            yield value


def error_text(payload: Any) -> str:
    """One line from an error in any dialect."""
    error = payload.get("error", payload) if isinstance(payload, dict) else payload
    if isinstance(error, dict):
        error = error.get("message") or error.get("type") or error.get("code") or "error"
    return " ".join(str(error).split())[:500]
