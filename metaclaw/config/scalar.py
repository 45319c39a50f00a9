"""Values as YAML text that every reader, of YAML 1.1 or 1.2, takes for the same value."""

from __future__ import annotations

import json
import re
from typing import Any

# Text that some reader takes for something else: numbers, dates, 23:00, yes, null.
_OTHER_TYPE = re.compile(
    r"(?ix) [-+.]?[\d.][\d_.,:eE+\-xobT Z]* | 0x[\da-f_]+ | [-+]?\.(inf|nan) | ~ | null | true | false | yes | no"
    r" | on | off | y | n | = | <<"
)
_PLAIN = re.compile(r"[A-Za-z0-9_./~+\-][A-Za-z0-9_./~+@=%\-]*(?:[ :][A-Za-z0-9_./~+@=%\-]+)*")
_ALWAYS_PLAIN = re.compile(r"https?://[A-Za-z0-9_./~\-:]*[A-Za-z0-9_/]")


def render(value: Any, style: str | None = None, *, flow: bool = False) -> str:
    """A value in YAML. `style` is the old value's quote, which is kept; `flow` is for inside braces."""
    if isinstance(value, str):
        return _text(value, style)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(render(item, flow=True) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {render(item, flow=True)}' for name, item in value.items())}}}"
    return json.dumps(value)


def _text(value: str, style: str | None) -> str:
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    plain = _ALWAYS_PLAIN.fullmatch(value) or (_PLAIN.fullmatch(value) and not value.startswith(("-", ".", "=")))
    if style != '"' and plain and not _OTHER_TYPE.fullmatch(value):
        return value
    return '"' + "".join(_escaped(char) for char in value) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if char in named:
        return named[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
