"""Environment files (`.env`) as text: read their values, and change one without disturbing a byte of the rest.

Knows: `KEY=value`, with or without `export`; bare, single-quoted and double-quoted values, over several lines if
quoted; comments. Every value is a string, and nothing is expanded: `$NAME` stays as it is written.
"""

from __future__ import annotations

import re
from typing import Final

from .errors import NotEditable, Unreadable
from .values import ABSENT, Json, Keys, dotted, same, with_value

_ENTRY: Final = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?(?P<key>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*
    (?P<value>'(?:\\'|[^'])*'|"(?:\\.|[^"\\])*"|[^\r\n]*?)
    (?P<rest>[ \t]*(?:(?<=[\s'"=])\#[^\r\n]*)?)(?=\r?$)""",
    re.MULTILINE | re.VERBOSE | re.ASCII,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}
_BARE: Final = re.compile(r"[\w./:@%+,=-]+\Z", re.ASCII)
_COMMENT: Final = re.compile(r"^[ \t]*#", re.MULTILINE)


def read(data: bytes) -> Json:
    """The values by name; of a name that is set twice, the last."""
    return {entry["key"]: _value(entry["value"]) for entry in _ENTRY.finditer(_text(data))}


def edit(data: bytes, changes: list[tuple[Keys, Json]]) -> bytes:
    """The file with each value set (or removed, if `ABSENT`), all other bytes as they were.

    Raises `NotEditable` rather than write something that doesn't read back as meant.
    """
    wanted, text = read(data), _text(data)
    for keys, value in changes:
        if len(keys) != 1 or not (value is ABSENT or isinstance(value, str)):
            raise NotEditable(f"{dotted(keys)}: an environment file holds strings by name, and nothing else")
        wanted = with_value(wanted, keys, value)
        text = _set(text, keys[0], value)
    made = text.encode("utf-8")
    if not same(read(made), wanted):
        raise NotEditable(f"the text around {dotted(changes[0][0])} can't be edited safely")
    return made


def has_comments(data: bytes) -> bool:
    """Does the file hold comments?"""
    text = _text(data)
    return bool(_COMMENT.search(text)) or any("#" in entry["rest"] for entry in _ENTRY.finditer(text))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 text (byte {error.start})") from error


def _value(shown: str) -> str:
    if shown[:1] == "'" and shown[-1:] == "'" and len(shown) > 1:
        return shown[1:-1].replace("\\'", "'")
    if shown[:1] == '"' and shown[-1:] == '"' and len(shown) > 1:
        return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), shown[1:-1])
    return shown


def _shown(value: str) -> str:
    if _BARE.match(value):
        return value
    if value and not any(char in value for char in "'\\\r\n"):
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "\\r").replace("\n", "\\n")
    return f'"{escaped}"'


def _set(text: str, key: str, value: Json) -> str:
    entries = [entry for entry in _ENTRY.finditer(text) if entry["key"] == key]
    if len(entries) > 1:
        raise NotEditable(f"{key} stands there twice")
    if entries and value is ABSENT:
        start, end = entries[0].start(), entries[0].end()
        tail = text[end:]
        return text[:start] + tail.removeprefix("\r").removeprefix("\n")
    if entries:
        return text[: entries[0].start("value")] + _shown(value) + text[entries[0].end("value") :]
    if value is ABSENT:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    head = text if not text or text.endswith("\n") else text + newline
    return f"{head}{key}={_shown(value)}{newline}"
