"""The words in which a request is said between two protocols: turns made of parts, tools, settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from metaclaw.gateway.upstream.base import UpstreamError
from metaclaw.gateway.upstream.translated.payload import Json

Origin = Literal["chat", "messages", "responses"]
Role = Literal["system", "user", "assistant"]


class Untranslatable(UpstreamError):
    """The request needs something that the other protocol cannot do at all (UpstreamError > Untranslatable)."""

    def __init__(self, public: str) -> None:
        super().__init__(400, public)


def conversation(body: Json, key: str, *, text: bool = False) -> list[Any] | str:
    """The conversation of a request: a list, or a plain text where the protocol takes one.

    Raises Untranslatable for anything else, which no upstream would take either.
    """
    value = body.get(key)
    if isinstance(value, list) or (text and isinstance(value, str)):
        return value
    wanted = "a list, or a text" if text else "a list"
    raise Untranslatable(f"'{key}' must be {wanted}" if key in body else f"'{key}' is missing: it must be {wanted}")


@dataclass(frozen=True, slots=True)
class Proof:
    """What a provider wants to see again beside its model's reasoning, and which protocol it belongs to."""

    origin: Origin
    value: str
    id: str = ""
    hidden: bool = False  # the reasoning itself is not readable: redacted thinking


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    cache: Json | None = None  # the client's cache_control
    refusal: bool = False


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a document or a sound: inline (`data`, base64), by address, or by the provider's file id."""

    kind: Literal["image", "document", "audio"]
    mime: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    name: str = ""
    detail: str = ""
    cache: Json | None = None


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`arguments` is JSON text, or the free text of a custom tool; the id is never touched."""

    id: str
    name: str
    arguments: str
    custom: bool = False
    namespace: str = ""
    cache: Json | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    id: str
    parts: tuple[Text | Media, ...]
    failed: bool = False
    cache: Json | None = None


Part = Text | Media | Reasoning | ToolCall | ToolResult


@dataclass(slots=True)
class Turn:
    role: Role
    parts: list[Part] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the client's own; `format` is the grammar of a custom (free text) tool."""

    name: str
    description: str = ""
    schema: Json | None = None
    strict: bool | None = None
    custom: bool = False
    format: Json | None = None
    namespace: str = ""
    cache: Json | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    mode: Literal["auto", "none", "required", "tool"]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """How much the model shall think: `effort` is a word, `budget` is in tokens."""

    effort: str = ""
    budget: int = 0
    off: bool = False
    adaptive: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """The form of the answer: any JSON, or JSON by a schema."""

    schema: Json | None = None
    name: str = "answer"
    description: str = ""
    strict: bool | None = None


@dataclass(slots=True)
class Prompt:
    """A whole request."""

    model: str = ""
    turns: list[Turn] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    choice: Choice | None = None
    parallel: bool | None = None
    max_tokens: int = 0
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: list[str] = field(default_factory=list)
    stream: bool = False
    thinking: Thinking | None = None
    format: Format | None = None
    verbosity: str = ""
    user: str = ""
    cache: Json | None = None  # cache_control of the whole request
    shared: Json = field(default_factory=dict)  # fields that chat completions and responses have in common

    def opening(self) -> tuple[list[Turn], list[Turn]]:
        """The system turns at the start, and the conversation after them."""
        count = 0
        while count < len(self.turns) and self.turns[count].role == "system":
            count += 1
        return self.turns[:count], self.turns[count:]


SHARED = (
    "metadata",
    "service_tier",
    "store",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "user",
)


def joined(turns: list[Turn]) -> list[Turn]:
    """The same turns, neighbours of one role made one: so a tool's results stand together behind its call."""
    result: list[Turn] = []
    for turn in turns:
        if result and result[-1].role == turn.role and turn.role != "system":
            result[-1].parts.extend(turn.parts)
        else:
            result.append(Turn(turn.role, list(turn.parts)))
    return result


def texts(parts: Sequence[Part]) -> list[str]:
    """The texts among the parts, in order."""
    return [part.text for part in parts if isinstance(part, Text)]


def parse_data_url(url: str) -> tuple[str, str]:
    """(mime, base64) of a data: URL, or ("", "") for any other."""
    head, comma, data = url.partition(",")
    if not comma or head[:5].lower() != "data:" or ";base64" not in head.lower():
        return "", ""
    return head[5:].split(";", 1)[0], data
