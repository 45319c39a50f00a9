"""Rendering, choosing what fits, and seeing what the conversation has already."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from metaclaw.skills import Skill, render, strip_rendered

from .shelf import FLAKY

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
