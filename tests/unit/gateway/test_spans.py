"""Spans: an edit changes what it edits and not one byte more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw.gateway.protocols import spans

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=8), values, max_size=6)
styles = st.sampled_from([{}, {"separators": (",", ":")}, {"indent": 2}, {"ensure_ascii": False}])


@given(objects, styles)
def test_members_are_the_objects_own_bytes(value: dict[str, Any], style: dict[str, Any]) -> None:
    raw = json.dumps(value, **style).encode("utf-8", "surrogatepass")
    found = spans.members(raw)
    assert {key: json.loads(part) for key, part in found.items()} == value
    assert all(part in raw for part in found.values())


@given(objects, styles, st.data())
def test_replacing_members_leaves_every_other_byte(
    value: dict[str, Any], style: dict[str, Any], data: st.DataObject
) -> None:
    raw = json.dumps(value, **style).encode()
    keys = data.draw(st.lists(st.sampled_from([*value, "new key"]), unique=True))
    edits: dict[str, bytes | None] = {key: data.draw(st.sampled_from([None, b'"edited"', b"[1, 2]"])) for key in keys}
    out = spans.replace_members(raw, edits)
    expected = {k: v for k, v in value.items() if edits.get(k, b"") is not None}
    expected |= {k: json.loads(v) for k, v in edits.items() if v is not None}
    assert json.loads(out) == expected
    for key, part in spans.members(raw).items():
        if key not in edits:
            assert spans.members(out)[key] == part
    if not edits:
        assert out == raw


@given(st.lists(values, min_size=1, max_size=6), styles, st.data())
def test_replacing_elements_leaves_every_other_byte(
    items: list[Any], style: dict[str, Any], data: st.DataObject
) -> None:
    raw = json.dumps(items, **style).encode()
    index = data.draw(st.integers(0, len(items) - 1))
    parts = spans.elements(raw)
    out = spans.replace_elements(raw, parts, {index: b'"edited"'})
    again = spans.elements(out)
    assert json.loads(out) == [*items[:index], "edited", *items[index + 1 :]]
    assert again[:index] == parts[:index] and again[index + 1 :] == parts[index + 1 :]
    assert len(out) == len(raw) - len(parts[index]) + len(b'"edited"')


def test_half_an_emoji_and_huge_numbers_survive() -> None:
    raw = b'{"n": 123456789012345678901234567890, "text":"cut \\ud83d", "messages":[{"a":"\\udc00]"}, 1.50]}'
    out = spans.replace_members(raw, {"text": b'"x"'})
    assert out == b'{"n": 123456789012345678901234567890, "text":"x", "messages":[{"a":"\\udc00]"}, 1.50]}'
    assert spans.elements(spans.members(raw)["messages"]) == [b'{"a":"\\udc00]"}', b"1.50"]


def test_a_doubled_key_is_rebuilt_with_its_last_value() -> None:
    assert json.loads(spans.replace_members(b'{"a":1,"b":2,"a":3}', {"b": b"9"})) == {"a": 3, "b": 9}


@pytest.mark.parametrize("raw", [b"", b"[1]", b'{"a":', b'{"a" 1}', b"null", b'{"a":1}}', b"\xff\xfe"])
def test_what_is_not_an_object_is_refused(raw: bytes) -> None:
    with pytest.raises(spans.NotJson):
        spans.members(raw)
