"""YAML as text: read its values, and change one without disturbing a byte of the rest, comments included.

Knows: one YAML document of nested mappings, through the syntax tree of `ruamel.yaml`. Writes strings so that a reader
of YAML 1.1 and one of 1.2 find the same. Doesn't know: what the values mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from .errors import NotEditable, Unreadable
from .values import ABSENT, Json, Keys, dotted, get, same, with_value
from .yaml_writing import as_block, as_flow

_MOST_VALUES: Final = 200_000  # aliases can make a small file an endless one


@dataclass(frozen=True)
class _Member:
    key: str
    start: int  # of the key
    column: int
    colon: int
    value: Any

    @property
    def end(self) -> int:
        return _end(self.value)


def read(data: bytes) -> Json:
    """The values in a YAML file; an empty file is an empty mapping, a key that is no string becomes one."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    text = _text(data)
    try:
        _composed(text)
        loaded = YAML(typ="safe", pure=True).load(text.removeprefix("\ufeff"))
    except (YAMLError, ValueError, RecursionError) as error:
        raise Unreadable(_problem(error)) from error
    return {} if loaded is None else _plain(loaded, [_MOST_VALUES])


def edit(data: bytes, changes: list[tuple[Keys, Json]]) -> bytes:
    """The file with each value set (or removed, if `ABSENT`), all other bytes as they were.

    Raises `NotEditable` rather than write something that doesn't read back as meant.
    """
    wanted = read(data)
    text = _text(data)
    for keys, value in changes:
        wanted = with_value(wanted, keys, value)
        text = _set(text, keys, value)
    made = text.encode("utf-8")
    try:
        found = read(made)
    except Unreadable:
        found = ABSENT
    if not same(found, wanted):
        raise NotEditable(f"the text around {dotted(changes[0][0])} can't be edited safely")
    return made


def has_comments(data: bytes) -> bool:
    """Does the file hold comments (which a program that rewrites it would drop)?"""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    text, seen = _text(data).removeprefix("\ufeff"), 0
    try:
        for token in YAML(typ="safe", pure=True).scan(text):
            if "#" in text[seen : token.start_mark.index]:
                return True
            seen = token.end_mark.index
    except YAMLError:
        return False
    return "#" in text[seen:]


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 text (byte {error.start})") from error


def _problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f" in line {mark.line + 1}" if mark is not None else ""
    return f"it is not YAML that we understand: {getattr(error, 'problem', None) or type(error).__name__}{where}"


def _composed(text: str) -> Any:
    """The syntax tree; positions in it count from behind a byte order mark."""
    from ruamel.yaml import YAML

    documents = list(YAML(typ="safe", pure=True).compose_all(text.removeprefix("\ufeff")))
    if len(documents) > 1:
        raise Unreadable("it holds several YAML documents")
    return documents[0] if documents else None


def _plain(value: Any, left: list[int]) -> Json:
    left[0] -= 1
    if left[0] < 0:
        raise Unreadable("its aliases make it too large")
    if isinstance(value, dict):
        made = {str(key): _plain(inner, left) for key, inner in value.items()}
        if len(made) < len(value):
            raise Unreadable("it has keys that differ only in their type")
        return made
    if isinstance(value, list | tuple | set):
        return [_plain(inner, left) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _set(text: str, keys: Keys, value: Json) -> str:
    mark, text = text[: text.startswith("\ufeff")], text.removeprefix("\ufeff")
    node = _composed(text)
    if _is_empty(node):
        return mark + (text if value is ABSENT else _start(text, keys, value))
    for depth, key in enumerate(keys):
        members = _members(text, node, keys[:depth])
        matching = [member for member in members if member.key == key]
        if len(matching) > 1:
            raise NotEditable(f"{dotted(keys[: depth + 1])} stands there twice")
        if not matching:
            nested = _nested(keys[depth + 1 :], value)
            return mark + (text if value is ABSENT else _insert(text, node, members, key, nested))
        member = matching[0]
        if depth == len(keys) - 1 and value is ABSENT:
            return mark + _remove(text, node, members, member)
        if depth == len(keys) - 1 and (spliced := _spliced(text, keys, member.value, value)):
            return mark + spliced
        if depth == len(keys) - 1 or not _is_mapping(member.value):
            nested = _nested(keys[depth + 1 :], value)
            return mark + (text if value is ABSENT else _replace(text, node, member, nested))
        node = member.value
    return mark + text


def _nested(keys: Keys, value: Json) -> Json:
    for key in reversed(keys):
        value = {key: value}
    return value


def _is_mapping(node: Any) -> bool:
    return type(node).__name__ == "MappingNode"


def _is_empty(node: Any) -> bool:
    return node is None or (type(node).__name__ == "ScalarNode" and node.value == "" and not node.style)


def _members(text: str, node: Any, keys: Keys) -> list[_Member]:
    if not _is_mapping(node):
        raise NotEditable(f"{dotted(keys)} is not a mapping")
    members = []
    for key, value in node.value:
        end = key.end_mark.index
        colon = end + len(text[end:]) - len(text[end:].lstrip(" "))
        if text[colon : colon + 1] != ":":
            colon = -1  # a complex key; it stays, but nothing may be changed there
        members.append(_Member(str(key.value), key.start_mark.index, key.start_mark.column, colon, value))
    return members


def _end(node: Any) -> int:
    """Where what the node says ends: a block's own end mark lies behind the comments and empty lines that follow."""
    if type(node).__name__ == "ScalarNode" or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _start(text: str, keys: Keys, value: Json) -> str:
    """The first value of a file that holds nothing, or nothing but comments."""
    newline = _newline(text)
    head = text if not text or text.endswith("\n") else text + newline
    return head + as_block(_nested(keys, value), "", newline)


def _replace(text: str, node: Any, member: _Member, value: Json) -> str:
    if member.colon < 0:
        raise NotEditable(f"{member.key} is written as a complex key")
    start, end = member.value.start_mark.index, member.end
    if end > member.colon and text[end - 1 : end] == "\n":
        end = len(text[:end].rstrip("\r\n"))  # a block of text ends behind its line
    same_line = "\n" not in text[member.colon : start] and start > member.colon + 1
    gap = text[member.colon + 1 : start] if same_line else " "
    if node.flow_style or not (isinstance(value, dict | list) and value):
        return text[: member.colon + 1] + gap + as_flow(value) + text[end:]
    block = as_block(value, _deeper(text, member.column), _newline(text)).rstrip("\r\n")
    return text[: member.colon + 1] + _newline(text) + block + text[end:]


def _insert(text: str, node: Any, members: list[_Member], key: str, value: Json) -> str:
    if node.flow_style:
        entry = as_flow({key: value})[1:-1]
        if not members:
            start = node.start_mark.index + text[node.start_mark.index :].index("{") + 1
            return text[:start] + entry + text[start:]
        return text[: members[-1].end] + f", {entry}" + text[members[-1].end :]
    newline, last = _newline(text), members[-1]
    block = as_block({key: value}, " " * last.column, newline, _unit(text))
    line_end = text.find("\n", max(last.end - 1, 0))
    if line_end < 0:
        return text + newline + block.rstrip("\r\n")
    return text[: line_end + 1] + block + text[line_end + 1 :]


def _spliced(text: str, keys: Keys, node: Any, value: Json) -> str:
    """A list in lines with one item more at its end, or one less; empty if that isn't what changes."""
    items = get(read(text.encode("utf-8")), keys)
    if not isinstance(items, list) or not isinstance(value, list) or node.flow_style or not items or not value:
        return ""
    line_end = text.find("\n", max(_end(node) - 1, 0))
    if same(value[:-1], items):
        head = text[: line_end + 1] if line_end >= 0 else text + _newline(text)
        return head + as_block([value[-1]], " " * node.start_mark.column, _newline(text)) + text[len(head) :]
    gone = [at for at in range(len(items)) if same([*items[:at], *items[at + 1 :]], value)]
    if not gone:
        return ""
    start = text.rfind("\n", 0, node.value[gone[0]].start_mark.index) + 1
    end = text.find("\n", max(_end(node.value[gone[0]]) - 1, 0))
    return text[:start] + (text[end + 1 :] if end >= 0 else "")


def _remove(text: str, node: Any, members: list[_Member], member: _Member) -> str:
    position = members.index(member)
    if node.flow_style:
        if position + 1 < len(members):
            return text[: member.start] + text[members[position + 1].start :]
        start = members[position - 1].end if position else member.start
        return text[:start] + text[member.end :]
    line = text.rfind("\n", 0, member.start) + 1
    if text[line : member.start].strip():
        raise NotEditable(f"{member.key} stands behind something else in its line")
    line_end = text.find("\n", max(member.end - 1, 0))
    if len(members) > 1 or member.column == 0:
        if line_end < 0:
            return text[: max(line - 1 - text[:line].endswith("\r\n"), 0)]
        return text[:line] + text[line_end + 1 :]
    # The only one: without it there would be nothing where a mapping has to be.
    above = len(text[:line].rstrip())
    if text[above - 1 : above] != ":":
        raise NotEditable(f"{member.key} is all there is, and its mapping can't be left empty")
    return f"{text[:above]} {{}}" + (text[line_end:] if line_end >= 0 else "")


def _deeper(text: str, column: int) -> str:
    return " " * (column + _unit(text))


def _unit(text: str) -> int:
    """One step of indentation: that of the first indented line, else two spaces."""
    for line in text.splitlines():
        inner = line.lstrip(" ")
        if inner and inner[0] not in "#-" and len(inner) < len(line):
            return len(line) - len(inner)
    return 2


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
