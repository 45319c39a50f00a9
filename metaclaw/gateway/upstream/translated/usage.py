"""Token counts in three dialects. OpenAI's prompt total includes cached tokens, Anthropic's input excludes them."""

from __future__ import annotations

from dataclasses import dataclass

from metaclaw.gateway.upstream.translated.payload import Json, as_count, as_dict


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts that do not overlap; `reasoning` is a part of `output`."""

    fresh: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def input(self) -> int:
        """All tokens of the prompt."""
        return self.fresh + self.cached + self.written


def _split(total: int, cached: int, written: int, output: int, reasoning: int) -> Usage:
    cached = min(cached, total)
    written = min(written, total - cached)
    return Usage(total - cached - written, cached, written, output, reasoning)


def read_chat(usage: Json) -> Usage:
    """From chat completions, with the places where DeepSeek, Moonshot and Claude resellers put cached tokens."""
    details = as_dict(usage.get("prompt_tokens_details"))
    cached = (
        as_count(details.get("cached_tokens"))
        or as_count(usage.get("cached_tokens"))
        or as_count(usage.get("prompt_cache_hit_tokens"))
    )
    written = (
        as_count(details.get("cache_write_tokens"))
        or as_count(details.get("cache_creation_tokens"))
        or as_count(usage.get("cache_creation_input_tokens"))
    )
    reasoning = as_count(as_dict(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    return _split(
        as_count(usage.get("prompt_tokens")), cached, written, as_count(usage.get("completion_tokens")), reasoning
    )


def write_chat(usage: Usage) -> Json:
    """For chat completions."""
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.written},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def read_messages(usage: Json, before: Usage | None = None) -> Usage:
    """From Anthropic's messages; a count that is missing keeps its value from `before` (message_start)."""
    old = before or Usage()

    def count(key: str, value: int) -> int:
        found = usage.get(key)
        return value if found is None else as_count(found)

    details = usage.get("output_tokens_details")
    return Usage(
        fresh=count("input_tokens", old.fresh),
        cached=count("cache_read_input_tokens", old.cached),
        written=count("cache_creation_input_tokens", old.written),
        output=count("output_tokens", old.output),
        reasoning=as_count(details.get("thinking_tokens")) if isinstance(details, dict) else old.reasoning,
    )


def write_messages(usage: Usage) -> Json:
    """For Anthropic's messages."""
    return {
        "input_tokens": usage.fresh,
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    }


def read_responses(usage: Json) -> Usage:
    """From responses."""
    details = as_dict(usage.get("input_tokens_details"))
    return _split(
        as_count(usage.get("input_tokens")),
        as_count(details.get("cached_tokens")),
        as_count(details.get("cache_write_tokens")),
        as_count(usage.get("output_tokens")),
        as_count(as_dict(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )


def write_responses(usage: Usage) -> Json:
    """For responses."""
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.written},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
