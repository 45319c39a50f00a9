"""The text of a skill as it is put into a turn, and which skills fit the budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from metaclaw.skills.skill import Match, Omission, Skill

_OPEN = "<skill name="
_CLOSE = re.compile(r"<(?=/?skill\b)", re.IGNORECASE)
_BLOCK = re.compile(r"<skill name=\"[^\"\n]*\">\n.*?\n</skill>", re.DOTALL)


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
