"""Which policy is better, and whether that is more than luck. Pure: it knows numbers only."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

LEAST_TURNS = 30  # held-out turns without which nothing is said
_LEAST_GAIN = 0.005
_RESAMPLES = 2000
_LUCK = 0.05


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was measured. `low` is the gain that 95 of 100 resamples reach at least."""

    better: bool
    reason: str
    chosen: int = 0
    turns: int = 0
    before: float = 0.0
    after: float = 0.0
    low: float = 0.0


def judge(tuned_on: Mapping[int, Sequence[float]], held_out: Mapping[int, Sequence[float]]) -> Verdict:
    """Choose on some turns, judge on others. Policy → its worth on each turn, in the same order; 0 is in force."""
    turns = len(held_out[0])
    if turns < LEAST_TURNS or len(tuned_on[0]) < LEAST_TURNS:
        return Verdict(False, f"too few turns: {len(tuned_on[0])} to choose on and {turns} to judge on", turns=turns)
    chosen = max(tuned_on, key=lambda one: (fmean(tuned_on[one]), one == 0))
    before, after = fmean(held_out[0]), fmean(held_out[chosen])
    if chosen == 0:
        return Verdict(False, "nothing is better than what is in force", 0, turns, before, after)
    gains = [new - old for new, old in zip(held_out[chosen], held_out[0], strict=True)]
    low = _low(gains)
    better = low > 0 and after - before >= _LEAST_GAIN
    reason = "better on turns it was not chosen on" if better else "not surely better on turns it was not chosen on"
    return Verdict(better, reason, chosen, turns, before, after, low)


def _low(gains: Sequence[float]) -> float:
    """The lower end of the mean gain, by the bootstrap; the same numbers give the same answer."""
    chance = random.Random(len(gains))  # noqa: S311 - no secret
    means = sorted(fmean(chance.choices(gains, k=len(gains))) for _ in range(_RESAMPLES))
    return means[int(_RESAMPLES * _LUCK)]
