"""JSON values as spans of the bytes they came in, so that an edit touches nothing but what it edits."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])

_KEY = re.compile(rb'\s*,?\s*"((?:[^"\\]|\\.)*)"\s*:\s*', re.DOTALL)
_GAP = re.compile(rb"\s*,?\s*")
_SPACE = re.compile(rb"\s*")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]+")


class NotJson(ValueError):
    """The bytes are not a JSON value of the expected kind."""


def loads(raw: bytes | msgspec.Raw) -> Any:
    """Read a value; also one with lone surrogates, which agents send when they cut an emoji in two."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        try:
            return json.loads(bytes(raw))
        except ValueError as error:
            raise NotJson(str(error)) from None


def dumps(value: Any) -> bytes:
    """Write a value compactly."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate again
        return json.dumps(value, separators=(",", ":")).encode()


def members(raw: bytes) -> dict[str, bytes]:
    """The members of an object, each as its own bytes; raises NotJson."""
    try:
        return {key: bytes(value) for key, value in _object.decode(raw).items()}
    except (msgspec.DecodeError, RecursionError):
        return _scan_members(raw)


def elements(raw: bytes) -> list[bytes]:
    """The elements of an array, each as its own bytes; raises NotJson."""
    try:
        return [bytes(value) for value in _array.decode(raw)]
    except (msgspec.DecodeError, RecursionError):
        return _scan_elements(raw)


def replace_elements(raw: bytes, values: list[bytes], edits: dict[int, bytes]) -> bytes:
    """The array `raw`, whose elements are `values`, with some of them replaced; all other bytes stay."""
    parts: list[bytes] = []
    done = 0
    position = raw.index(b"[") + 1
    for index, value in enumerate(values):
        position = _end(_GAP, raw, position)
        if index in edits:
            parts += (raw[done:position], edits[index])
            done = position + len(value)
        position += len(value)
    parts.append(raw[done:])
    return b"".join(parts)


def replace_members(raw: bytes, edits: dict[str, bytes | None]) -> bytes:
    """The object `raw` with members replaced, added (at the end) or, with None, taken out."""
    current = members(raw)
    parts: list[bytes] = []
    done = kept = 0
    position = raw.index(b"{") + 1
    for key, value in current.items():
        match = _KEY.match(raw, position)
        if match is None or not _is_member(match, key, raw, value):
            return _rebuild(current, edits)  # a doubled key: spans can't be told from the last value alone
        end = match.end() + len(value)
        if key in edits:
            new = edits[key]
            if new is None:
                parts.append(raw[done:position])
                done = end if kept else _end(_GAP, raw, end)
                position = done
                continue
            parts += (raw[done : match.end()], new)
            done = end
        kept += 1
        position = end
    added = [b'"' + key.encode() + b'":' + new for key, new in edits.items() if key not in current and new is not None]
    if added:
        parts += (raw[done:position], b"," if kept else b"", b",".join(added))
        done = position
    parts.append(raw[done:])
    return b"".join(parts)


def extend_string(raw: bytes, text: str) -> bytes:
    """The JSON string `raw` with `text` appended."""
    return raw[:-1] + dumps(text)[1:]


def extend_array(raw: bytes, value: bytes) -> bytes:
    """The JSON array `raw` with one more element at its end."""
    close = raw.rindex(b"]")
    empty = not raw[raw.index(b"[") + 1 : close].strip()
    return raw[:close] + (b"" if empty else b",") + value + raw[close:]


def _is_member(match: re.Match[bytes], key: str, raw: bytes, value: bytes) -> bool:
    return loads(b'"' + match.group(1) + b'"') == key and raw.startswith(value, match.end())


def _rebuild(current: dict[str, bytes], edits: dict[str, bytes | None]) -> bytes:
    merged = {**current, **edits}
    return b"{" + b",".join(dumps(k) + b":" + v for k, v in merged.items() if v is not None) + b"}"


def _end(pattern: re.Pattern[bytes], raw: bytes, position: int) -> int:
    match = pattern.match(raw, position)
    return match.end() if match else position


def _skip(raw: bytes, position: int) -> int:
    """Where the value that begins at `position` ends."""
    first = raw[position : position + 1]
    if first == b'"':
        match = _TOKEN.match(raw, position)
        if match is None:
            raise NotJson(f"string without an end at byte {position}")
        return match.end()
    if first not in (b"{", b"["):
        match = _SCALAR.match(raw, position)
        if match is None:
            raise NotJson(f"no value at byte {position}")
        return match.end()
    depth = 0
    for match in _TOKEN.finditer(raw, position):
        token = match.group()
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return match.end()
    raise NotJson(f"bracket without an end at byte {position}")


def _scan_members(raw: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    position = _open(raw, b"{")
    while raw[_end(_GAP, raw, position) :][:1] != b"}":
        match = _KEY.match(raw, position)
        if match is None:
            raise NotJson(f"no key at byte {position}")
        end = _skip(raw, match.end())
        found[str(loads(b'"' + match.group(1) + b'"'))] = raw[match.end() : end]
        position = end
    return found


def _scan_elements(raw: bytes) -> list[bytes]:
    found: list[bytes] = []
    position = _end(_GAP, raw, _open(raw, b"["))
    while raw[position : position + 1] != b"]":
        end = _skip(raw, position)
        found.append(raw[position:end])
        position = _end(_GAP, raw, end)
    return found


def _open(raw: bytes, bracket: bytes) -> int:
    position = _end(_SPACE, raw, 0)
    if raw[position : position + 1] != bracket:
        raise NotJson(f"expected {bracket.decode()} at byte {position}")
    try:
        json.loads(raw)  # the scanner is lenient; it must not accept what isn't JSON
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    return position + 1
