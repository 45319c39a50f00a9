"""JSON5 as text: read its values, and change one without disturbing a byte of the rest, comments included.

Knows: JSON5 and JSON, through the syntax tree of `json5`. Doesn't know: what the values mean.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .errors import NotEditable, Unreadable
from .values import ABSENT, Json, Keys, dotted, same, with_value

_SPACE = " \t\n\r\v\f\u00a0\u2028\u2029\ufeff"


@dataclass(frozen=True)
class _Member:
    key: str
    start: int  # of the key
    value: int  # of the value
    end: int
    node: Any


@dataclass(frozen=True)
class _Object:
    start: int
    end: int  # behind the closing brace
    members: tuple[_Member, ...]
    trailing_comma: bool


def read(data: bytes) -> Json:
    """The values in a JSON5 file; an empty file is an empty object."""
    text = _text(data)
    if not text.strip(_SPACE):
        return {}
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError:
        pass  # JSON5 then; the standard library is only the fast way for plain JSON
    return _plain(_parse(text).value)


def edit(data: bytes, changes: list[tuple[Keys, Json]]) -> bytes:
    """The file with each value set (or removed, if `ABSENT`), all other bytes as they were.

    Raises `NotEditable` rather than write something that doesn't read back as meant.
    """
    wanted = read(data)
    text = _text(data)
    if not text.strip(_SPACE):
        text = "{}\n"
    for keys, value in changes:
        wanted = with_value(wanted, keys, value)
        text = _set(text, keys, value)
    made = text.encode("utf-8")
    if not same(read(made), wanted):
        raise NotEditable(f"the text around {dotted(changes[0][0])} can't be edited safely")
    return made


def has_comments(data: bytes) -> bool:
    """Does the file hold comments (which a program that rewrites it would drop)?"""
    from json5.tokenizer import tokenize

    try:
        return any(token.type in {"LINE_COMMENT", "BLOCK_COMMENT"} for token in tokenize(_text(data)))
    except ValueError:
        return False


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 text (byte {error.start})") from error


def _parse(text: str) -> Any:
    from json5.loader import ModelLoader, loads

    try:
        return loads(text, loader=ModelLoader())
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is not JSON5: {str(error) or type(error).__name__}") from error


def _plain(node: Any) -> Json:
    from json5.loader import DefaultLoader
    from json5.model import JSONArray, JSONObject, String

    if isinstance(node, JSONObject):
        return {_name(key): _plain(value) for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, JSONArray):
        return [_plain(value) for value in node.values]
    return _paired(node.characters) if isinstance(node, String) else DefaultLoader().load(node)


def _name(key: Any) -> str:
    return _paired(str(getattr(key, "name", None) or getattr(key, "characters", "")))


def _paired(text: str) -> str:
    """Escapes beyond the basic plane come as two halves of a character; here they are one again."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _set(text: str, keys: Keys, value: Json) -> str:
    found = _object(text, _parse(text).value, keys[:1])
    for depth, key in enumerate(keys):
        member = _member(found, key, keys[: depth + 1])
        if member is None:
            return text if value is ABSENT else _insert(text, found, key, _nested(keys[depth + 1 :], value))
        if depth == len(keys) - 1:
            return _remove(text, found, member) if value is ABSENT else _replace(text, found, member, value)
        if not _is_object(member.node):
            return text if value is ABSENT else _replace(text, found, member, _nested(keys[depth + 1 :], value))
        found = _object(text, member.node, keys[: depth + 1])
    return text


def _nested(keys: Keys, value: Json) -> Json:
    for key in reversed(keys):
        value = {key: value}
    return value


def _is_object(node: Any) -> bool:
    from json5.model import JSONObject

    return isinstance(node, JSONObject)


def _object(text: str, node: Any, keys: Keys) -> _Object:
    if not _is_object(node):
        raise NotEditable(f"{dotted(keys)} is not inside an object")
    members = tuple(
        _Member(_name(key), key._tok.index, value._tok.index, (value._end_tok or value._tok).end, value)
        for key, value in zip(node.keys, node.values, strict=True)
    )
    return _Object(node._tok.index, node._end_tok.end, members, node.trailing_comma is not None)


def _member(found: _Object, key: str, keys: Keys) -> _Member | None:
    matching = [member for member in found.members if member.key == key]
    if len(matching) > 1:
        raise NotEditable(f"{dotted(keys)} stands there twice")
    return matching[0] if matching else None


def _replace(text: str, found: _Object, member: _Member, value: Json) -> str:
    flat = "\n" not in text[found.start : found.end]
    shown = _render(text, value, _indent_at(text, member.start), flat)
    return text[: member.value] + shown + text[member.end :]


def _insert(text: str, found: _Object, key: str, value: Json) -> str:
    """A new last member: behind every comment of the object, so that none changes the line it speaks of."""
    inside = text[found.start : found.end]
    flat = "\n" not in inside and bool(found.members)
    close = found.end - 1
    stop = found.start + 1 + len(text[found.start + 1 : close].rstrip(_SPACE))
    outer = _indent_at(text, close if text[_line(text, close) : close].strip() == "" else found.start)
    indent = outer + _unit(text)
    if found.members and text[_line(text, found.members[0].start) : found.members[0].start].strip() == "":
        indent = _indent_at(text, found.members[0].start)
    newline = "" if flat else _newline(text) + indent
    entry = f"{json.dumps(key, ensure_ascii=not key.isprintable())}: {_render(text, value, indent, flat)}"
    tail = text[stop:]
    if not found.members and "\n" not in text[stop:close]:
        tail = _newline(text) + outer + text[close:]
    if found.members and not found.trailing_comma:
        last = found.members[-1].end
        between = text[last:stop]
        return f"{text[:last]},{between}{' ' if flat else newline}{entry}{tail}"
    return f"{text[:stop]}{' ' if flat else newline}{entry}{',' if found.trailing_comma else ''}{tail}"


def _remove(text: str, found: _Object, member: _Member) -> str:
    """Take a member out with its comma, and its line if nothing else stands there; comments stay."""
    position = found.members.index(member)
    start, end = member.start, member.end
    comma = _skip(text, end)
    if text[comma] == ",":
        text = text[:comma] + text[comma + 1 :]
    elif position > 0:
        # The last member, without a comma: the one before it becomes the last and loses its own.
        before = _skip(text, found.members[position - 1].end)
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    line = _line(text, start)
    rest = text.find("\n", end)
    if line > 0 and rest >= 0 and not text[line:start].strip() and not text[end:rest].strip():
        start = line - 1 - (text[line - 2 : line - 1] == "\r")
        end = rest - (text[rest - 1] == "\r")
    elif text[start - 1] == " ":
        start -= 1
    return text[:start] + text[end:]


def _skip(text: str, at: int) -> int:
    """The next position that is neither white space nor comment."""
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
        elif text.startswith("//", at):
            ends = [place for place in (text.find(mark, at) for mark in "\n\r\u2028\u2029") if place >= 0]
            at = min(ends, default=len(text))
        elif text.startswith("/*", at):
            at = text.index("*/", at) + 2
        else:
            break
    return at


def _line(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _indent_at(text: str, at: int) -> str:
    line = text[_line(text, at) : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation: that of the first indented line, else two spaces."""
    for line in text.splitlines():
        inner = line.lstrip(" \t")
        if inner and len(inner) < len(line):
            return line[: len(line) - len(inner)]
    return "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _render(text: str, value: Json, indent: str, flat: bool) -> str:
    shown = json.dumps(value, ensure_ascii=False, indent=None if flat else _unit(text))
    if any(char in "\u2028\u2029" or "\ud800" <= char <= "\udfff" for char in shown):
        shown = json.dumps(value, indent=None if flat else _unit(text))
    return shown.replace("\n", _newline(text) + indent)
