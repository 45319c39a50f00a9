"""A model's answer holds the wanted JSON value in many wrappings, or does not hold it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw.structured import NotFitting, parse, without_thinking

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.mark.parametrize(
    "text",
    [
        '{"n": 1}',
        '```json\n{"n": 1}\n```',
        'Here it is:\n\n```\n{"n": 1}\n```\nDone.',
        'Sure! {"n": 1} is the answer.',
        'First {"m": 2}, then {"n": 1}.',
        'With [brackets] and {braces}: {"n": 1}',
    ],
)
def test_the_value_is_found_in_its_wrapping(text: str) -> None:
    assert parse(text, SCHEMA) == {"n": 1}


@pytest.mark.parametrize("text", ["", "none", '{"n": "1"}', '{"n": 1', "[" * 5000, '{"n": 1, "m": 2}'])
def test_what_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(NotFitting):
        parse(text, SCHEMA)


def test_the_refusal_says_where_and_what() -> None:
    with pytest.raises(NotFitting, match=r"'1' is not of type 'integer' \(at n\)"):
        parse('{"n": "1"}', SCHEMA)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>a\nb</think>\n\nyes", "yes"),
        ("  <THINKING>a</THINKING>yes", "yes"),
        ("<think>a</think><think>b</think>yes", "yes"),
        ("a swallowed opening tag</think>yes", "yes"),
        ("<think>never ended", ""),
        ("yes", "yes"),
        ("the tag <think> in the middle", "the tag <think> in the middle"),
    ],
)
def test_leading_thinking_is_taken_off(text: str, rest: str) -> None:
    assert without_thinking(text) == rest


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), json_values, min_size=1, max_size=4))
def test_any_object_comes_back_from_a_fence(value: dict[str, Any]) -> None:
    assert parse(f"```json\n{json.dumps(value)}\n```", {"type": "object"}) == value


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(NotFitting):
        parse(without_thinking(text), SCHEMA)
