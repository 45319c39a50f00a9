"""YAML is edited by value without losing a byte of the rest, and what is written means the same to every reader."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from metaclaw_adapters import NotEditable, Unreadable
from metaclaw_adapters.values import ABSENT, Json, same, with_value
from metaclaw_adapters.yaml_text import edit, has_comments, read

SAMPLE = """\
# Mine.
_config_version: 33
model:   # the one I pay for
  default: anthropic/claude-sonnet-4.6
  provider: openrouter   # cheap

# What else is asked.
fallback_providers:
- provider: openrouter
  model: openai/gpt-5.4-mini
limits: { turns: 90, "hours": [1, 2] }
prompt: |
  Be brief.

  Be kind.
"""

names = st.sampled_from(["model", "providers", "a b", "on", "5", "ключ", "x.y", "#k", "agent"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029\ufeff"), max_size=12),
    st.sampled_from(
        ["yes", "1:30", "0x1f", "1e3", "null", "~", "- a", "a: b", "a #b", "2026-12-01", "", " ", "=", "<<"]
    ),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
documents = st.dictionaries(names, values, max_size=4)


def written(tree: Json, *, flow: bool | None, comment: bool, crlf: bool) -> bytes:
    """A file as another program, or a person, would have it."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = flow
    writer.width = 10_000
    writer.allow_unicode = True
    out = io.StringIO()
    writer.dump(tree, out)
    text = f"# one\n{out.getvalue()}# two\n" if comment else out.getvalue()
    return (text.replace("\n", "\r\n") if crlf else text).encode("utf-8")


@given(documents, st.lists(names, min_size=1, max_size=3), values, st.sampled_from([None, True, False]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_setting_a_value_and_putting_it_back_keeps_the_rest(
    tree: dict[str, Any], path: list[str], value: Json, flow: bool | None, comment: bool
) -> None:
    data = written(tree, flow=flow, comment=comment, crlf=False)
    before, keys = read(data), tuple(path)
    try:
        made = edit(data, [(keys, value)])
    except NotEditable:
        # Behind a text block that keeps its empty lines, and where a value is shared, nothing can be inserted.
        assert any(mark in data for mark in (b"|", b">", b"&"))
        return
    assert same(read(made), with_value(before, keys, value))
    if len(keys) == 1 and keys[0] not in before:
        assert edit(made, [(keys, ABSENT)]).strip() == data.strip() or not before


@given(names, scalars | st.lists(scalars, max_size=2))
@settings(max_examples=200, deadline=None)
def test_a_reader_of_yaml_1_1_finds_the_same(name: str, value: Json) -> None:
    older = YAML(typ="safe", pure=True)
    older.version = (1, 1)
    assert same(older.load(edit(b"a: 1", [((name,), value)]).decode("utf-8")), {"a": 1, name: value})


@pytest.mark.parametrize(
    ("keys", "value", "old", "new"),
    [
        (("model", "default"), "big", "default: anthropic/claude-sonnet-4.6", "default: big"),
        (("model", "provider"), "metaclaw", "openrouter   # cheap", "metaclaw   # cheap"),
        (("model", "base_url"), "http://h:1/v1", "# cheap\n", '# cheap\n  base_url: http://h:1/v1\n'),
        (("model", "code"), "yes", "# cheap\n", '# cheap\n  code: "yes"\n'),
        (("_config_version",), ABSENT, "_config_version: 33\n", ""),
        (("model", "provider"), ABSENT, "  provider: openrouter   # cheap\n", ""),
        (("limits", "turns"), 5, "turns: 90", "turns: 5"),
        (("limits", "turns"), ABSENT, "turns: 90, ", ""),
        (("limits", "hours"), ABSENT, ', "hours": [1, 2]', ""),
        (("limits", "new"), {"a": [True, "x"]}, "[1, 2]", "[1, 2], new: {a: [true, x]}"),
        (("fallback_providers",), [], "\n- provider: openrouter\n  model: openai/gpt-5.4-mini", " []"),
        (("prompt",), "Short.", "|\n  Be brief.\n\n  Be kind.", "Short."),
        (("providers", "p"), {"url": "u", "l": ["a", {"b": 1, "c": {}}]}, "kind.\n",
         "kind.\nproviders:\n  p:\n    url: u\n    l:\n      - a\n      - b: 1\n        c: {}\n"),
        (("model",), {"default": "x"}, "   # the one I pay for\n  default: anthropic/claude-sonnet-4.6\n"
         "  provider: openrouter", "\n  default: x"),
    ],
)  # fmt: skip
def test_only_what_is_meant_changes(keys: tuple[str, ...], value: Json, old: str, new: str) -> None:
    assert SAMPLE.count(old) == 1
    assert edit(SAMPLE.encode(), [(keys, value)]).decode() == SAMPLE.replace(old, new)


@pytest.mark.parametrize(
    "text", ["", "# only a comment", "\ufeff", "---\n", "a: 1", "a:\r\n  b: 1\r\n", "{}", "  a: 1\n"]
)
def test_any_file_takes_a_new_key(text: str) -> None:
    before = read(text.encode())
    made = edit(text.encode(), [(("new", "key"), "v")])
    assert same(read(made), {**before, "new": {"key": "v"}})
    assert b"\r\n" not in text.encode() or b"\n" not in made.replace(b"\r\n", b"")


def test_an_empty_value_becomes_a_mapping_and_back() -> None:
    data = b"providers:   # none yet\nother: 1\n"
    made = edit(data, [(("providers", "mine"), {"url": "u"})])
    assert read(made) == {"providers": {"mine": {"url": "u"}}, "other": 1}
    assert read(edit(made, [(("providers", "mine"), ABSENT)])) == {"providers": {}, "other": 1}


@pytest.mark.parametrize(
    "text", ["a: [", "a: 1\na: 2\n", "a: 1\n---\nb: 2\n", "\ta: 1", "a: !!python/object:os.system x", "a: \xff"]
)
def test_what_is_not_plain_yaml_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read(text.encode("latin-1"))


def test_a_bomb_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(Unreadable, match="too large"):
        read("\n".join(lines).encode())


def test_what_is_shared_is_not_changed_behind_its_owners_back() -> None:
    data = b"a: &shared\n  x: 1\nb: *shared\n"
    with pytest.raises(NotEditable):
        edit(data, [(("b", "x"), 2)])
    assert read(edit(data, [(("c",), 2)])) == {"a": {"x": 1}, "b": {"x": 1}, "c": 2}


@pytest.mark.parametrize(
    ("text", "expected"), [("a: 1 # c", True), ("# c\n", True), ("a: '#b'", False), ("a: b#c", False), ("", False)]
)
def test_comments_are_told_from_text(text: str, expected: bool) -> None:
    assert has_comments(text.encode()) is expected


LIST = """\
servers:
  # the first
  - name: one   # fast
    ports: [1, 2]
  - name: two
after: 1
"""


@pytest.mark.parametrize(
    ("build", "old", "new"),
    [
        (lambda items: [*items, {"name": "three", "on": True}], "two\n", 'two\n  - name: three\n    "on": true\n'),
        (lambda items: items[:1], "  - name: two\n", ""),
        (lambda items: items[1:], "  - name: one   # fast\n    ports: [1, 2]\n", ""),
        (lambda items: [], "\n  # the first\n  - name: one   # fast\n    ports: [1, 2]\n  - name: two", " []"),
    ],
)
def test_an_item_comes_and_goes_without_the_others(build: Any, old: str, new: str) -> None:
    items = read(LIST.encode())["servers"]
    assert edit(LIST.encode(), [(("servers",), build(items))]).decode() == LIST.replace(old, new)
