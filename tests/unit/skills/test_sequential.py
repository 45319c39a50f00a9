"""The sequential test keeps its error rate however often it is looked at, and finds what helps and what hurts."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw.skills.sequential import Arm, Evidence, Verdict

RATE = 0.05


def run(seed: int, with_skill: float, without: float, share: float = 0.5, looks: int = 150) -> tuple[Verdict, int]:
    """The first verdict other than `open`, and after how many outcomes."""
    chance = random.Random(seed)
    evidence = Evidence()
    for number in range(1, looks + 1):
        treated = chance.random() < share
        evidence = evidence.add(treated=treated, good=chance.random() < (with_skill if treated else without))
        verdict = evidence.verdict(error_rate=RATE, least=3)
        if verdict != "open":
            return verdict, number
    return "open", looks


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("base", [0.1, 0.5, 0.95])
def test_of_a_thousand_skills_without_effect_fewer_than_stated_are_called_better_or_worse(
    base: float, share: float
) -> None:
    verdicts = [run(seed, base, base, share)[0] for seed in range(1000)]
    assert verdicts.count("better") <= RATE * 1000
    assert verdicts.count("worse") <= RATE * 1000


def test_a_harmful_skill_is_never_more_often_called_better_than_stated() -> None:
    verdicts = [run(seed, 0.5, 0.7)[0] for seed in range(1000)]
    assert verdicts.count("better") <= RATE * 1000 and verdicts.count("worse") > 300


def test_what_always_helps_is_known_after_a_few_outcomes() -> None:
    taken = sorted(run(seed, 1.0, 0.0) for seed in range(200))
    assert {verdict for verdict, _ in taken} == {"better"}
    assert sorted(number for _, number in taken)[100] <= 12


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_each_block_is_an_e_variable(history: list[tuple[bool, bool]]) -> None:
    """Whatever came before, the expected factor of the next pair is at most 1 where both arms are alike."""
    evidence = Evidence()
    for treated, good in history:
        evidence = evidence.add(treated=treated, good=good)
    if evidence.waiting_treated.total or evidence.waiting_control.total:
        return
    for share in (0.02, 0.3, 0.5, 0.77, 0.99):
        factors = {}
        for a in (True, False):
            for b in (True, False):
                after = evidence.add(treated=True, good=a).add(treated=False, good=b)
                chance = (share if a else 1 - share) * (share if b else 1 - share)
                factors[a, b] = (
                    chance * math.exp(after.log_better - evidence.log_better),
                    chance * math.exp(after.log_worse - evidence.log_worse),
                )
        assert sum(better for better, _ in factors.values()) <= 1 + 1e-9
        assert sum(worse for _, worse in factors.values()) <= 1 + 1e-9


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=80))
def test_every_outcome_is_counted_once(history: list[tuple[bool, bool]]) -> None:
    evidence = Evidence()
    for treated, good in history:
        evidence = evidence.add(treated=treated, good=good)
    assert evidence.treated == Arm(sum(t for t, _ in history), sum(t and g for t, g in history))
    assert evidence.control == Arm(sum(not t for t, _ in history), sum(not t and g for t, g in history))


def test_the_interval_holds_the_share_and_narrows() -> None:
    few, many = Arm(10, 7).interval(), Arm(1000, 700).interval()
    assert few[0] < many[0] < 0.7 < many[1] < few[1]
    assert Arm().interval() == (0.0, 1.0)
    # Wilson (1927) for 7 of 10 at 95 %: 0.397 to 0.892.
    assert few == (pytest.approx(0.3968, abs=1e-4), pytest.approx(0.8922, abs=1e-4))
