"""What can be wrong with a configuration, told in one line each.

ConfigError
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: where it stands (a file, a variable), which key, what to do. `line` and `column` count from 1."""

    text: str
    key: str = ""
    source: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}:{self.column}" if self.line else self.source
        return ": ".join(part for part in (place, self.key, self.text) if part)


class ConfigError(Exception):
    """The configuration can't be used as it is; the message is one line, `problems` has all of them."""

    def __init__(self, *problems: Problem | str) -> None:
        self.problems = tuple(Problem(item) if isinstance(item, str) else item for item in problems)
        more = len(self.problems) - 1
        tail = f" (and {more} more: see `metaclaw config validate`)" if more else ""
        super().__init__(f"{self.problems[0]}{tail}")


def nearest(name: str, known: Sequence[str]) -> str:
    """The known name that `name` was most likely meant to be, or ''."""
    tails = {key.rpartition(".")[2]: key for key in known}
    found = get_close_matches(name, known, n=1, cutoff=0.6)
    if not found:
        found = [tails[tail] for tail in get_close_matches(name.rpartition(".")[2], list(tails), n=1, cutoff=0.75)]
    return found[0] if found else ""


def unknown_key(name: str, known: Sequence[str]) -> str:
    """The words for a key that isn't one."""
    hint = nearest(name, known)
    return f"unknown key; did you mean {hint}?" if hint else "unknown key; `metaclaw config show` lists all keys"
