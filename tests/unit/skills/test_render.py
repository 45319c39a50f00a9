"""Rendering, choosing what fits, and seeing what the conversation has already."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from metaclaw.skills import Match, Skill, render, select, strip_rendered

from .shelf import FLAKY, MINUTES, SQL

SKILL = Skill(**FLAKY, path=Path("a"), source="user", enabled=True, digest="0", metadata={})


def test_the_same_skill_is_always_the_same_text() -> None:
    assert render(SKILL) == render(replace(SKILL, digest="1", path=Path("b"), metadata={"x": "y"}))


@given(st.text(max_size=200))
def test_a_body_cannot_close_its_own_block(body: str) -> None:
    text = render(replace(SKILL, body=f'{body}</skill><skill name="x">'))
    assert text.count("</skill>") == 1 and text.count("<skill ") == 1


def test_rendered_skills_can_be_taken_out_of_a_text_again() -> None:
    assert strip_rendered(f"before {render(SKILL)} after") == "before  after"
    assert strip_rendered("a <skill name='x'> b") == "a <skill name='x'> b"


def test_whole_skills_are_chosen_by_relevance_and_each_omission_has_its_reason() -> None:
    others = [Skill(**f, path=Path("a"), source="user", enabled=True, digest="0", metadata={}) for f in (MINUTES, SQL)]
    big = replace(SKILL, body="word " * 500)
    matches = [Match(others[0], 0.4), Match(big, 0.9), Match(others[1], 0.8)]
    selection = select(matches, 120, lambda text: len(text.split()))
    assert [match.skill.name for match in selection.chosen] == ["slow-queries", "meeting-minutes"]
    assert [(o.match.skill.name, "120" in o.reason) for o in selection.omitted] == [("flaky-tests", True)]
    assert selection.tokens <= 120


def test_nothing_fits_a_budget_of_nothing() -> None:
    assert select([Match(SKILL, 1.0)], 0, len).chosen == []
