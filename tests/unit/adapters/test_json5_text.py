"""JSON5 is read as it means, and edited without disturbing a byte of the rest."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaclaw_adapters.errors import NotEditable, Unreadable
from metaclaw_adapters.json5_text import edit, has_comments, read
from metaclaw_adapters.values import ABSENT, same, with_value
from tests.unit.adapters.json5_texts import configurations, names, texts, values, written

SAMPLE = b"""\
{
  // first
  a: 1, // about a
  "b": { c: 'x', /* d is next */ d: [1, 2,], },
  e: {}
}
"""


def test_a_replaced_value_changes_nothing_else() -> None:
    assert edit(SAMPLE, [(("b", "c"), "y")]) == SAMPLE.replace(b"'x'", b'"y"')


def test_a_new_member_stands_behind_all_comments_with_the_indentation_of_its_neighbours() -> None:
    made = edit(SAMPLE, [(("f",), {"g": [1]})])
    assert made == SAMPLE.replace(b"  e: {}\n", b'  e: {},\n  "f": {\n    "g": [\n      1\n    ]\n  }\n')


def test_a_trailing_comma_stays_the_style_of_the_object() -> None:
    assert edit(b"{\n\ta: 1,\n}", [(("b",), 2)]) == b'{\n\ta: 1,\n\t"b": 2,\n}'


def test_a_removed_member_takes_its_line_and_its_comma_but_no_comment() -> None:
    assert edit(SAMPLE, [(("e",), ABSENT)]) == SAMPLE.replace(b"},\n  e: {}", b"}")
    assert b"// about a" in edit(SAMPLE, [(("a",), ABSENT)])


def test_windows_line_ends_stay() -> None:
    made = edit(b'{\r\n  "a": 1\r\n}\r\n', [(("b", "c"), True)])
    assert made == b'{\r\n  "a": 1,\r\n  "b": {\r\n    "c": true\r\n  }\r\n}\r\n'


def test_an_empty_file_becomes_an_object() -> None:
    assert edit(b"", [(("a", "b"), 1)]) == b'{\n  "a": {\n    "b": 1\n  }\n}\n'


def test_a_key_that_stands_there_twice_is_not_edited() -> None:
    with pytest.raises(NotEditable, match="twice"):
        edit(b"{a: 1, a: 2}", [(("a",), 3)])


@pytest.mark.parametrize("data", [b"{a: }", b"{", b"{a: 010}", b"\xff{}", b"[1, 2"])
def test_what_is_not_json5_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read(data)


def test_comments_are_told_from_strings() -> None:
    assert has_comments(SAMPLE)
    assert not has_comments(b'{"url": "https://llm.example.com/*x*/"}')


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_text_reads_as_the_value_it_was_written_from(data: st.DataObject) -> None:
    value = data.draw(configurations())
    assert same(read(data.draw(written(value))), value)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_any_value_can_be_set_anywhere_and_every_comment_stays(data: st.DataObject) -> None:
    value = data.draw(configurations())
    text = data.draw(written(value))
    keys = tuple(data.draw(st.lists(st.sampled_from([*_keys(value), "x"]) | names, min_size=1, max_size=4)))
    new = data.draw(values)
    made = edit(text, [(keys, new)])
    assert same(read(made), with_value(value, keys, new))
    if not _holds(value, keys):
        assert _comments(made) == _comments(text)
        back = edit(made, [(keys[: _depth(value, keys)], ABSENT)])
        assert same(read(back), value)
        assert _comments(back) == _comments(text)


@given(texts)
def test_any_string_survives(text: str) -> None:
    assert read(edit(b"{a: 1}", [(("a",), text)])) == {"a": text}


def _keys(value: Any) -> list[str]:
    inside = value.items() if isinstance(value, dict) else ()
    return [key for name, inner in inside for key in (name, *_keys(inner))]


def _holds(value: Any, keys: tuple[str, ...]) -> bool:
    """Would setting `keys` replace something, and so its comments?"""
    for key in keys:
        if not isinstance(value, dict):
            return True
        if key not in value:
            return False
        value = value[key]
    return True


def _depth(value: Any, keys: tuple[str, ...]) -> int:
    for depth, key in enumerate(keys):
        if key not in value:
            return depth + 1
        value = value[key]
    return len(keys)


def _comments(data: bytes) -> list[str]:
    from json5.tokenizer import tokenize

    return [token.value for token in tokenize(data.decode()) if re.match("//|/[*]", token.value)]
