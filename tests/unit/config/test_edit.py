"""Changing one value in a file's text: the value is right, and every other byte is as it was."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from metaclaw.config.document import parse_document
from metaclaw.config.edit import with_value, without
from metaclaw.config.problems import ConfigError
from metaclaw.config.scalar import render

TRICKY = (
    "0012345|23:00|1e3|yes|null|~|| x |a: b|a #b|- x|https://x.example.com:8/v1?a=b|C:\\x|'|\"|{a}|[|&a|*a|!t|%|@|`|>|é|😀"
    "|2026-12-01|a,b|=|<<|0x1F|1_000|.5|+1|.inf|NaN|No|---|...|?|:|a:|#a|\\n|\t|\r\n|\u2028|\ufeff|\x85|\xa0|\x00|\x7f"
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from([*TRICKY.split("|"), "|"])
NUMBERS = st.integers(-(10**6), 10**6) | st.booleans()
VALUES = TEXTS | NUMBERS | st.lists(TEXTS, max_size=3)
NAMES = ["llm", "proxy", "skills", "mode", "api_key", "port", "host", "dir"]


@dataclass
class File:
    """A file as a person might have written it, line by line, and which line each key stands on."""

    lines: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    newline: str = "\n"
    last_newline: bool = True

    def text(self) -> str:
        return self.newline.join(self.lines) + (self.newline if self.last_newline and self.lines else "")


@st.composite
def files(draw: st.DrawFn) -> File:
    made = File(newline=draw(st.sampled_from(["\n", "\r\n"])), last_newline=draw(st.booleans()))
    comments = st.sampled_from(["", "", "# note", "#", "   # é 😀"])
    indent = draw(st.integers(1, 4))
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5)):
        made.lines += draw(st.lists(comments, max_size=2))
        behind = draw(comments)
        behind = f" {behind}" if behind else draw(st.sampled_from(["", "  "]))
        form = draw(st.sampled_from(["scalar", "block", "flow", "empty"]))
        made.places[name], made.comments[name] = len(made.lines), behind
        if form == "block":
            made.lines.append(f"{name}:{behind}")
            for inner in draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=3)):
                made.places[f"{name}.{inner}"], made.comments[f"{name}.{inner}"] = len(made.lines), behind
                made.lines.append(f"{' ' * indent}{inner}: {render(draw(VALUES))}{behind}")
        elif form == "flow":
            inner = draw(st.sampled_from(NAMES))
            made.places[f"{name}.{inner}"], made.comments[f"{name}.{inner}"] = len(made.lines), behind
            made.lines.append(f"{name}: {{{inner}: {render(draw(VALUES))}}}{behind}")
        else:
            quote = draw(st.sampled_from([None, '"', "'"]))
            value = "" if form == "empty" else f" {render(draw(VALUES), quote)}"
            made.lines.append(f"{name}:{value}{behind}")
    return made


def scalar(value: object) -> object:
    """A value as the parser returns it."""
    if isinstance(value, bool):
        return str(value).lower()
    return [scalar(item) for item in value] if isinstance(value, list) else str(value)


def look(text: str, key: str) -> object:
    place: object = parse_document(text, "config.yaml").values
    for part in key.split("."):
        place = place.get(part) if isinstance(place, dict) else None
    return place


@settings(max_examples=150, deadline=None)
@given(files(), st.data())
def test_setting_a_key_that_is_there_changes_its_line_and_no_other_byte(made: File, data: st.DataObject) -> None:
    leaves = [key for key in made.places if not any(other.startswith(f"{key}.") for other in made.places)]
    if not leaves:
        return
    key, value = data.draw(st.sampled_from(leaves)), data.draw(VALUES)
    before = made.text()
    after = with_value(parse_document(before, "config.yaml"), key, value)
    assert look(after, key) == scalar(value)
    number = made.places[key]
    first = len("".join(line + made.newline for line in made.lines[:number]))
    last = first + len(made.lines[number])
    assert after[:first] == before[:first]
    assert after.endswith(before[last:])
    if made.comments.get(key):
        assert after[: len(after) - len(before) + last].endswith(made.comments[key])


@settings(max_examples=150, deadline=None)
@given(files(), st.sampled_from(NAMES), st.sampled_from(NAMES), VALUES)
def test_a_new_key_is_added_and_taken_out_again_without_a_trace(
    made: File, section: str, name: str, value: object
) -> None:
    key = f"{section}.{name}"
    before = made.text()
    document = parse_document(before, "config.yaml")
    if key in document.nodes or isinstance(document.values.get(section), str | list):
        return
    after = with_value(document, key, value)
    assert look(after, key) == scalar(value)
    newline = "\r\n" if "\r\n" in before else "\n"
    whole = before if before.endswith("\n") or not before else before + newline
    kept = whole if section in document.nodes else f"{whole}{section}:{newline}"
    assert without(parse_document(after, "config.yaml"), key) in (before, kept)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from([None, '"', "'"]))
def test_any_text_is_read_back_as_the_same_text(value: str, quote: str | None) -> None:
    written = f"key: {render(value, quote)}\n"
    assert parse_document(written, "x").values.get("key") == value
    assert YAML(typ="safe", pure=True).load(written)["key"] == value
    old_reader = YAML(typ="safe", pure=True)
    old_reader.version = (1, 1)
    assert old_reader.load(written)["key"] == value


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("llm:\n  # a\n  api_key: 0012345   # b\n", "llm.api_key", "007", 'llm:\n  # a\n  api_key: "007"   # b\n'),
        ("proxy: {port: 30000, host: 127.0.0.1,} # x\n", "proxy.port", 4, "proxy: {port: 4, host: 127.0.0.1,} # x\n"),
        ("proxy: {port: 1}\n", "proxy.host", "::1", 'proxy: {port: 1, host: "::1"}\n'),
        ("proxy: {}\n", "proxy.port", 1, "proxy: {port: 1}\n"),
        ("claws: # all\n  - a\n  - b # two\nmode: rl\n", "claws", ["c"], "claws: [c] # all\nmode: rl\n"),
        ("llm:\n  model_id: >-\n    a\n    b\n\nmode: rl\n", "llm.model_id", "m", "llm:\n  model_id: m\n\nmode: rl\n"),
        ("llm: null  # later\nmode: rl\n", "llm.model_id", "m", "llm:  # later\n  model_id: m\nmode: rl\n"),
        ("llm:\n    a: 1\n\n# end\n", "llm.b", "m", "llm:\n    a: 1\n    b: m\n\n# end\n"),
        ("\ufeffmode: rl\r\n", "proxy.port", 5, "\ufeffmode: rl\r\nproxy:\r\n  port: 5\r\n"),
        ("a:\n  b: 1\n", "a.calendar.enabled", True, "a:\n  b: 1\n  calendar:\n    enabled: true\n"),
        ("# only a comment", "mode", "rl", "# only a comment\nmode: rl\n"),
        ("", "mode", "rl", "mode: rl\n"),
        ("---\nmode: rl\n...\n", "log.level", "debug", "---\nmode: rl\nlog:\n  level: debug\n...\n"),
        ("mode: 'rl'\n", "mode", "auto", "mode: 'auto'\n"),
        ("api_key:\nmode: rl\n", "api_key", "k", "api_key: k\nmode: rl\n"),
    ],
)  # fmt: skip
def test_the_edit_is_the_one_a_careful_person_would_make(before: str, key: str, value: object, after: str) -> None:
    assert with_value(parse_document(before, "config.yaml"), key, value) == after


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("proxy: {port: 1, host: h}\n", "proxy.port", "proxy: {host: h}\n"),
        ("proxy: {port: 1, host: h}\n", "proxy.host", "proxy: {port: 1}\n"),
        ("a: 1 # one\nb: 2\n", "a", "b: 2\n"),
        ("a:\n  - 1\n  - 2\n# c\nb: 2\n", "a", "# c\nb: 2\n"),
        ("a: |\n  x\n\n  y\nb: 2\n", "a", "b: 2\n"),
        ("mode: rl", "mode", ""),
        ("mode: rl\n", "nothing.here", "mode: rl\n"),
    ],
)
def test_taking_out_a_key_takes_its_lines_only(before: str, key: str, after: str) -> None:
    assert without(parse_document(before, "config.yaml"), key) == after


@pytest.mark.parametrize("text", ["a: &x 1\nmode: *x\n", "mode: &x rl\nb: *x\n", "llm: [1]\n", "llm: text\n"])
def test_what_can_not_be_edited_in_place_is_refused_and_not_guessed(text: str) -> None:
    with pytest.raises(ConfigError, match="config edit"):
        with_value(parse_document(text, "config.yaml"), "llm.port" if "llm" in text else "mode", "x")
