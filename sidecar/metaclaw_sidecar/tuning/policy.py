"""What is tuned: how memories are found, and how sure and how many they must be to be said unasked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Self

from ..retrieval import Mode
from ..settings import Settings

MODES: tuple[Mode, ...] = ("hybrid", "keyword", "semantic")
_SCORES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
_COUNTS = (3, 5, 8)


@dataclass(frozen=True, slots=True)
class Policy:
    """One setting of everything that is tuned."""

    mode: Mode
    recall_score: float
    top_k: int

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """What the settings say."""
        return cls("hybrid" if settings.mode == "auto" else settings.mode, settings.recall_score, settings.top_k)

    @classmethod
    def read(cls, value: Any) -> Self | None:
        """From JSON; None where it is no policy."""
        try:
            return cls(value["mode"], float(value["recall_score"]), int(value["top_k"]))
        except (KeyError, TypeError, ValueError):
            return None

    def within(self, settings: Settings) -> Settings:
        """The settings with this policy in them."""
        return settings.model_copy(update=asdict(self))


def candidates(current: Policy) -> list[Policy]:
    """All that are tried, the one in force first."""
    grid = [Policy(mode, score, count) for mode, score, count in product(MODES, _SCORES, _COUNTS)]
    return [current, *(one for one in grid if one != current)]
