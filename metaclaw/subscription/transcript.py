"""A chat conversation as one prompt, for programs that take text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEFAULT_SYSTEM = "You are a helpful assistant."
_INTRODUCTION = (
    "Below is a conversation, oldest message first. Write the assistant's next message: its text only, without tags."
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the program is told: `system` replaces its own instructions, `prompt` is its input."""

    system: str
    prompt: str


def conversation(messages: Sequence[Any], response_format: Any = None) -> Conversation:
    """Read chat completion messages. A lone user message stays as it is."""
    known = [message for message in messages if isinstance(message, Mapping)]
    system = [_text(m.get("content")) for m in known if m.get("role") in ("system", "developer")]
    spoken = [message for message in known if message.get("role") not in ("system", "developer")]
    if wanted := _json_wanted(response_format):
        system.append(wanted)
    if len(spoken) == 1 and spoken[0].get("role") == "user":
        prompt = _text(spoken[0].get("content"))
    else:
        prompt = "\n\n".join([_INTRODUCTION, *(_tagged(message) for message in spoken)])
    return Conversation("\n\n".join(part for part in system if part) or DEFAULT_SYSTEM, prompt)


def _tagged(message: Mapping[str, Any]) -> str:
    role = str(message.get("role") or "user")
    label = f' answers="{message["tool_call_id"]}"' if role == "tool" and message.get("tool_call_id") else ""
    parts = [_text(message.get("content"))]
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            parts.append(f'<tool_call id="{call.get("id")}" name="{function.get("name")}">{function.get("arguments")}')
            parts[-1] += "</tool_call>"
    return f"<{role}{label}>\n" + "\n".join(part for part in parts if part) + f"\n</{role}>"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_part(part) for part in content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    if isinstance(text := part.get("text") or part.get("refusal"), str):
        return text
    return f"[{str(part.get('type', 'attachment')).removesuffix('_url')} left out]"


def _json_wanted(response_format: Any) -> str:
    if not isinstance(response_format, Mapping) or response_format.get("type") not in ("json_object", "json_schema"):
        return ""
    named = response_format.get("json_schema")
    schema = named.get("schema") if isinstance(named, Mapping) else None
    shape = f" that fits this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}" if schema else "."
    return f"Answer with one JSON value and nothing else{shape}"
