"""The values of this package: a skill, a match, what was chosen for a turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from metaclaw.skills.lifecycle import Stage

Source = Literal["builtin", "user", "learned"]
GENERAL_CATEGORIES = frozenset({"general", "common_mistakes"})


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill of the library. `digest` is the SHA-256 of its SKILL.md, in hexadecimal.

    `learned` means written by the evolver and not touched by a person since; only such a skill has another stage than
    `active`. `enabled` says whether it may be recalled: it is switched on, and its stage allows it.
    """

    name: str
    description: str
    category: str
    body: str
    path: Path
    source: Source
    enabled: bool
    digest: str
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    stage: Stage = "active"

    @property
    def general(self) -> bool:
        """Whether it counts against the budget of general skills."""
        return self.category in GENERAL_CATEGORIES


@dataclass(frozen=True, slots=True)
class Match:
    """A skill and how relevant it is to a query, 0 to 1."""

    skill: Skill
    score: float


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a skill folder that was forgiven or skipped."""

    path: Path
    what: str
    skipped: bool
