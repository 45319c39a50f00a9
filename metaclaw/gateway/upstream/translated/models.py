"""What the name of a model tells about the settings it accepts, for the few settings where a wrong guess is a 400."""

from __future__ import annotations

import re

from metaclaw.gateway.upstream.translated.parts import Thinking

_CLAUDE = re.compile(r"claude[-_.a-z]*?[-_](\d{1,2})(?:[-._](\d{1,2}))?(?!\d)")
_OPENAI_REASONING = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)|codex)")
_TAKES_EFFORT = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d|oss)|codex|gemini-(?:2\.5|[3-9])|grok-(?:3-mini|[4-9]))")

BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 24_576, "xhigh": 32_000, "max": 32_000}


def is_claude(model: str) -> bool:
    """Whether this is one of Anthropic's models, whoever serves it."""
    return "claude" in model.lower()


def claude_version(model: str) -> tuple[int, int]:
    """(4, 6) for claude-opus-4-6 and claude-opus-4.6-20260101; (0, 0) for what is no Claude with a version."""
    found = _CLAUDE.search(model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def thinks_adaptively(model: str) -> bool:
    """Claude from 4.6 on decides itself how long it thinks, guided by an effort; older ones want a budget."""
    return claude_version(model) >= (4, 6)


def is_openai_reasoning(model: str) -> bool:
    """OpenAI's reasoning models, which refuse max_tokens and know encrypted reasoning."""
    return bool(_OPENAI_REASONING.search(model.lower()))


def takes_effort(model: str) -> bool:
    """Models known to accept reasoning_effort in chat completions."""
    return bool(_TAKES_EFFORT.search(model.lower()))


def default_max_tokens(model: str) -> int:
    """Anthropic's protocol requires max_tokens; this is what is asked for when the client set no limit."""
    version = claude_version(model)
    if version >= (3, 7):
        return 32_000
    if (0, 0) < version < (3, 5):
        return 4096
    return 8192


def effort_of(thinking: Thinking) -> str:
    """The effort in a word: the client's own, or the one that its budget amounts to."""
    if thinking.effort or not thinking.budget:
        return thinking.effort
    return "low" if thinking.budget < 4096 else "medium" if thinking.budget < 16_384 else "high"


def budget_of(thinking: Thinking, max_tokens: int) -> int:
    """The budget in tokens, below max_tokens; 0 where there is no room to think."""
    budget = thinking.budget or BUDGETS.get(thinking.effort, BUDGETS["medium"])
    if budget >= max_tokens:
        budget = max_tokens // 2
    return budget if budget >= 1024 else 0
