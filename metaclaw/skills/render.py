"""The text of a skill as it is put into a turn, and how to see that it is there already."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from metaclaw.skills.skill import Match, Omission, Skill

_OPEN = "<skill name="
_CLOSE = re.compile(r"<(?=/?skill\b)", re.IGNORECASE)
_BLOCK = re.compile(r"<skill name=\"[^\"\n]*\">\n.*?\n</skill>", re.DOTALL)
_LEAST_LINE = 24  # shorter lines occur in texts that have nothing to do with the skill
_PROBES = 8


@dataclass(frozen=True, slots=True)
class Selection:
    """What fits the budget of a turn, and what was left out for which reason."""

    chosen: list[Match]
    omitted: list[Omission]
    tokens: int


def render(skill: Skill) -> str:
    """The text that is injected for a skill: the same bytes whenever its description and body are the same."""
    body = _CLOSE.sub("&lt;", skill.body)
    description = _CLOSE.sub("&lt;", skill.description)
    return f'<skill name="{skill.name}">\n{description}\n\n{body}\n</skill>'


def strip_rendered(text: str) -> str:
    """The text without skills that were rendered into it."""
    return _BLOCK.sub("", text) if _OPEN in text else text


def select(matches: Iterable[Match], max_tokens: int, count: Callable[[str], int]) -> Selection:
    """Whole skills, most relevant first, until the budget is spent; `count` says how many tokens a text has."""
    chosen: list[Match] = []
    omitted: list[Omission] = []
    spent = 0
    for match in sorted(matches, key=lambda match: -match.score):
        cost = count(render(match.skill))
        if spent + cost <= max_tokens:
            chosen.append(match)
            spent += cost
        else:
            omitted.append(Omission(match, f"needs {cost} tokens, {max_tokens - spent} of {max_tokens} are left"))
    return Selection(chosen, omitted, spent)


def already_present(skill: Skill, texts: Sequence[str]) -> bool:
    """Whether a conversation holds the skill: its SKILL.md was read, or its text is there in some other way."""
    probes = _probes(skill.body)
    needed = max(1, (len(probes) * 3 + 3) // 4)
    description = " ".join(skill.description.split())
    for text in texts:
        if len(text) < min(_LEAST_LINE, len(skill.body)):
            continue
        if probes and sum(1 for probe in probes if probe in text) >= needed:
            return True
        if not probes and skill.body in text:
            return True
        if skill.name in text and description in text and _front_matter(skill.name).search(text):
            return True
    return False


def _front_matter(name: str) -> re.Pattern[str]:
    # A tool may number the lines it reads, so the key need not stand at the start of its line.
    return re.compile(rf"(?m)^.{{0,12}}\bname:\s*[\"']?{re.escape(name)}[\"']?\s*$")


@lru_cache(maxsize=1024)
def _probes(body: str) -> tuple[str, ...]:
    """The longest lines of a body: found one by one, since a tool may number or indent the lines it reads."""
    lines = {line.strip() for line in body.split("\n")}
    long = sorted((line for line in lines if len(line) >= _LEAST_LINE), key=lambda line: (-len(line), line))
    return tuple(long[:_PROBES])
