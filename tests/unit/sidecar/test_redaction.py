"""Secrets are found by shape, and a pattern is never skipped where it would have found one."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaclaw_sidecar import redaction
from metaclaw_sidecar.redaction import HIDDEN, redact

SHAPES = [(words, shape) for words, shape in redaction._SHAPES]


@given(st.data(), st.integers(0, len(SHAPES) - 1))
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
def test_whatever_a_pattern_finds_holds_one_of_its_words(data: st.DataObject, number: int) -> None:
    words, shape = SHAPES[number]
    text = data.draw(st.from_regex(shape))
    where = text.casefold() if words[0] in redaction._SAID_ANYHOW else text
    assert any(word in where for word in words)


@given(st.from_regex(redaction._NAMED))
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
def test_whatever_names_a_secret_holds_one_of_the_names(text: str) -> None:
    assert any(name in text.casefold() for name in redaction._NAMES)


def test_a_text_without_secrets_stays_as_it_is() -> None:
    text = "The key to the garden is under the mat; 12 tokens, a pinned note, https://example.com/a?b=c#d."
    assert redact(text) == text


def test_a_named_value_goes_and_its_name_stays() -> None:
    assert redact("my Password: hunter22!") == f"my Password: {HIDDEN}"
    assert redact("密码是abc12345") == f"密码是{HIDDEN}"


def test_a_name_after_a_name_hides_no_secret() -> None:
    assert redact("the password is password: hunter22!") == f"the password is password: {HIDDEN}"
