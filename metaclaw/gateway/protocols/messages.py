"""Anthropic messages."""

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


class Messages(Dialect):
    """`POST /v1/messages`."""

    wire = "messages"
    items_key = "messages"
    done_marks = (b'"message_stop"',)

    def units(self, message: dict[str, Any]) -> tuple[str, list[Unit | None]]:
        role = str(message.get("role") or "")
        content = message.get("content")
        if not isinstance(content, list):
            return role, [unit(role, "said", text) for text in part_texts(content)]
        return role, [_unit(role, part) for part in content if isinstance(part, dict)]

    def texts(self, message: dict[str, Any]) -> list[str]:
        return part_texts(message.get("content"))

    def system_text(self, fields: dict[str, bytes], items: list[Item]) -> str:
        raw = fields.get("system")
        texts = part_texts(spans.loads(raw)) if raw and len(raw) < 2_000_000 else []
        return "\n".join(text for text in texts if not text.startswith("x-anthropic-billing-header"))[:4000]

    def append(self, raw: bytes, block: str) -> bytes:
        return append_to_content(raw, block, {"type": "text"})

    def append_system(self, request: ClientRequest, block: str) -> tuple[dict[int, bytes], dict[str, bytes | None]]:
        system = request.fields.get("system", b"null")
        if system.lstrip()[:1] == b"[":
            return {}, {"system": spans.extend_array(system, spans.dumps({"type": "text", "text": block}))}
        if system.lstrip()[:1] == b'"':
            return {}, {"system": spans.extend_string(system, "\n\n" + block)}
        return {}, {"system": spans.dumps(block)}

    def assemble(self, data: bytes, *, stream: bool) -> Answer:
        if not stream:
            return self._whole(data)
        answer, blocks, usage = Answer(), _Blocks(), dict[str, Any]()
        for event in events(data):
            kind = event.get("type")
            if kind == "error":
                answer.error = error_text(event)
            elif kind == "message_start":
                usage.update((event.get("message") or {}).get("usage") or {})
            elif kind == "message_delta":
                usage.update({k: v for k, v in (event.get("usage") or {}).items() if v is not None})
                answer.finish_reason = (event.get("delta") or {}).get("stop_reason") or answer.finish_reason
            elif kind == "message_stop":
                answer.complete = True
            else:
                blocks.take(event)
        return _filled(answer, blocks.finished(), usage)

    def _whole(self, data: bytes) -> Answer:
        try:
            body = spans.loads(data)
            blocks = body["content"]
        except (ValueError, LookupError, TypeError):
            return Answer(error="the answer is not an Anthropic message")
        answer = Answer(finish_reason=body.get("stop_reason") or "", complete=True)
        return _filled(answer, blocks, body.get("usage") or {})

    def error(self, status: int, message: str) -> bytes:
        kinds = {
            400: "invalid_request_error",
            401: "authentication_error",
            403: "permission_error",
            404: "not_found_error",
            413: "request_too_large",
            429: "rate_limit_error",
            504: "timeout_error",
            529: "overloaded_error",
        }
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
        return spans.dumps({"type": "error", "error": {"type": kind, "message": message}})


class _Blocks:
    """Content blocks growing out of a stream, each by its index."""

    def __init__(self) -> None:
        self.blocks: dict[int, dict[str, Any]] = {}
        self.inputs: dict[int, list[str]] = {}

    def take(self, event: dict[str, Any]) -> None:
        """Add one event."""
        index = event.get("index", 0)
        if event.get("type") == "content_block_start":
            self.blocks[index] = dict(event.get("content_block") or {})
        elif event.get("type") == "content_block_delta":
            block, delta = self.blocks.setdefault(index, {"type": "text", "text": ""}), event.get("delta") or {}
            kind = delta.get("type")
            if kind == "input_json_delta":
                self.inputs.setdefault(index, []).append(delta.get("partial_json") or "")
            elif kind in ("text_delta", "thinking_delta", "signature_delta"):
                name = str(kind).removesuffix("_delta")
                block[name] = (block.get(name) or "") + (delta.get(name) or "")

    def finished(self) -> list[dict[str, Any]]:
        """All blocks in order, tool inputs parsed."""
        for index, pieces in self.inputs.items():
            text = "".join(pieces)
            try:
                value = spans.loads(text.encode()) if text else {}
            except spans.NotJson:
                value = {"_unparsed": text}  # what a broken stream left; never a call that looks whole
            self.blocks.setdefault(index, {"type": "tool_use"})["input"] = value
        return [self.blocks[i] for i in sorted(self.blocks)]


def _filled(answer: Answer, blocks: list[dict[str, Any]], usage: dict[str, Any]) -> Answer:
    if blocks:
        answer.messages = [spans.dumps({"role": "assistant", "content": blocks})]
    answer.text = "".join(part_texts(blocks))
    answer.pending_calls = any(isinstance(b, dict) and b.get("type") == "tool_use" for b in blocks)
    if usage:
        cached, written = usage.get("cache_read_input_tokens") or 0, usage.get("cache_creation_input_tokens") or 0
        answer.usage = Usage(
            prompt=(usage.get("input_tokens") or 0) + cached + written,
            cached=cached,
            cache_write=written,
            completion=usage.get("output_tokens") or 0,
        )
    return answer


def _unit(role: str, part: dict[str, Any]) -> Unit | None:
    kind = part.get("type")
    if kind == "text":
        return unit(role, "said", str(part.get("text") or ""))
    if kind == "tool_use":
        return call(str(part.get("name")), part.get("input"))
    if kind == "tool_result":
        return unit("user", "result", "\n".join(part_texts(part.get("content"))) or "(no text)")
    if kind in ("thinking", "redacted_thinking"):
        return None
    media = {key: value for key, value in part.items() if key != "cache_control"}
    return unit(role, "media", spans.dumps(media).decode())
