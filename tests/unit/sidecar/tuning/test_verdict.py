"""A policy is better when turns it was not chosen on say so, by more than luck."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from metaclaw_sidecar.tuning import Policy, judge
from metaclaw_sidecar.tuning.policy import candidates
from metaclaw_sidecar.tuning.replay import Piece, worth


def test_a_clear_gain_on_both_halves_is_better() -> None:
    verdict = judge({0: [0.1] * 40, 1: [0.3] * 40}, {0: [0.1] * 40, 1: [0.25] * 40})
    assert (verdict.better, verdict.chosen, verdict.turns) == (True, 1, 40)
    assert (round(verdict.before, 2), round(verdict.after, 2)) == (0.1, 0.25)


def test_what_only_shines_where_it_was_chosen_is_not_promoted() -> None:
    verdict = judge({0: [0.1] * 40, 1: [0.9] * 40}, {0: [0.1] * 40, 1: [0.05] * 40})
    assert not verdict.better
    assert verdict.chosen == 1


def test_few_turns_say_nothing() -> None:
    verdict = judge({0: [0.0] * 200, 1: [1.0] * 200}, {0: [0.0] * 5, 1: [1.0] * 5})
    assert not verdict.better
    assert verdict.reason == "too few turns: 200 to choose on and 5 to judge on"


def test_luck_alone_rarely_promotes() -> None:
    chance = random.Random(7)

    def noise() -> list[float]:
        return [chance.gauss(0, 0.3) for _ in range(60)]

    promoted = sum(
        judge({n: noise() for n in range(10)}, {n: noise() for n in range(10)}).better for _ in range(60)
    )  # fmt: skip
    assert promoted <= 9  # one in twenty, and then some


@given(st.lists(st.floats(-1, 1), min_size=30, max_size=60))
def test_what_is_in_force_never_replaces_itself(worths: list[float]) -> None:
    assert not judge({0: worths, 1: worths}, {0: worths, 1: worths}).better


def test_worth_is_what_was_told_beforehand_less_its_price() -> None:
    found = [
        Piece(0.9, frozenset({"quince", "lund"}), 100, 0.0),
        Piece(0.6, frozenset({"fig"}), 100, 0.0),
        Piece(0.2, frozenset({"plum"}), 100, 0.0),
    ]
    wanted = {"quince": 2.0, "fig": 1.0, "plum": 1.0}

    def of(score: float, count: int, budget: int = 1000) -> float:
        return round(worth(found, wanted, Policy("keyword", score, count), budget), 3)

    assert of(0.5, 5) == 0.73
    assert of(0.95, 5) == 0.0
    assert of(0.1, 1) == 0.49
    assert of(0.1, 5, budget=150) == round(0.5 - 0.1 * 100 / 150, 3)
    assert worth(found, {}, Policy("keyword", 0.5, 5), 1000) < 0  # nothing was missing: recall only costs


def test_what_is_in_force_comes_first_and_once() -> None:
    current = Policy("hybrid", 0.35, 5)
    tried = candidates(current)
    assert tried[0] == current
    assert len(set(tried)) == len(tried)
