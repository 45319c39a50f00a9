"""Reads a request of any protocol into the few things a script decides on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
SYNTHETIC = ("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<system-reminder>")


@dataclass(frozen=True, slots=True)
class Asked:
    """A model call as the script sees it. `rounds` counts tool rounds since the person's newest message."""

    wire: str
    model: str
    stream: bool
    user_text: str
    system_text: str
    all_text: str
    rounds: int
    messages: int
    has_tools: bool
    include_usage: bool
    limit: int  # tokens the answer may have; 0 for no limit
    prompt: list[tuple[bytes, bool]]  # the cacheable blocks in order; True where the client set a cache mark


def read(wire: str, body: dict[str, Any]) -> Asked:
    """Read a request body of protocol `wire`. Raises TypeError where it is none."""
    messages = _messages(wire, body)
    newest = _newest_person(messages)
    system = [_text(message) for message in messages if message.get("role") in ("system", "developer")]
    system.append(_plain(body.get("system") or body.get("instructions") or ""))
    tools = body.get("tools") or []
    options = body.get("stream_options") or {}
    return Asked(
        wire=wire,
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        user_text=_person_text(messages[newest]) if newest >= 0 else "",
        system_text="\n".join(system),
        all_text="\n".join([*system, *(_text(message) for message in messages)]),
        rounds=sum(_calls_tools(message) for message in messages[newest + 1 :]),
        messages=len(messages),
        has_tools=bool(tools),
        include_usage=bool(options.get("include_usage")),
        limit=next((int(body[name]) for name in LIMITS if body.get(name)), 0),
        prompt=_prompt(body, messages, tools),
    )


def _messages(wire: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    source = {"responses": "input", "completions": "prompt"}.get(wire, "messages")
    value = body.get(source) or []
    if source == "messages" and isinstance(value, str):
        raise TypeError("messages must be a list")
    if not isinstance(value, str | list):
        raise TypeError(f"{source} must be a list")
    return [{"role": "user", "content": value}] if isinstance(value, str) else list(value)


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content or [] if isinstance(part, dict))


def _text(message: dict[str, Any]) -> str:
    return _plain(message.get("content") or message.get("output") or "")


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _person_text(message: dict[str, Any]) -> str:
    texts = [part.get("text") or "" for part in _parts(message)]
    return "\n".join(text for text in texts if text and not text.startswith(SYNTHETIC))


def _newest_person(messages: list[dict[str, Any]]) -> int:
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.get("role") != "user" or any(part.get("type") == "tool_result" for part in _parts(message)):
            continue
        if _person_text(message):
            return index
    return -1


def _calls_tools(message: dict[str, Any]) -> bool:
    if message.get("role") == "assistant":
        return bool(message.get("tool_calls")) or any(part.get("type") == "tool_use" for part in _parts(message))
    return message.get("type") == "function_call"


def _prompt(body: dict[str, Any], messages: list[dict[str, Any]], tools: list[Any]) -> list[tuple[bytes, bool]]:
    """Tools, then system, then messages, block by block: the order in which providers match a prefix."""
    blocks: list[tuple[bytes, bool]] = [_block(tool) for tool in tools]
    system = body.get("system") or body.get("instructions")
    if system:
        blocks += [_block(part) for part in _parts({"content": system})]
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            blocks += [_block(part, str(message.get("role"))) for part in content]
            rest = {key: value for key, value in message.items() if key not in ("content", "role")}
            if rest:
                blocks.append(_block(rest))
        else:
            blocks.append(_block(message))
    return blocks


def _block(value: Any, role: str = "") -> tuple[bytes, bool]:
    marked = isinstance(value, dict) and "cache_control" in value
    bare = {key: item for key, item in value.items() if key != "cache_control"} if marked else value
    return (role + json.dumps(bare, ensure_ascii=False, separators=(",", ":"))).encode("utf-8", "replace"), marked
