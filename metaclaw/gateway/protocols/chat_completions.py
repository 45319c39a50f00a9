"""OpenAI chat completions."""

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


class ChatCompletions(Dialect):
    """`POST /v1/chat/completions`."""

    wire = "chat"
    items_key = "messages"
    done_marks = (b"[DONE]",)

    def units(self, message: dict[str, Any]) -> tuple[str, list[Unit | None]]:
        role = str(message.get("role") or "")
        content = message.get("content")
        if role in ("tool", "function"):
            return role, [unit("user", "result", "\n".join(part_texts(content)))]
        found: list[Unit | None] = [unit(role, "said", text) for text in part_texts(content)]
        if isinstance(content, list):
            found += [unit(role, "media", spans.dumps(p).decode()) for p in content if _is_media(p)]
        for item in message.get("tool_calls") or []:
            function = item.get("function") if isinstance(item, dict) else None
            if isinstance(function, dict):
                found.append(call(str(function.get("name")), function.get("arguments")))
        return role, found

    def texts(self, message: dict[str, Any]) -> list[str]:
        return part_texts(message.get("content"))

    def system_text(self, fields: dict[str, bytes], items: list[Item]) -> str:
        return next((u.text for i in items[:3] for u in i.units if u.role == "system"), "")

    def append(self, raw: bytes, block: str) -> bytes:
        return append_to_content(raw, block, {"type": "text"})

    def append_system(self, request: ClientRequest, block: str) -> tuple[dict[int, bytes], dict[str, bytes | None]]:
        for index, item in enumerate(request.items):
            if item.role in ("system", "developer"):
                return {index: self.append(item.raw, block)}, {}
        array = request.fields["messages"].lstrip()
        message = spans.dumps({"role": "system", "content": block})
        return {}, {"messages": b"[" + message + (b"," if request.items else b"") + array[1:]}

    def assemble(self, data: bytes, *, stream: bool) -> Answer:
        if not stream:
            return self._whole(data)
        answer, message = Answer(complete=b"[DONE]" in data[-64:]), _Message()
        for event in events(data):
            if event.get("error"):
                answer.error = error_text(event)
            if "usage" in event:
                answer.usage = _usage(event) or answer.usage
            choices = event.get("choices")
            for choice in choices if isinstance(choices, list) else ():
                if not isinstance(choice, dict) or choice.get("index"):
                    continue
                message.take(choice.get("delta") or {})
                answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
                break
        answer.complete = answer.complete or bool(answer.finish_reason)
        return message.into(answer)

    def _whole(self, data: bytes) -> Answer:
        try:
            body = spans.loads(data)
            choice = body["choices"][0]
            raw = spans.elements(spans.members(data)["choices"])[0]
            message = spans.members(raw)["message"]
        except (ValueError, LookupError, TypeError):
            return Answer(error="the answer is not a chat completion")
        said = choice["message"]
        return Answer(
            messages=[message],
            text="\n".join(part_texts(said.get("content"))),
            finish_reason=choice.get("finish_reason") or "",
            usage=_usage(body),
            pending_calls=bool(said.get("tool_calls")),
            complete=True,
        )

    def error(self, status: int, message: str) -> bytes:
        kind = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}.get(status)
        kind = kind or ("invalid_request_error" if status < 500 else "api_error")
        return spans.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}})


class _Message:
    """An assistant message growing out of deltas."""

    def __init__(self) -> None:
        self.content: list[str] = []
        self.reasoning: list[str] = []
        self.calls: dict[int, dict[str, Any]] = {}

    def take(self, delta: dict[str, Any]) -> None:
        """Add one delta."""
        content = delta.get("content")
        if isinstance(content, str):
            self.content.append(content)
        elif content:
            self.content += part_texts(content)
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str):
            self.reasoning.append(thought)
        for part in delta.get("tool_calls") or []:
            if isinstance(part, dict):
                self._call(part)

    def _call(self, part: dict[str, Any]) -> None:
        index = part.get("index")
        index = index if isinstance(index, int) else max(self.calls, default=0)
        known = self.calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        known["id"] = part.get("id") or known["id"]
        function = part.get("function") or {}
        known["function"]["name"] = function.get("name") or known["function"]["name"]
        known["function"]["arguments"] += function.get("arguments") or ""

    def into(self, answer: Answer) -> Answer:
        """Finish: the message goes into the answer, unless nothing was said."""
        answer.text = "".join(self.content)
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if self.reasoning:
            message["reasoning_content"] = "".join(self.reasoning)
        if self.calls:
            message["tool_calls"] = [self.calls[i] for i in sorted(self.calls)]
            answer.pending_calls = True
        if answer.text or self.calls or self.reasoning:
            answer.messages = [spans.dumps(message)]
        return answer


def _is_media(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") not in (None, "text", "thinking", "reasoning", "refusal")


def _usage(body: dict[str, Any]) -> Usage | None:
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        prompt=_count(usage.get("prompt_tokens")),
        cached=_count(details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")),
        cache_write=_count(details.get("cache_write_tokens") or usage.get("cache_creation_input_tokens")),
        completion=_count(usage.get("completion_tokens")),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
