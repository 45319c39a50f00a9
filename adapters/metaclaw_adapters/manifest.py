"""The record of a wiring, kept in the state folder: what was there before, what we wrote, how far we got.

It is on the disk before the claw's first byte changes, so whoever finds it can undo, wherever we stopped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .base import Add, Automatic, Edit, Put
from .errors import Unreadable
from .files import Saved, private_dir, remove, write_atomic
from .values import ABSENT, Json

_VERSION = 1


@dataclass(frozen=True)
class FileRecord:
    """One file of the claw: its copy from before, our edits, and the values that stood in their places."""

    path: Path
    format: str
    within: Path
    saved: Saved | None  # None: there was no such file
    exact: bool  # the copy is really the user's own state, without anything of ours in it
    edits: tuple[Edit, ...]
    before: tuple[Json, ...]
    automatic: tuple[Automatic, ...] = ()
    written: Saved | None = None  # what our writing left, once it is done


@dataclass(frozen=True)
class Manifest:
    """The wiring of one claw. `planned`: we may have stopped anywhere; `applied`: all of it was written and checked."""

    claw: str
    state: Literal["planned", "applied"]
    files: tuple[FileRecord, ...]


def load(path: Path) -> Manifest | None:
    """The manifest, or None when there is none."""
    try:
        raw = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path} can't be read ({error}); the claw's original is saved beside it") from error
    if raw.get("version") != _VERSION:
        raise Unreadable(f"{path} was written by another version of MetaClaw: undo with that version")
    return Manifest(raw["claw"], raw["state"], tuple(_file_from(entry) for entry in raw["files"]))


def save(manifest: Manifest, path: Path) -> None:
    """Write the manifest; on return it is on the disk."""
    raw = {
        "version": _VERSION,
        "claw": manifest.claw,
        "state": manifest.state,
        "files": [_file_to(record) for record in manifest.files],
    }
    private_dir(path.parent)
    write_atomic(path, json.dumps(raw, indent=1).encode("ascii"), mode=0o600)


def discard(path: Path) -> None:
    """Remove the manifest: nothing of ours is in the claw any more."""
    remove(path)


def _file_to(record: FileRecord) -> Json:
    return {
        "path": str(record.path),
        "format": record.format,
        "within": str(record.within),
        "saved": _saved_to(record.saved),
        "exact": record.exact,
        "edits": [_edit_to(edit) for edit in record.edits],
        "before": [_value_to(value) for value in record.before],
        "automatic": [{"keys": list(a.keys), "values": list(a.values)} for a in record.automatic],
        "written": _saved_to(record.written),
    }


def _file_from(raw: Json) -> FileRecord:
    return FileRecord(
        path=Path(raw["path"]),
        format=raw["format"],
        within=Path(raw["within"]),
        saved=_saved_from(raw["saved"]),
        exact=raw["exact"],
        edits=tuple(_edit_from(entry) for entry in raw["edits"]),
        before=tuple(_value_from(entry) for entry in raw["before"]),
        automatic=tuple(Automatic(tuple(a["keys"]), tuple(a["values"])) for a in raw["automatic"]),
        written=_saved_from(raw["written"]),
    )


def _saved_to(saved: Saved | None) -> Json:
    return saved and {"copy": str(saved.copy), "sha256": saved.sha256, "mode": saved.mode}


def _saved_from(raw: Json) -> Saved | None:
    return Saved(Path(raw["copy"]), raw["sha256"], raw["mode"]) if raw else None


def _edit_to(edit: Edit) -> Json:
    if isinstance(edit, Add):
        place = {"keys": list(edit.keys), "seed": list(edit.seed), "prefix": edit.prefix, "mark": edit.mark}
        return {"add": edit.item, **place}
    fields = [list(keys) for keys in edit.fields]
    return {
        "put": _value_to(edit.value),
        "keys": list(edit.keys),
        "owned": edit.owned,
        "prefix": edit.prefix,
        "fields": fields,
    }


def _edit_from(raw: Json) -> Edit:
    keys = tuple(raw["keys"])
    if "add" in raw:
        return Add(keys, raw["add"], tuple(raw["seed"]), raw["prefix"], raw.get("mark", ""))
    fields = tuple(tuple(entry) for entry in raw["fields"])
    return Put(keys, _value_from(raw["put"]), raw["owned"], raw["prefix"], fields)


def _value_to(value: Json) -> Json:
    return {} if value is ABSENT else {"value": value}


def _value_from(raw: Json) -> Json:
    return raw.get("value", ABSENT)
