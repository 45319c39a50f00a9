"""Trees of configuration values: read, change, compare and print them, whatever file format they came from."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any  # None | bool | int | float | str | list[Json] | dict[str, Json]
Keys: TypeAlias = tuple[str, ...]


class Absent:
    """The type of `ABSENT`: there is no value here."""

    def __repr__(self) -> str:
        return "absent"

    def __bool__(self) -> bool:
        return False

    def __copy__(self) -> Absent:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Absent:
        return self


ABSENT: Final = Absent()
_SECRET = re.compile(r"(?i)(api_?key|token|secret|password|credential)s?$")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*\Z")


def get(tree: Json, keys: Keys) -> Json:
    """The value at `keys`, or `ABSENT`."""
    for key in keys:
        if not isinstance(tree, dict) or key not in tree:
            return ABSENT
        tree = tree[key]
    return tree


def put(tree: Json, keys: Keys, value: Json) -> Json:
    """A copy of the tree with `value` at `keys`; objects on the way are made, or replace what is no object."""
    if not keys:
        return copy.deepcopy(value)
    made = dict(tree) if isinstance(tree, dict) else {}
    made[keys[0]] = put(made.get(keys[0], {}), keys[1:], value)
    return made


def drop(tree: Json, keys: Keys) -> Json:
    """A copy of the tree without the value at `keys`."""
    if not isinstance(tree, dict) or keys[0] not in tree:
        return tree
    made = dict(tree)
    if len(keys) == 1:
        del made[keys[0]]
    else:
        made[keys[0]] = drop(made[keys[0]], keys[1:])
    return made


def with_value(tree: Json, keys: Keys, value: Json) -> Json:
    """A copy of the tree with `value` at `keys`, or with nothing there if it is `ABSENT`."""
    return drop(tree, keys) if value is ABSENT else put(tree, keys, value)


def same(one: Json, other: Json) -> bool:
    """Equality of JSON values: `1` is `1.0` but not `true`; the order of an object's keys doesn't matter."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    both_nan = isinstance(one, float) and isinstance(other, float) and one != one and other != other
    return both_nan or bool(one == other)


def differences(before: Json, after: Json, keys: Keys = ()) -> Iterator[tuple[Keys, Json, Json]]:
    """Where two trees differ, as (keys, old, new), as deep as both sides are objects."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), (*keys, key))
    elif not same(before, after):
        yield keys, before, after


def strings(tree: Json, keys: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Every string in the tree, with the keys (and list positions) that lead to it."""
    if isinstance(tree, str):
        yield keys, tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from strings(value, (*keys, key))
    elif isinstance(tree, list):
        for position, value in enumerate(tree):
            yield from strings(value, (*keys, str(position)))


def dotted(keys: Keys) -> str:
    """Keys as people write them: `models.providers["a.b"].api`."""
    text = ""
    for key in keys:
        text += f".{key}" if _PLAIN_KEY.match(key) else f"[{json.dumps(key, ensure_ascii=False)}]"
    return text.removeprefix(".") or "(everything)"


def redacted(tree: Json, key: str = "") -> Json:
    """A copy of the tree that may be shown: values under keys that name secrets are hidden."""
    if isinstance(tree, dict):
        return {name: redacted(value, name) for name, value in tree.items()}
    if isinstance(tree, list):
        return [redacted(value, key) for value in tree]
    return "…" if isinstance(tree, str) and _SECRET.search(key) else tree


def describe(before: Json, after: Json) -> list[str]:
    """The differences of two trees as lines to show a person, secrets hidden."""
    return [
        f"{dotted(keys)}: {_shown(keys, old)} → {_shown(keys, new)}" for keys, old, new in differences(before, after)
    ]


def _shown(keys: Keys, value: Json) -> str:
    if value is ABSENT:
        return "(not set)"
    return json.dumps(redacted(value, keys[-1] if keys else ""), ensure_ascii=False)
