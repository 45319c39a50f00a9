"""The text of a skill as it is put into a turn."""

from __future__ import annotations

import re

from metaclaw.skills.skill import Skill

_OPEN = "<skill name="
_CLOSE = re.compile(r"<(?=/?skill\b)", re.IGNORECASE)
_BLOCK = re.compile(r"<skill name=\"[^\"\n]*\">\n.*?\n</skill>", re.DOTALL)


def render(skill: Skill) -> str:
    """The text that is injected for a skill: the same bytes whenever its description and body are the same."""
    body = _CLOSE.sub("&lt;", skill.body)
    description = _CLOSE.sub("&lt;", skill.description)
    return f'<skill name="{skill.name}">\n{description}\n\n{body}\n</skill>'


def strip_rendered(text: str) -> str:
    """The text without skills that were rendered into it."""
    return _BLOCK.sub("", text) if _OPEN in text else text
