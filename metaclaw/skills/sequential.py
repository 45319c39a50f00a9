"""Does a skill help? A sequential test of outcomes with the skill against outcomes without it.

The test is an e-process for two Bernoulli samples (Turner, Ly and Grünwald, "Generic E-variables for exact sequential
k-sample tests that allow for optional stopping", J. Stat. Plan. Inference 230, 2024). It may be looked at after every
outcome, as often as one likes: were the skill of no use, the chance that `better` ever reaches 1/α is at most α
(Ville's inequality), and likewise for `worse` were it of no harm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Literal

Verdict = Literal["better", "worse", "open"]

# What the test bets on ahead of any outcome: that the skill makes three of four turns good, and its absence one. Any
# bet keeps the error rate; a good one decides sooner.
_PRIOR = (1.5, 0.5)


@dataclass(frozen=True, slots=True)
class Arm:
    """Outcomes of one kind of turn: how many there were, and how many were good."""

    total: int = 0
    good: int = 0

    def plus(self, other: Arm) -> Arm:
        """Both together."""
        return Arm(self.total + other.total, self.good + other.good)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Bounds of the share of good outcomes (Wilson's score interval); (0, 1) when there are none."""
        if not self.total:
            return 0.0, 1.0
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        share, n = self.good / self.total, self.total
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All outcomes so far. `log_better` and `log_worse` are the natural logarithms of the two e-values.

    An outcome waits in `waiting_*` until the other arm has one as well: outcomes are bet on in blocks of both.
    """

    treated: Arm = field(default_factory=Arm)
    control: Arm = field(default_factory=Arm)
    waiting_treated: Arm = field(default_factory=Arm)
    waiting_control: Arm = field(default_factory=Arm)
    log_better: float = 0.0
    log_worse: float = 0.0

    def add(self, *, treated: bool, good: bool) -> Evidence:
        """With one more outcome. Outcomes must come in an order that doesn't depend on how good they were."""
        one = Arm(1, int(good))
        if treated:
            grown = replace(self, treated=self.treated.plus(one), waiting_treated=self.waiting_treated.plus(one))
        else:
            grown = replace(self, control=self.control.plus(one), waiting_control=self.waiting_control.plus(one))
        return grown._settled() if grown.waiting_treated.total and grown.waiting_control.total else grown

    def verdict(self, *, error_rate: float, least: int) -> Verdict:
        """What is known at this error rate, once each arm has `least` outcomes."""
        if min(self.treated.total, self.control.total) < least:
            return "open"
        bound = -math.log(error_rate)
        if self.log_better >= bound:
            return "better"
        return "worse" if self.log_worse >= bound else "open"

    def _settled(self) -> Evidence:
        """The block of what waits, bet on with what was known ahead of it."""
        a, b = self.waiting_treated, self.waiting_control
        known_a = Arm(self.treated.total - a.total, self.treated.good - a.good)
        known_b = Arm(self.control.total - b.total, self.control.good - b.good)
        high, low = _PRIOR
        better = _gain(a, b, _mean(known_a, high, low), _mean(known_b, low, high))
        worse = _gain(b, a, _mean(known_b, high, low), _mean(known_a, low, high))
        return replace(
            self,
            waiting_treated=Arm(),
            waiting_control=Arm(),
            log_better=self.log_better + better,
            log_worse=self.log_worse + worse,
        )


def _mean(known: Arm, good: float, bad: float) -> float:
    return (known.good + good) / (known.total + good + bad)


def _gain(above: Arm, below: Arm, high: float, low: float) -> float:
    """Logarithm of the block's e-value for "above is better", with these shares as the bet; 0 when that isn't bet."""
    if high <= low:
        return 0.0
    null = (above.total * high + below.total * low) / (above.total + below.total)
    return _likelihood(above, high, null) + _likelihood(below, low, null)


def _likelihood(arm: Arm, share: float, null: float) -> float:
    return arm.good * math.log(share / null) + (arm.total - arm.good) * math.log((1 - share) / (1 - null))
