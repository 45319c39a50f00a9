"""What to write and what to put back, as pure functions of values: the original, our edits, what is there now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .base import Add, Automatic, Edit, Put, State
from .values import ABSENT, Json, Keys, dotted, get, same, with_value

Changes = list[tuple[Keys, Json]]


@dataclass(frozen=True)
class Undo:
    """How to take our edits out of a document: values to set, and what was left because the user changed it since."""

    changes: Changes
    kept: tuple[str, ...]


def apply_all(tree: Json, edits: Sequence[Edit]) -> Json:
    """The tree with every edit made."""
    for edit in edits:
        tree = edit.apply(tree)
    return tree


def changes_for(tree: Json, edits: Sequence[Edit]) -> Changes:
    """The values to set so that every edit is in force; empty when all are."""
    changes: Changes = []
    for edit in edits:
        made = edit.apply(tree)
        if not same(made, tree):
            changes.append((edit.keys, get(made, edit.keys)))
        tree = made
    return changes


def state_of(tree: Json, edits: Sequence[Edit]) -> State:
    """Do the edits still hold in this document?"""
    if all(edit.holds(tree) for edit in edits):
        return "wired"
    return "drifted" if any(edit.present(tree) for edit in edits) else "not_wired"


def original_of(tree: Json, edits: Sequence[Edit]) -> list[Json]:
    """For each edit, the value that undo shall put back: what is there now, but never anything of our own."""
    values: list[Json] = []
    for edit in edits:
        found = get(tree, edit.keys)
        if not edit.named(tree):
            values.append(found)
        elif isinstance(edit, Add):
            values.append([item for item in found if not edit.mine(item)])
        else:
            values.append(ABSENT)
    return values


def untouched(now: Json, original: Json, edits: Sequence[Edit], automatic: Sequence[Automatic]) -> bool:
    """Is nothing different from the original but our own edits and what the claw writes by itself?"""
    wired = settled(apply_all(original, edits), original, automatic)
    return same(settled(now, original, automatic), wired)


def untouched_since(now: Json, written: Json, automatic: Sequence[Automatic]) -> bool:
    """Is nothing different from what our writing left but what the claw writes by itself?"""
    return same(settled(now, written, automatic), written)


def settled(tree: Json, original: Json, automatic: Sequence[Automatic]) -> Json:
    """The tree without the claw's automatic changes: those places are as in the original again."""
    for place in automatic:
        found, was = get(tree, place.keys), get(original, place.keys)
        if not same(found, was) and (not place.values or any(same(found, value) for value in place.values)):
            tree = with_value(tree, place.keys, was)
            tree = _pruned(tree, original, place.keys)[0]
    return tree


def undo(now: Json, original: Json, edits: Sequence[Edit], before: Sequence[Json]) -> Undo:
    """Three ways by value: what still is ours goes back to what it was; what the user changed since stays."""
    tree, changes, kept = now, Changes(), []
    for edit, was in reversed(list(zip(edits, before, strict=True))):
        value, remark = _put_back(tree, edit, was) if isinstance(edit, Put) else _take_out(tree, edit, was)
        if remark:
            kept.append(remark)
        if same(value, get(tree, edit.keys)):
            continue
        tree = with_value(tree, edit.keys, value)
        changes.append((edit.keys, value))
        if value is ABSENT:
            tree, removed = _pruned(tree, original, edit.keys)
            changes += removed
    return Undo(changes, tuple(reversed(kept)))


def _put_back(tree: Json, edit: Put, was: Json) -> tuple[Json, str]:
    found = get(tree, edit.keys)
    if same(found, was):
        return found, ""
    if not edit.present(tree):
        return found, "" if found is ABSENT else f"{dotted(edit.keys)} was changed since, and stays as it is"
    edited = edit.owned and not same(found, edit.value)
    return was, f"{dotted(edit.keys)} had been edited, and went with the rest" if edited else ""


def _take_out(tree: Json, edit: Add, was: Json) -> tuple[Json, str]:
    found = get(tree, edit.keys)
    if not isinstance(found, list) or not edit.present(tree):
        return found, ""
    rest = [item for item in found if not edit.mine(item)]
    if rest or same(rest, was) or edit.mark:
        return ABSENT if was is ABSENT and not rest else rest, ""
    if was is ABSENT:
        return ABSENT, ""
    # An empty list would allow everything: the limit the user set must not fall with our item.
    return found, f"{dotted(edit.keys)} holds only {edit.item} by now; it stays, since an empty list sets no limit"


def _pruned(tree: Json, original: Json, keys: Keys) -> tuple[Json, Changes]:
    """Remove the objects above `keys` that are empty now and that the original did not have."""
    removed: Changes = []
    for depth in range(len(keys) - 1, 0, -1):
        above = keys[:depth]
        if get(tree, above) != {} or get(original, above) is not ABSENT:
            break
        tree = with_value(tree, above, ABSENT)
        removed.append((above, ABSENT))
    return tree, removed
