"""Tokens are counted by a real tokenizer, in any script."""

from __future__ import annotations

import pytest

from metaclaw_sidecar import token_count
from metaclaw_sidecar.token_count import count


def test_tokens_are_those_of_the_tokenizer() -> None:
    assert count("") == 0
    assert count("hello world") == 2
    assert count("<|endoftext|>") > 1  # text, not a control token
    assert 6 <= count("我每天早上喝绿茶") <= 14


def test_without_the_vocabulary_the_guess_is_not_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["The user drinks green tea every morning.", "我每天早上喝绿茶", "毎朝緑茶を飲みます", "Ежедневно пьёт чай"]
    real = [count(text) for text in texts]
    monkeypatch.setattr(token_count, "_folder", lambda: None)
    token_count._encoding.cache_clear()
    try:
        guesses = [count(text) for text in texts]
    finally:
        monkeypatch.undo()
        token_count._encoding.cache_clear()
    assert all(real[n] * 0.8 <= guess <= real[n] * 3 for n, guess in enumerate(guesses)), (real, guesses)
