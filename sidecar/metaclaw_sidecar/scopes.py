"""Scopes: whose memory it is. A scope is one exact name; there is no wildcard and no scope that reads another."""

from __future__ import annotations

import unicodedata

from .errors import BadScope

DIMENSIONS = ("user", "workspace", "agent", "session")
_LONGEST = 300


def parse(value: str | None, default: str) -> str:
    """The scope a caller means, written in one way. Raises BadScope."""
    scope = unicodedata.normalize("NFC", (value if value is not None else default).strip())
    if not scope:
        raise BadScope("a scope can't be empty")
    if len(scope) > _LONGEST:
        raise BadScope(f"a scope has at most {_LONGEST} characters")
    if any(unicodedata.category(mark)[0] == "C" for mark in scope) or "*" in scope or "%" in scope:
        raise BadScope("a scope has no wildcards and no control characters")
    return _ordered(scope)


def _ordered(scope: str) -> str:
    """`workspace:w|user:u` is `user:u|workspace:w`; any other name stands for itself."""
    pairs = [part.partition(":") for part in scope.split("|")]
    names = [name for name, _, _ in pairs]
    if len(set(names)) != len(names) or not all(name in DIMENSIONS and value for name, _, value in pairs):
        return scope
    return "|".join(f"{name}:{value}" for name, _, value in sorted(pairs, key=lambda pair: DIMENSIONS.index(pair[0])))
