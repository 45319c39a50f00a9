"""Skills: the library of SKILL.md files, which of them a turn is about, and how new ones are learned."""

from metaclaw.skills.errors import BadName, Exists, FormatError, HistoryError, NotFound, Refused, SkillError
from metaclaw.skills.format import Document
from metaclaw.skills.library import Library
from metaclaw.skills.presence import Presence
from metaclaw.skills.ranking import Ranker
from metaclaw.skills.render import render, strip_rendered
from metaclaw.skills.skill import Match, Problem, Skill

__all__ = [
    "BadName",
    "Document",
    "Exists",
    "FormatError",
    "HistoryError",
    "Library",
    "Match",
    "NotFound",
    "Presence",
    "Problem",
    "Ranker",
    "Refused",
    "Skill",
    "SkillError",
    "render",
    "strip_rendered",
]
