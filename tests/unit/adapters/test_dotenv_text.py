"""Environment files are edited by name, with their comments, their quotes and their `export` kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaclaw_adapters import NotEditable
from metaclaw_adapters.dotenv_text import edit, has_comments, read
from metaclaw_adapters.values import ABSENT, Json

SAMPLE = """\
# Keys.
export OPENAI_API_KEY="sk-old"   # mine
PLAIN=some text # with a comment
HASH=a#b
SINGLE='it is $HOME'
LONG="first
second"
EMPTY=
  SPACED  =  x
not an entry
"""

names = st.sampled_from(["PLAIN", "LLM_BASE_URL", "A", "EMPTY", "LONG"])
values = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


def test_every_way_of_writing_is_read() -> None:
    assert read(SAMPLE.encode()) == {
        "OPENAI_API_KEY": "sk-old",
        "PLAIN": "some text",
        "HASH": "a#b",
        "SINGLE": "it is $HOME",
        "LONG": "first\nsecond",
        "EMPTY": "",
        "SPACED": "x",
    }


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("OPENAI_API_KEY", "sk-new", '"sk-old"', "sk-new"),
        ("OPENAI_API_KEY", ABSENT, 'export OPENAI_API_KEY="sk-old"   # mine\n', ""),
        ("PLAIN", "two words", "some text", "'two words'"),
        ("LONG", "it's", '"first\nsecond"', '"it\'s"'),
        ("EMPTY", "http://h:1/v1", "EMPTY=", "EMPTY=http://h:1/v1"),
        ("NEW", "v", "not an entry\n", "not an entry\nNEW=v\n"),
        ("MISSING", ABSENT, "", ""),
    ],
)
def test_only_what_is_meant_changes(name: str, value: Json, old: str, new: str) -> None:
    expected = SAMPLE.replace(old, new) if old else SAMPLE
    assert edit(SAMPLE.encode(), [((name,), value)]).decode() == expected


@given(st.lists(st.tuples(names, values), min_size=1, max_size=4), st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_read_back(changes: list[tuple[str, str]], crlf: bool, empty: bool) -> None:
    text = "" if empty else SAMPLE.replace("\n", "\r\n") if crlf else SAMPLE
    made = edit(text.encode(), [((name,), value) for name, value in changes])
    assert read(made) == {**read(text.encode()), **dict(changes)}


def test_setting_and_removing_gives_the_bytes_back() -> None:
    made = edit(SAMPLE.encode(), [(("NEW",), "a b")])
    assert edit(made, [(("NEW",), ABSENT)]) == SAMPLE.encode()


@pytest.mark.parametrize("keys", [("A", "B"), ("A",)])
def test_only_strings_by_name_can_be_written(keys: tuple[str, ...]) -> None:
    with pytest.raises(NotEditable):
        edit(b"", [(keys, {"x": 1})])


def test_a_name_that_stands_there_twice_is_not_touched() -> None:
    assert read(b"A=1\nA=2\n") == {"A": "2"}
    with pytest.raises(NotEditable, match="twice"):
        edit(b"A=1\nA=2\n", [(("A",), "3")])


@pytest.mark.parametrize(
    ("text", "expected"), [("A=1 # c", True), ("# c", True), ("A='#b'", False), ("A=b#c", False), ("", False)]
)
def test_comments_are_told_from_text(text: str, expected: bool) -> None:
    assert has_comments(text.encode()) is expected
