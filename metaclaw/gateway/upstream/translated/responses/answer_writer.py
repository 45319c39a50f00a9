"""Writes a responses answer, streamed or whole, from events."""

from __future__ import annotations

import time

from metaclaw.gateway.upstream.translated.answer import Collected, Piece, answer_id
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
)
from metaclaw.gateway.upstream.translated.failures import openai_error
from metaclaw.gateway.upstream.translated.payload import Json
from metaclaw.gateway.upstream.translated.responses.request_reader import read_tools
from metaclaw.gateway.upstream.translated.responses.resource import closing, item_of, response_object, text_part
from metaclaw.gateway.upstream.translated.sse import named_event
from metaclaw.gateway.upstream.translated.toolnames import ToolNames, free_text
from metaclaw.gateway.upstream.translated.usage import write_responses

_PREFIX: dict[Kind, str] = {"text": "msg", "refusal": "msg", "reasoning": "rs", "hidden": "rs", "tool": "fc"}


def _item_id(kind: Kind, answer: str, index: int) -> str:
    # Unique over the whole conversation, since clients send items back under these ids.
    return f"{_PREFIX[kind]}_{answer.removeprefix('resp_')}_{index}"


class StreamWriter:
    """Items one after the other, each with all its events; the last event holds the whole response."""

    one_at_a_time = True

    def __init__(self, request: Json, model: str) -> None:
        self._request = request
        self._model = model
        self._names = ToolNames(read_tools(request))
        self._sequence = 0
        self._response: Json = {}
        self._output: list[Json] = []
        self._piece = Piece("text")
        self._where: Json = {}  # item_id, output_index, and the index inside the item where it has one
        self._free = False

    def write(self, event: Event) -> bytes:
        """The bytes for one event."""
        if isinstance(event, Grew):
            return self._grow(event.text)
        if isinstance(event, Opened):
            return self._open(event)
        if isinstance(event, Closed):
            return self._close()
        if isinstance(event, Sealed):
            self._piece.proof = event.proof
            return b""
        if isinstance(event, Started):
            return self._start(event)
        return self._stop(event) if isinstance(event, Stopped) else self._fail(event)

    def _event(self, name: str, **fields: object) -> bytes:
        data = {"type": name, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return named_event(name, data)

    def _at(self, name: str, **fields: object) -> bytes:
        return self._event(name, **self._where, **fields)

    def _start(self, event: Started) -> bytes:
        model = event.model or self._model
        self._response = response_object(answer_id("resp_", event.id), model, self._request)
        created = self._event("response.created", response=self._response)
        return created + self._event("response.in_progress", response=self._response)

    def _open(self, event: Opened) -> bytes:
        index = len(self._output)
        self._piece = Piece(event.kind, event.id, event.name, proof=event.proof)
        item_id = _item_id(event.kind, str(self._response["id"]), index)
        self._where = {"item_id": item_id, "output_index": index}
        self._free = event.kind == "tool" and self._names.resolve(event.name)[2]
        item = item_of(self._piece, item_id, self._names, done=False)
        out = self._event("response.output_item.added", output_index=index, item=item)
        if event.kind in ("text", "refusal"):
            self._where["content_index"] = 0
            out += self._at("response.content_part.added", part=text_part(event.kind, ""))
        elif event.kind == "reasoning":
            self._where["summary_index"] = 0
        return out

    def _grow(self, text: str) -> bytes:
        kind = self._piece.kind
        first = not self._piece.pieces
        self._piece.pieces.append(text)
        if kind == "text":
            return self._at("response.output_text.delta", delta=text, logprobs=[])
        if kind == "refusal":
            return self._at("response.refusal.delta", delta=text)
        if kind == "tool":
            return b"" if self._free else self._at("response.function_call_arguments.delta", delta=text)
        out = b""
        if first:
            part = {"type": "summary_text", "text": ""}
            out = self._at("response.reasoning_summary_part.added", part=part)
        return out + self._at("response.reasoning_summary_text.delta", delta=text)

    def _close(self) -> bytes:
        item = item_of(self._piece, str(self._where["item_id"]), self._names, done=True)
        out = self._finished_content(self._piece.text)
        index = len(self._output)
        self._output.append(item)
        return out + self._event("response.output_item.done", output_index=index, item=item)

    def _finished_content(self, text: str) -> bytes:
        kind = self._piece.kind
        if kind == "text":
            out = self._at("response.output_text.done", text=text, logprobs=[])
            return out + self._at("response.content_part.done", part=text_part(kind, text))
        if kind == "refusal":
            out = self._at("response.refusal.done", refusal=text)
            return out + self._at("response.content_part.done", part=text_part(kind, text))
        if kind == "reasoning" and text:
            out = self._at("response.reasoning_summary_text.done", text=text)
            part = {"type": "summary_text", "text": text}
            return out + self._at("response.reasoning_summary_part.done", part=part)
        if kind == "tool" and self._free:
            whole = free_text(text)
            out = self._at("response.custom_tool_call_input.delta", delta=whole)
            return out + self._at("response.custom_tool_call_input.done", input=whole)
        if kind == "tool":
            out = b"" if text else self._at("response.function_call_arguments.delta", delta="{}")
            return out + self._at("response.function_call_arguments.done", arguments=text or "{}")
        return b""

    def _stop(self, event: Stopped) -> bytes:
        status, details = closing(event.reason)
        response = {
            **self._response,
            "status": status,
            "incomplete_details": details,
            "completed_at": int(time.time()) if status == "completed" else None,
            "output": self._output,
            "usage": write_responses(event.usage),
        }
        return self._event(f"response.{status}", response=response)

    def _fail(self, event: Failed) -> bytes:
        out = b"" if self._response else self._start(Started("", ""))
        error = openai_error(event.failure)["error"]
        code = error["code"] or "server_error"
        told = {"code": code, "message": error["message"]}
        response = {**self._response, "status": "failed", "output": self._output, "error": told}
        out += self._event("error", code=code, message=error["message"], param=error["param"])
        return out + self._event("response.failed", response=response)


def write_answer(answer: Collected, request: Json) -> Json:
    """The whole answer as JSON."""
    names = ToolNames(read_tools(request))
    body = response_object(answer_id("resp_", answer.id), answer.model, request)
    status, details = closing(answer.reason)
    body["output"] = [
        item_of(part, _item_id(part.kind, body["id"], index), names, done=True)
        for index, part in enumerate(answer.parts)
    ]
    body["status"], body["incomplete_details"] = status, details
    body["completed_at"] = int(time.time()) if status == "completed" else None
    body["usage"] = write_responses(answer.usage)
    return body
