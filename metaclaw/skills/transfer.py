"""Skills in and out: from a folder, a SKILL.md or an archive, and into one. What comes in is hostile until read."""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from metaclaw.skills.errors import BadName, Exists, FormatError
from metaclaw.skills.format import FILE_NAME, MAX_FILE_BYTES, Document, check_name, read
from metaclaw.skills.screening import Finding, screen, screen_text
from metaclaw.skills.skill import Skill
from metaclaw_adapters.files import private_dir, write_atomic

MAX_FILES = 200
MAX_BYTES = 20 * 1024 * 1024
_ARCHIVES = (".zip", ".skill")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # so that the same skills make the same archive
Content = dict[str, tuple[bytes, bool]]  # path in the skill's folder: bytes, executable


@dataclass(frozen=True, slots=True)
class Package:
    """One skill that wants in, wholly in memory. `digest` stands for exactly these bytes."""

    name: str
    document: Document
    files: Content
    findings: tuple[Finding, ...]
    digest: str


def open_packages(path: Path) -> list[Package]:
    """The skills in a folder, a folder of folders, a SKILL.md or an archive. Raises FormatError, BadName."""
    if path.is_dir():
        found = list(_folders(path))
    elif path.suffix.lower() in _ARCHIVES and path.is_file():
        found = list(_archive(path))
    elif path.is_file():
        data = _read(path)
        place = path.parent.name if path.name == FILE_NAME else path.stem
        found = [(_own_name(data) or place, {FILE_NAME: (data, False)})]  # it may lie anywhere: its own name first
    else:
        raise FormatError(f"{path}: no such file or folder")
    if not found:
        raise FormatError(f"{path}: there is no {FILE_NAME} in it")
    return [_package(name, files) for name, files in found]


def write_package(package: Package, folder: Path) -> None:
    """Write a package's files into an empty or new folder."""
    for name, (data, executable) in package.files.items():
        target = folder / name
        private_dir(target.parent)
        write_atomic(target, data, mode=0o700 if executable else 0o600)


def export(skills: Sequence[Skill], target: Path) -> list[Path]:
    """Write skills with all their files into a folder, or into one archive (`.zip`, `.skill`).

    What is there already is not overwritten: raises Exists.
    """
    contents = {skill.name: _folder_content(skill.path.parent) for skill in skills}
    if target.suffix.lower() in _ARCHIVES:
        if target.exists():
            raise Exists(f"{target} is there already: name another file")
        if not target.parent.exists():
            private_dir(target.parent)
        write_atomic(target, _archive_bytes(contents))
        return [target]
    for name in contents:
        if (target / name).exists():
            raise Exists(f"{target / name} is there already: name another folder")
    for name, files in contents.items():
        for inner, (data, executable) in files.items():
            (target / name / inner).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target / name / inner, data, mode=0o700 if executable else 0o600)
    return [target / name for name in contents]


def _package(folder: str, files: Content) -> Package:
    document = read(files[FILE_NAME][0], folder)
    name = _name(folder, files[FILE_NAME][0])
    findings = [Finding("specification", problem) for problem in document.problems]
    findings += [finding for finding in screen(document) if finding.kind != "specification"]
    for inner, (data, executable) in sorted(files.items()):
        if inner != FILE_NAME:
            findings += [Finding(f.kind, f"{inner}: {f.what}", f.excerpt) for f in screen_text(_as_text(data))]
            if executable:
                findings.append(Finding("permission", f"{inner} is a program"))
    mark = hashlib.sha256()
    for inner, (data, executable) in sorted(files.items()):
        mark.update(f"{inner}\0{len(data)}\0{int(executable)}\0".encode() + data)
    return Package(name, document, files, tuple(findings), mark.hexdigest())


def _name(folder: str, data: bytes) -> str:
    """The folder's name, or the one in the front matter when the folder's can't be used."""
    try:
        return check_name(folder)
    except BadName:
        if own := _own_name(data):
            return own
        raise


def _own_name(data: bytes) -> str:
    """The name in the front matter, if it can be used."""
    for line in data.decode("utf-8", "replace").split("\n")[1:40]:
        if line.startswith("name:"):
            try:
                return check_name(line.removeprefix("name:").strip().strip("\"'"))
            except BadName:
                return ""
    return ""


def _folders(path: Path) -> Iterator[tuple[str, Content]]:
    if (path / FILE_NAME).is_file():
        yield path.resolve().name, _folder_content(path)
        return
    for folder in sorted(path.iterdir()):
        if not folder.name.startswith(".") and not folder.is_symlink() and (folder / FILE_NAME).is_file():
            yield folder.name, _folder_content(folder)


def _folder_content(folder: Path) -> Content:
    """All regular files below a folder; links and dot-folders are left out."""
    files: Content = {}
    size = 0
    waiting = [folder]
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            info = path.lstat()
            if stat.S_ISDIR(info.st_mode) and not path.name.startswith("."):
                waiting.append(path)
            elif stat.S_ISREG(info.st_mode):
                size += info.st_size
                _check_size(folder, len(files) + 1, size)
                files[path.relative_to(folder).as_posix()] = (path.read_bytes(), bool(info.st_mode & 0o100))
    return files


def _archive(path: Path) -> Iterator[tuple[str, Content]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            _check_size(path, len(members), sum(member.file_size for member in members))
            content = {_inner_path(path, member): _member(archive, member) for member in members}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise FormatError(f"{path}: it is not a readable archive ({error})") from None
    for file in sorted(content):
        if file.name != FILE_NAME or len(file.parts) > 2:
            continue
        root = file.parent
        files = {str(inner.relative_to(root)): data for inner, data in content.items() if inner.is_relative_to(root)}
        yield (root.name or path.stem), files


def _inner_path(archive: Path, member: zipfile.ZipInfo) -> PurePosixPath:
    name = member.filename
    inner = PurePosixPath(name)
    if "\\" in name or ":" in name or inner.is_absolute() or ".." in inner.parts or ".git" in inner.parts:
        raise FormatError(f"{archive}: it holds a path that leads elsewhere: {name!r}")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise FormatError(f"{archive}: it holds a link: {name!r}")
    return inner


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[bytes, bool]:
    with archive.open(member) as stream:
        data = stream.read(member.file_size + 1)
    if len(data) > member.file_size:
        raise FormatError(f"{member.filename}: it is longer than the archive says")
    return data, bool(member.external_attr >> 16 & 0o100)


def _archive_bytes(contents: dict[str, Content]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, files in sorted(contents.items()):
            for inner, (data, executable) in sorted(files.items()):
                info = zipfile.ZipInfo(f"{name}/{inner}", _EPOCH)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (0o100755 if executable else 0o100644) << 16
                archive.writestr(info, data)
    return out.getvalue()


def _check_size(path: Path, files: int, size: int) -> None:
    if files > MAX_FILES or size > MAX_BYTES:
        raise FormatError(f"{path}: more than {MAX_FILES} files or {MAX_BYTES // 2**20} MiB")


def _read(path: Path) -> bytes:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise FormatError(f"{path}: more than {MAX_FILE_BYTES} bytes")
    return path.read_bytes()


def _as_text(data: bytes) -> str:
    return "" if b"\0" in data[:1024] else data[:MAX_FILE_BYTES].decode("utf-8", "replace")
