"""Main turn or side call: is a person being answered, or is the agent talking to its model for itself?"""

from __future__ import annotations

import re

from metaclaw.gateway.protocols import ClientRequest

# How agents open the messages that no person wrote. Anchored at the start of what is left without the envelope.
_MACHINE_OPENINGS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("heartbeat", re.compile(r"Follow the heartbeat monitor scratch\b|Read HEARTBEAT\.md if it exists\b")),
    ("cron", re.compile(r"\[cron:[^\]]*\]")),
    ("memory_flush", re.compile(r"Pre-compaction memory flush\b")),
    ("skill_review", re.compile(r"Skill review\. Distill\b")),
    ("subagent", re.compile(r"\[Subagent Context\]")),
    ("compaction", re.compile(r"<conversation>\s")),
    ("compaction", re.compile(r"Your task is to create a detailed summary of (?:the|this|our) conversation\b")),
    ("title", re.compile(r"(?:Please )?(?:[Ww]rite|[Gg]enerate|[Cc]reate) an? (?:\S+ ){0,5}title for (?:this|the) c")),
    ("suggestion", re.compile(r"\[SUGGESTION MODE:")),
)
# How agents instruct their model for a chore, at the start of the system prompt.
_CHORE_SYSTEMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("compaction", re.compile(r"You are an? (?:\S+ ){0,3}(?:summarization|compaction) (?:assistant|agent)\b")),
    ("compaction", re.compile(r"You are a helpful AI assistant tasked with summarizing conversations\b")),
    ("recap", re.compile(r"Write an Activity recap\b")),
    ("title", re.compile(r"You are an? (?:\S+ ){0,3}title generator\b")),
    ("title", re.compile(r"(?:Generate|Create|Write) an? (?:\S+ ){0,5}title\b")),
    ("title", re.compile(r"Summarize this (?:coding )?conversation\b")),
    ("title", re.compile(r"Analyze if this message indicates a new conversation topic\b")),
)
_LEADING = 300  # characters of a system prompt in which a chore names itself


def side_reason(request: ClientRequest, *, session_uses_tools: bool) -> str:
    """Why this request is a side call; empty for a main turn."""
    person = newest_person(request)
    if person is None:
        return "no_person"
    opening = request.items[person].units
    said = next((u.text for u in reversed(opening) if u.role == "user" and u.kind == "said"), "")
    for reason, pattern in _MACHINE_OPENINGS:
        if pattern.match(said):
            return reason
    chore = _chore(request)
    if chore:
        return chore
    if _answered_already(request, person):
        return "internal_event"
    if _probe(request):
        return "probe"
    if session_uses_tools and not request.has_tools:
        return "no_tools"
    return ""


def newest_person(request: ClientRequest) -> int | None:
    """Index of the newest message in which a person says or shows something; None if there is none."""
    for index in range(len(request.items) - 1, -1, -1):
        units = request.items[index].units
        if any(u.role == "user" and u.kind in ("said", "media") for u in units):
            return index
    return None


def _chore(request: ClientRequest) -> str:
    if request.has_tools:
        return ""  # chores carry no tools; a system prompt of a real agent may mention titles
    leading = request.system[:_LEADING]
    return next((reason for reason, pattern in _CHORE_SYSTEMS if pattern.match(leading.lstrip())), "")


def _answered_already(request: ClientRequest, person: int) -> bool:
    """After the person's newest message the model has already answered, and now an internal event wants more."""
    after = request.items[person + 1 :]
    last = after[-1] if after else None
    if last is None or last.role == "assistant":
        return False  # a prefilled answer is still an answer to the person
    spoken = [u for item in after for u in item.units]
    return bool(spoken) and spoken[-1].role == "assistant" and spoken[-1].kind == "said"


def _probe(request: ClientRequest) -> bool:
    """A client that only tests its key or quota asks for one token."""
    limits = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    return any(request.fields.get(name, b"").strip() == b"1" for name in limits)
