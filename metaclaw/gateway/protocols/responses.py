"""OpenAI responses."""

from __future__ import annotations

from typing import Any

from metaclaw.gateway.canonical import Unit, call, unit
from metaclaw.gateway.protocols import spans
from metaclaw.gateway.protocols.dialect import (
    Answer,
    ClientRequest,
    Dialect,
    Item,
    append_to_content,
    error_text,
    events,
    part_texts,
)
from metaclaw.journal.records import Usage

_TEXTS = ("input_text", "output_text", "text")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "computer_call", "mcp_call")


class Responses(Dialect):
    """`POST /v1/responses`."""

    wire = "responses"
    items_key = "input"
    done_marks = (b'"response.completed"', b'"response.failed"', b'"response.incomplete"')

    def _items(self, raw: bytes) -> list[bytes]:
        if raw.lstrip()[:1] == b'"':
            return [raw]  # a bare string is one user message
        return super()._items(raw)

    def item(self, raw: bytes) -> Item:
        if raw.lstrip()[:1] == b'"':
            text = str(spans.loads(raw))
            said = unit("user", "said", text)
            return Item(raw, "user", (said,) if said else (), text[:4000])
        return super().item(raw)

    def units(self, message: dict[str, Any]) -> tuple[str, list[Unit | None]]:
        kind = str(message.get("type") or "message")
        if kind == "message":
            role = str(message.get("role") or "")
            return role, [unit(role, "said", text) for text in self.texts(message)]
        if kind in _CALLS:
            return "assistant", [
                call(str(message.get("name") or kind), message.get("arguments") or message.get("input"))
            ]
        if kind.endswith("_output"):
            output = message.get("output")
            text = output if isinstance(output, str) else spans.dumps(output).decode()
            return "tool", [unit("user", "result", text)]
        return "assistant", []  # reasoning and references carry nothing that was said

    def texts(self, message: dict[str, Any]) -> list[str]:
        return part_texts(message.get("content"), _TEXTS)

    def system_text(self, fields: dict[str, bytes], items: list[Item]) -> str:
        raw = fields.get("instructions")
        value = spans.loads(raw) if raw else None
        if isinstance(value, str) and value:
            return value[:4000]
        return next((u.text for i in items[:3] for u in i.units if u.role == "system"), "")

    def append(self, raw: bytes, block: str) -> bytes:
        if raw.lstrip()[:1] == b'"':
            return spans.extend_string(raw, "\n\n" + block)
        return append_to_content(raw, block, {"type": "input_text"})

    def append_system(self, request: ClientRequest, block: str) -> tuple[dict[int, bytes], dict[str, bytes | None]]:
        raw = request.fields.get("instructions", b"null")
        if raw.lstrip()[:1] == b'"':
            return {}, {"instructions": spans.extend_string(raw, "\n\n" + block)}
        return {}, {"instructions": spans.dumps(block)}

    def _array(self, request: ClientRequest, items: dict[int, bytes], left_out: frozenset[int]) -> bytes:
        if request.fields["input"].lstrip()[:1] == b'"':
            return items.get(0, request.fields["input"])
        return super()._array(request, items, left_out)

    def assemble(self, data: bytes, *, stream: bool) -> Answer:
        if not stream:
            try:
                body = spans.loads(data)
            except spans.NotJson:
                return Answer(error="the answer is not a response")
            return _filled(Answer(complete=True), body) if isinstance(body, dict) else Answer(error="not a response")
        answer, items = Answer(), list[Any]()
        for event in events(data):
            kind = event.get("type")
            if kind == "error":
                answer.error = error_text(event)
            elif kind == "response.output_item.done":
                items.append(event.get("item"))
            elif kind in ("response.completed", "response.failed", "response.incomplete"):
                answer.complete = True
                response = event.get("response") or {}
                _filled(answer, {**response, "output": response.get("output") or items})
        return answer if answer.complete else _filled(answer, {"output": items})

    def error(self, status: int, message: str) -> bytes:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return spans.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}})


def _filled(answer: Answer, body: dict[str, Any]) -> Answer:
    output = [item for item in body.get("output") or [] if isinstance(item, dict)]
    answer.messages = [spans.dumps(item) for item in output]
    answer.text = "\n".join(
        t for i in output if i.get("type") == "message" for t in part_texts(i.get("content"), _TEXTS)
    )
    answer.pending_calls = any(item.get("type") in _CALLS and item.get("type") != "mcp_call" for item in output)
    answer.finish_reason = str(body.get("status") or "")
    if body.get("error"):
        answer.error = error_text(body)
    usage = body.get("usage")
    if isinstance(usage, dict):
        answer.usage = Usage(
            prompt=usage.get("input_tokens") or 0,
            cached=(usage.get("input_tokens_details") or {}).get("cached_tokens") or 0,
            completion=usage.get("output_tokens") or 0,
        )
    return answer
