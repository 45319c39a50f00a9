"""Reading a folder of skills: what can be used is used, what can't be is reported."""

from __future__ import annotations

import hashlib
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from metaclaw.skills.errors import FormatError
from metaclaw.skills.format import FILE_NAME, MAX_FILE_BYTES, Document, read
from metaclaw.skills.skill import Problem, Skill, Source
from metaclaw.skills.state import State

# Wider than what may be written: a person's folder may be called "Release Notes". Still one harmless folder name.
_READABLE_NAME = re.compile(r"\w[\w .+-]{0,62}\w|\w")


@dataclass(frozen=True, slots=True)
class Entry:
    """One SKILL.md as it was read."""

    document: Document
    path: Path
    digest: str


class Catalog:
    """Reads the skills of one folder; an unchanged file is not parsed again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parsed: dict[tuple[str, str], Entry | str] = {}

    def read(self) -> tuple[list[Entry], list[Problem]]:
        """All usable skills in name order, and what was wrong."""
        entries: list[Entry] = []
        problems: list[Problem] = []
        parsed: dict[tuple[str, str], Entry | str] = {}
        for folder in self._folders(problems):
            path = folder / FILE_NAME
            try:
                data = _regular_bytes(path)
            except FileNotFoundError:
                continue
            except (OSError, FormatError) as error:
                problems.append(Problem(path, str(error), True))
                continue
            digest = hashlib.sha256(data).hexdigest()
            known = self._parsed.get((folder.name, digest))
            entry = known if known is not None else _parse(folder.name, path, data, digest)
            parsed[folder.name, digest] = entry
            if isinstance(entry, str):
                problems.append(Problem(path, entry, True))
                continue
            problems += [Problem(path, problem, False) for problem in entry.document.problems]
            entries.append(entry)
        self._parsed = parsed
        return entries, problems

    def _folders(self, problems: list[Problem]) -> list[Path]:
        try:
            found = sorted(self.folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            problems.append(Problem(self.folder, str(error), True))
            return []
        usable = []
        for path in found:
            if path.name.startswith("."):
                continue
            try:
                if not path.is_dir():
                    continue
            except OSError as error:
                problems.append(Problem(path, str(error), True))
                continue
            if _READABLE_NAME.fullmatch(path.name):
                usable.append(path)
            else:
                problems.append(Problem(path, "the folder's name can't name a skill", True))
        return usable


def as_skill(entry: Entry, builtin: bool, state: State) -> Skill:
    """The skill of an entry, as the library's state has it."""
    document = entry.document
    source: Source = "builtin"
    if not builtin:
        source = "learned" if state.learned.get(document.name) == entry.digest else "user"
    standing = state.standings.get(document.name)
    ours = standing is not None and source == "learned" and standing.version == entry.digest
    stage = standing.stage if standing is not None and ours else "active"
    return Skill(
        name=document.name,
        description=document.description,
        category=document.category,
        body=document.body,
        path=entry.path,
        source=source,
        enabled=document.name not in state.disabled and stage in ("active", "trial"),
        digest=entry.digest,
        metadata=document.metadata,
        stage=stage,
    )


def _parse(name: str, path: Path, data: bytes, digest: str) -> Entry | str:
    try:
        return Entry(read(data, name), path, digest)
    except FormatError as error:
        return str(error)


def _regular_bytes(path: Path) -> bytes:
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        raise FormatError("it is a link to a file outside the skill's folder")
    info = path.stat()
    if not stat.S_ISREG(info.st_mode):
        raise FormatError("it is not a regular file")
    if info.st_size > MAX_FILE_BYTES:
        raise FormatError(f"the file has {info.st_size} bytes; the limit is {MAX_FILE_BYTES}")
    return path.read_bytes()
