"""A session as the evolver reads it: what the person said, what was answered, which tools were used.

Everything in it is data. Secrets are taken out, MetaClaw's own recalled text too, and long texts are cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaclaw.journal.records import Message, Turn
from metaclaw.skills.render import strip_rendered
from metaclaw.skills.screening import redact
from metaclaw.skills.tokens import terms

_SAID = 4000
_ANSWERED = 1500
_ARGUMENTS = 200
_RESULT = 300
_TOOLS = 8
_WHOLE = 60_000
_LEAST_TERMS = 4


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call of a turn; `result` is what came back, empty when nothing did."""

    name: str
    arguments: str
    result: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """One turn: its number, the person's words, the answer, the tools used, the skills recalled into it, and those that
    were held back in this session to see how it goes without them."""

    number: int
    turn_id: int
    said: str
    answered: str
    tools: tuple[ToolUse, ...] = ()
    recalled: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns of a session that are to be learned from."""

    session_id: str
    exchanges: tuple[Exchange, ...]

    def has_substance(self) -> bool:
        """Whether the person said anything that a skill could rest on."""
        return len({term for exchange in self.exchanges for term in terms(exchange.said)}) >= _LEAST_TERMS

    def said(self) -> str:
        """All of the person's words."""
        return "\n".join(exchange.said for exchange in self.exchanges)

    def tool_results(self) -> str:
        """All that tools gave back."""
        return "\n".join(tool.result for exchange in self.exchanges for tool in exchange.tools)

    def as_data(self) -> list[dict[str, Any]]:
        """The turns for the evolver's prompt, cut to size: the first one and the newest ones are kept."""
        turns = [_as_data(exchange) for exchange in self.exchanges]
        size = 0
        kept: list[dict[str, Any]] = []
        for turn in [*turns[:1], *reversed(turns[1:])]:
            size += len(json.dumps(turn, ensure_ascii=False))
            if kept and size > _WHOLE:
                break
            kept.append(turn)
        return sorted(kept, key=lambda turn: int(turn["turn"]))


def transcript(session_id: str, turns: Iterable[Turn], messages: Mapping[int, Sequence[Message]]) -> Transcript:
    """The transcript of finished turns; `messages` holds what each turn (by id) added to the conversation."""
    exchanges = [
        Exchange(
            number=turn.number,
            turn_id=turn.id,
            said=redact(strip_rendered(turn.user_text)).strip(),
            answered=redact(turn.answer_text).strip(),
            tools=tuple(tool_uses(messages.get(turn.id, ()))),
            recalled=_skills(turn, withheld=False),
            held_back=_skills(turn, withheld=True),
        )
        for turn in turns
        if turn.status == "ok" and turn.user_text.strip() and turn.answer_text.strip()
    ]
    return Transcript(session_id, tuple(exchanges))


def _skills(turn: Turn, *, withheld: bool) -> tuple[str, ...]:
    items = (item for item in turn.recalled if item.get("kind") == "skill" and bool(item.get("withheld")) == withheld)
    return tuple(str(item.get("name", "")) for item in items)


def tool_uses(messages: Sequence[Message]) -> list[ToolUse]:
    """The tool calls in some messages, in any of the three wire protocols, each with its result."""
    calls: dict[str, tuple[str, str]] = {}
    results: dict[str, str] = {}
    for message in messages:
        for block in _blocks(message.body):
            _read_block(block, calls, results)
    return [
        ToolUse(name, redact(arguments), redact(results.get(call_id, "")))
        for call_id, (name, arguments) in calls.items()
    ]


def _blocks(body: bytes) -> list[dict[str, Any]]:
    """The parts of a message that may be a tool call or a result."""
    try:
        value = json.loads(body)
    except ValueError:
        return []
    found: list[Any] = [value]
    if isinstance(value, dict):
        for key in ("content", "tool_calls", "output"):
            inner = value.get(key)
            found += inner if isinstance(inner, list) else []
    return [block for block in found if isinstance(block, dict)]


def _read_block(block: dict[str, Any], calls: dict[str, tuple[str, str]], results: dict[str, str]) -> None:
    kind = block.get("type")
    function = block.get("function")
    if isinstance(function, dict) and "name" in function:
        calls[str(block.get("id"))] = (str(function["name"]), _plain(function.get("arguments")))
    elif kind == "tool_use":
        calls[str(block.get("id"))] = (str(block.get("name")), _plain(block.get("input")))
    elif kind == "function_call":
        calls[str(block.get("call_id"))] = (str(block.get("name")), _plain(block.get("arguments")))
    elif kind == "tool_result":
        results[str(block.get("tool_use_id"))] = _plain(block.get("content"))
    elif kind == "function_call_output":
        results[str(block.get("call_id"))] = _plain(block.get("output"))
    elif block.get("role") == "tool":
        results[str(block.get("tool_call_id"))] = _plain(block.get("content"))


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _as_data(exchange: Exchange) -> dict[str, Any]:
    tools = [
        {"name": tool.name, "arguments": _cut(tool.arguments, _ARGUMENTS), "result": _cut(tool.result, _RESULT)}
        for tool in exchange.tools[:_TOOLS]
    ]
    return {
        "turn": exchange.number,
        "person": _cut(exchange.said, _SAID),
        "agent": _cut(exchange.answered, _ANSWERED),
        **({"tools": tools} if tools else {}),
        **({"skills_in_play": list(exchange.recalled)} if exchange.recalled else {}),
    }


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]} … {text[-(limit - head) :]}"
