"""What is written down of a file before it changes, and how a later wiring adds to what an earlier one wrote down."""

from __future__ import annotations

from pathlib import Path

from .base import Add, Edit, FileChange
from .decisions import apply_all, original_of, settled, untouched, untouched_since
from .files import Saved, backup, digest
from .formats import FORMATS
from .manifest import FileRecord, Manifest
from .values import ABSENT, Json, differences, dotted, same


def record_for(change: FileChange, folder: Path) -> FileRecord:
    """Save the file as it is and note what stands where we are going to write."""
    document = change.document
    return FileRecord(
        path=document.path,
        format=document.format,
        within=change.within,
        saved=None if document.data is None else backup(document.path, folder),
        exact=not any(edit.named(document.value) for edit in change.edits),
        edits=change.edits,
        before=tuple(original_of(document.value, change.edits)),
        automatic=change.automatic,
    )


def merged(step: FileRecord, previous: Manifest | None) -> FileRecord:
    """The record after a further wiring: the new edits, but the original of the first wiring."""
    old = next((record for record in previous.files if record.path == step.path), None) if previous else None
    if old is None:
        return step
    known = {_place(edit): was for edit, was in zip(old.edits, old.before, strict=True)}
    new = {_place(edit) for edit in step.edits}
    left = [edit for edit in old.edits if _place(edit) not in new]
    before = [known.get(_place(edit), was) for edit, was in zip(step.edits, step.before, strict=True)]
    return FileRecord(
        path=old.path,
        format=old.format,
        within=old.within,
        saved=old.saved,
        exact=old.exact and step.saved is not None and is_untouched(old, step.saved.copy.read_bytes()),
        edits=(*step.edits, *left),
        before=(*before, *(known[_place(edit)] for edit in left)),
        automatic=(*old.automatic, *(place for place in step.automatic if place not in old.automatic)),
    )


def in_force(edit: Edit, record: FileRecord | None, tree: Json) -> bool:
    """Has this very edit been made before, and does it still hold? What the user tuned inside it is left alone then."""
    if record is None or not edit.holds(tree):
        return False
    return any(_place(old) == _place(edit) and same(_wanted(old), _wanted(edit)) for old in record.edits)


def is_untouched(record: FileRecord, now: bytes) -> bool:
    """Has nobody but us and the claw itself changed the file since we recorded it?"""
    if record.written is not None and digest(now) == record.written.sha256:
        return True
    reader = FORMATS[record.format]
    value = reader.read(now)
    if record.written is not None and intact(record.written):
        written = reader.read(record.written.copy.read_bytes())
        if untouched_since(value, written, record.automatic):
            return True
    original = original_value(record)
    return original is not ABSENT and untouched(value, original, record.edits, record.automatic)


def original_value(record: FileRecord) -> Json:
    """The values of the file before us; `ABSENT` if the copy is lost."""
    if record.saved is None:
        return {}
    if not intact(record.saved):
        return ABSENT
    return FORMATS[record.format].read(record.saved.copy.read_bytes())


def intact(saved: Saved) -> bool:
    """Is the copy still the bytes it was made of?"""
    return saved.copy.is_file() and digest(saved.copy.read_bytes()) == saved.sha256


def unexpected(change: FileChange, value: Json) -> list[str]:
    """What the claw's own writer changed beside what we asked for."""
    original = change.document.value
    wanted = apply_all(original, change.edits)
    found = settled(value, original, change.automatic)
    wanted = settled(wanted, original, change.automatic)
    places = sorted({dotted(keys[:3]) for keys, _, _ in differences(wanted, found)})
    return [f"the claw's own writer also changed {', '.join(places)}"] if places else []


def _place(edit: Edit) -> tuple[type, tuple[str, ...]]:
    return type(edit), edit.keys


def _wanted(edit: Edit) -> Json:
    return edit.item if isinstance(edit, Add) else edit.value
