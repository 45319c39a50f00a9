"""Values as YAML: in blocks of lines, or in one line; read alike by YAML 1.1 and 1.2."""

from __future__ import annotations

import re
from typing import Final

from .values import Json

# Plain only what no version takes for anything but text; a colon only where no space may follow it.
_PLAIN: Final = re.compile(r"(?:[A-Za-z_/][\w./@+-]*)(?::[\w./@+-]+)*\Z", re.ASCII)
_WORDS: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"))
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def as_flow(value: Json) -> str:
    """A value in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_string(key)}: {as_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_flow(inner) for inner in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return _number(value)
    return _string(str(value))


def as_block(value: Json, indent: str, newline: str, unit: int = 2) -> str:
    """A mapping or a list in lines of its own, each ended; whatever is empty or no collection stands in one line."""
    lines = _lines(value, unit)
    return "".join(f"{indent}{line}{newline}" for line in lines)


def _lines(value: Json, unit: int) -> list[str]:
    lines: list[str] = []
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            if isinstance(inner, dict | list) and inner:
                lines += [f"{_string(key)}:", *(" " * unit + line for line in _lines(inner, unit))]
            else:
                lines.append(f"{_string(key)}: {as_flow(inner)}")
    elif isinstance(value, list) and value:
        for inner in value:
            first, *rest = _lines(inner, unit)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
    else:
        lines.append(as_flow(value))
    return lines


def _number(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return ".nan" if value != value else ".inf" if value > 0 else "-.inf"
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _string(text: str) -> str:
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(_ESCAPES.get(char) or _shown(char) for char in text) + '"'


def _shown(char: str) -> str:
    if char.isprintable() and char != "\ufeff":
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}" if ord(char) < 65_536 else _long(char)


def _long(char: str) -> str:
    return f"\\U{ord(char):08x}"
