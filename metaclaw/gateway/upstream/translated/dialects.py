"""The three protocols side by side, each as a reader and a writer of requests and answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from metaclaw.gateway.upstream.base import WireName
from metaclaw.gateway.upstream.translated import chat, messages, responses
from metaclaw.gateway.upstream.translated.answer import Collected
from metaclaw.gateway.upstream.translated.events import Event
from metaclaw.gateway.upstream.translated.failures import Failure, messages_error, openai_error
from metaclaw.gateway.upstream.translated.parts import Prompt
from metaclaw.gateway.upstream.translated.payload import Json


class AnswerReader(Protocol):
    """Turns an upstream's answer into events. `finished` after Stopped or Failed."""

    finished: bool

    def event(self, name: str, data: Json) -> list[Event]: ...
    def done(self) -> list[Event]: ...
    def end(self) -> list[Event]: ...
    def whole(self, body: Json) -> list[Event]: ...


class StreamWriter(Protocol):
    """Turns events into a stream for the client."""

    one_at_a_time: bool

    def write(self, event: Event) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Dialect:
    read_request: Callable[[Json], Prompt]
    write_request: Callable[[Prompt], Json]
    reader: Callable[[], AnswerReader]
    writer: Callable[[Json, str], StreamWriter]
    write_answer: Callable[[Collected, Json], Json]
    write_error: Callable[[Failure], Json]


_DIALECTS: dict[str, Dialect] = {
    "chat": Dialect(
        chat.read_request,
        chat.write_request,
        chat.AnswerReader,
        chat.StreamWriter,
        chat.write_answer,
        openai_error,
    ),
    "messages": Dialect(
        messages.read_request,
        messages.write_request,
        messages.AnswerReader,
        messages.StreamWriter,
        messages.write_answer,
        messages_error,
    ),
    "responses": Dialect(
        responses.read_request,
        responses.write_request,
        responses.AnswerReader,
        responses.StreamWriter,
        responses.write_answer,
        openai_error,
    ),
}


def dialect(wire: WireName) -> Dialect:
    """The protocol of this name; ValueError for a wire that is none of the three."""
    found = _DIALECTS.get(wire)
    if found is None:
        raise ValueError(f"no translation for the protocol '{wire}': only chat, messages and responses")
    return found


def is_dialect(wire: WireName) -> bool:
    """Whether this wire can be translated."""
    return wire in _DIALECTS
