"""Giving a file back: byte for byte where nothing else changed, else value by value, keeping the user's edits."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from .decisions import Changes, undo
from .errors import Interfered, NotEditable, Unreadable
from .files import digest, real_path, remove, sweep, write_atomic
from .formats import FORMATS
from .manifest import FileRecord
from .recording import is_untouched, original_value
from .values import ABSENT, Json, describe, differences, dotted, strings, with_value


@dataclass(frozen=True)
class Reverted:
    """What came of it: `exact` if the file is what it was to the byte (or gone, as it was)."""

    exact: bool
    diff: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_values(path: Path, kind: str) -> tuple[bytes, Json]:
    """A file's bytes and values; a file that isn't there is empty."""
    try:
        data = path.read_bytes()
        return data, FORMATS[kind].read(data)
    except FileNotFoundError:
        return b"", {}
    except OSError as error:
        raise Unreadable(f"{path} can't be read: {error.strerror}") from error
    except Unreadable as error:
        raise Unreadable(f"{path} was left alone: {error}") from error


def write_edited(
    path: Path, kind: str, seen: bytes | None, changes: Changes, within: Path, *, secret: bool = False
) -> None:
    """Set values in the file's text, provided that it still is what was `seen`."""
    made = FORMATS[kind].edit(seen or b"", changes)
    mode = None
    if secret and os.name == "posix":
        mode = stat.S_IMODE(path.stat().st_mode) & ~0o077 if seen is not None else 0o600
    _expect(path, seen)
    write_atomic(path, made, mode=mode, within=within)


def revert(record: FileRecord) -> Reverted:
    """Undo our edits in one file. Safe wherever the wiring stopped, and safe to repeat."""
    sweep(real_path(record.path, record.within))
    if not record.path.exists():
        gone = record.saved is not None
        return Reverted(not gone, notes=(f"{record.path} is gone; there is nothing to undo",) if gone else ())
    try:
        now, value = read_values(record.path, record.format)
    except Unreadable as error:
        copy = f", or put back {record.saved.copy}" if record.saved is not None else ""
        raise Unreadable(f"{error}; repair it and try again{copy}") from error
    if record.saved is not None and digest(now) == record.saved.sha256:
        return Reverted(True)
    original = original_value(record)
    if record.exact and original is not ABSENT and is_untouched(record, now):
        _restore(record, now)
        return Reverted(True, diff=tuple(describe(value, original)))
    return _revert_values(record, now, value, original)


def _restore(record: FileRecord, now: bytes) -> None:
    _expect(record.path, now)
    if record.saved is None:
        remove(real_path(record.path, record.within))
    else:
        data = record.saved.copy.read_bytes()
        write_atomic(record.path, data, mode=_mode(record), within=record.within)


def _revert_values(record: FileRecord, now: bytes, value: Json, original: Json) -> Reverted:
    plan = undo(value, {} if original is ABSENT else original, record.edits, record.before)
    if plan.changes:
        made = _rewritten(record, now, plan.changes, original)
        _expect(record.path, now)
        write_atomic(record.path, made, mode=_mode(record), within=record.within)
    after = read_values(record.path, record.format)[1]
    prefixes = tuple(edit.prefix for edit in record.edits if edit.prefix)
    dangling = [(keys, text) for keys, text in strings(after) if prefixes and text.startswith(prefixes)]
    notes = [*plan.kept, *(f"{dotted(keys)} still names {text}: choose another" for keys, text in dangling)]
    return Reverted(False, diff=tuple(describe(value, after)), notes=tuple(notes))


def _rewritten(record: FileRecord, now: bytes, changes: Changes, original: Json) -> bytes:
    """The text to leave: the original's, with the user's edits, if the claw's writer has dropped its comments since."""
    kind = FORMATS[record.format]
    if record.exact and record.saved is not None and original is not ABSENT and not kind.has_comments(now):
        target = _with_changes(kind.read(now), changes)
        edits = [(keys, new) for keys, _, new in differences(original, target)]
        with contextlib.suppress(NotEditable):
            return kind.edit(record.saved.copy.read_bytes(), edits)
    try:
        return kind.edit(now, changes)
    except NotEditable as error:
        places = ", ".join(dotted(keys) for keys, _ in changes)
        copy = f"; the original is {record.saved.copy}" if record.saved is not None else ""
        raise NotEditable(f"{record.path}: {error}: take {places} out by hand{copy}") from error


def _with_changes(tree: Json, changes: Changes) -> Json:
    for keys, value in changes:
        tree = with_value(tree, keys, value)
    return tree


def _mode(record: FileRecord) -> int | None:
    """The mode to give back: the original one, if the present one came of our writing."""
    if record.saved is None or record.written is None:
        return None
    here = stat.S_IMODE(record.path.stat().st_mode)
    return record.saved.mode if here == record.written.mode else None


def _expect(path: Path, seen: bytes | None) -> None:
    """Nobody else may have written in the meantime: their change would be lost."""
    try:
        now = path.read_bytes()
    except FileNotFoundError:
        now = None
    if now != seen:
        raise Interfered(f"{path} was changed by somebody else just now: try again")
