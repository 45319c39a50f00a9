"""What a person and an assistant really said: without recalled blocks, envelopes and turns that no person started."""

from __future__ import annotations

import re

LONGEST = 60_000  # characters kept of one side of a turn

_FENCED = re.compile(
    r"<(?P<tag>metaclaw-[a-z]+|system-reminder|relevant[-_]memories|memory[-_]context|recalled[-_]memories|skill"
    r"|environment_context|user_instructions)\b[^>]*>.*?(?:</(?P=tag)\s*>|\Z)\s*"
    r"|<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?(?:<<<END_OPENCLAW_INTERNAL_CONTEXT>>>|\Z)\s*"
    r"|^[A-Z][\w -]{2,60} \(untrusted[^)\n]*\):\n```(?:json)?\n.*?\n```\s*",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
# A line of our own recalled block that lost its fence on the way.
_OWN_LINE = re.compile(
    r"^[ \t>*-]*\[\d{4}-\d\d-\d\d\b[^\]\n]*\][^\n]*\((?:mem|turn)_[0-9a-f]{14}\)[ \t]*$\n?", re.MULTILINE
)
_MACHINE = re.compile(
    r"Follow the heartbeat monitor scratch\b|Read HEARTBEAT\.md if it exists\b|\[cron:[^\]]*\]"
    r"|Pre-compaction memory flush\b|Skill review\. Distill\b|\[Subagent Context\]"
    r"|System: \[[^\]]*\] (?:Exec|Cron|Node|Hook)\b|\[heartbeat\]",
    re.IGNORECASE,
)
_MACHINE_ANSWER = re.compile(r"\W*(?:HEARTBEAT_OK|NO_REPLY)\W*")
_UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without recalled and machine-made blocks, without control characters, and not endless."""
    text = _UNREADABLE.sub("", text.replace("\r\n", "\n"))
    if "<" in text or "(untrusted" in text:
        text = _FENCED.sub("", text)
    if "_" in text:
        text = _OWN_LINE.sub("", text)
    text = text.strip()
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n[…]\n{text[-LONGEST // 2 :]}"


def not_a_conversation(prompt: str, response: str) -> str:
    """Why a cleaned turn is nothing to remember: "heartbeat", "empty"; "" when a person speaks in it."""
    if _MACHINE.match(prompt) or _MACHINE_ANSWER.fullmatch(response):
        return "machine"
    return "" if prompt or response else "empty"
