"""Settings that several dialects write alike."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.parts import Thinking
from metaclaw.gateway.upstream.translated.payload import as_count, as_dict


def as_number(value: object) -> float | None:
    """A sampling setting, or None for anything that is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def as_strict(value: object) -> bool | None:
    """A tool's or schema's `strict`."""
    return value if isinstance(value, bool) else None


def read_thinking_object(value: object) -> Thinking | None:
    """`thinking` as Anthropic writes it, and after it many chat providers."""
    setting = as_dict(value)
    kind = setting.get("type")
    if kind == "disabled":
        return Thinking(off=True)
    if kind == "enabled":
        budget = as_count(setting.get("budget_tokens"))
        return Thinking("" if budget else "medium", budget)
    if kind in ("adaptive", "auto"):
        return Thinking(adaptive=True)
    return None
