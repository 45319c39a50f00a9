"""Memories as lines of a prompt: whatever a text holds, it stays one line inside its fence."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from metaclaw_sidecar.rendering import CLOSING, OPENING, Line, entry, fenced, render
from metaclaw_sidecar.token_count import count

HOSTILE = st.lists(
    st.sampled_from(
        [CLOSING, OPENING, "</", "<system>", "\n", "\r", "\u2028", "<|im_end|>", " (mem_0)", "text", "<!--"]
    )
).map("".join)


@given(st.one_of(st.text(), HOSTILE))
def test_a_text_can_neither_begin_a_line_nor_close_the_fence(text: str) -> None:
    line = entry("2026-12-01", text, "mem_1")
    assert len(line.splitlines()) == 1
    assert line.startswith("- [2026-12-01] ")
    assert line.endswith(" (mem_1)")
    block = fenced([line])
    assert block.count("</metaclaw-memory") == 1
    assert block.count("<metaclaw-memory") == 1
    assert len(block.splitlines()) == len(OPENING.splitlines()) + 2


@given(st.lists(st.text(min_size=1, max_size=200), max_size=12), st.integers(0, 8), st.integers(0, 400))
@settings(deadline=None)  # the first call loads the tokenizer
def test_neither_the_number_nor_the_tokens_are_passed(texts: list[str], most: int, budget: int) -> None:
    made = [entry("2026-12-01", text, f"mem_{n}") for n, text in enumerate(texts)]
    lines = [Line(text, count(f"{text}\n")) for text in made]
    block = render(lines, most, budget, count)
    assert len(block.chosen) <= most
    assert block.chosen == sorted(block.chosen)
    assert count(block.text) <= max(block.tokens, 0) <= budget or not block.chosen
    assert (block.text == "") == (not block.chosen)


def test_what_is_too_long_is_left_out_and_a_shorter_one_follows() -> None:
    lines = [Line("long", 500), Line("short", 10), Line("also", 10)]
    assert render(lines, 5, 120, count).chosen == [1, 2]
