"""Files on disk: replaced whole or not at all, private by default, saved before they are changed.

Exceptions:
    FileError(OSError)
    ├── SymlinkEscape   the path leads out of the folder it was meant to stay in
    └── NotOurs         the file belongs to another user, so replacing it would take it away from them
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_UNFINISHED = ".metaclaw-tmp"
_REPLACE_TRIES = 20
_REPLACE_WAIT = 0.05


class FileError(OSError):
    """A file could not be handled safely."""


class SymlinkEscape(FileError):
    """A symbolic link leads out of the folder that the file belongs to."""


class NotOurs(FileError):
    """The file belongs to another user."""


@dataclass(frozen=True)
class Saved:
    """A copy of a file as it was: where the copy is, and what it must contain."""

    copy: Path
    sha256: str
    mode: int


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def real_path(path: Path, within: Path | None = None) -> Path:
    """Follow symbolic links, but never out of `within` (by default the folder that `path` stands in)."""
    target = path.resolve()
    root = (within if within is not None else path.parent).resolve()
    if not target.is_relative_to(root):
        raise SymlinkEscape(f"{path} is a link to {target}, outside {root}: edit that file yourself")
    return target


def write_atomic(path: Path, data: bytes, *, mode: int | None = None, within: Path | None = None) -> None:
    """Replace the file's content so that a reader, or a crash, sees the old bytes or the new ones, never a mixture.

    An existing file keeps its mode (unless `mode` says otherwise) and its owner; a new one is 0600. The folder must
    exist. A link is followed inside `within` (default: the file's own folder) and stays a link; beyond that it is
    refused. On return the bytes are on the disk.
    """
    target = real_path(path, within)
    before = target.stat() if target.exists() else None
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise FileError(f"{target} is not a regular file")
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=_UNFINISHED, dir=target.parent)
    temp = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            if before is not None:
                _keep_owner(temp, before)
            temp.chmod(_mode_for(mode, before))
            os.fsync(out.fileno())
        _replace(temp, target)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def sweep(path: Path) -> None:
    """Delete what a crash in the middle of `write_atomic(path)` left beside the file. Nobody may be writing it now."""
    for left in path.parent.glob(f".{glob.escape(path.name[:100])}.*{_UNFINISHED}"):
        left.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Delete a file, if it is there, and make the deletion last."""
    path.unlink(missing_ok=True)
    if path.parent.is_dir():
        _sync_folder(path.parent)


def private_dir(path: Path) -> Path:
    """Make sure that the folder exists and only its owner may enter; folders made on the way are private too."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    if not path.is_dir():
        raise FileError(f"{path} is not a folder")
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(PRIVATE_FOLDER)
    return path


def backup(path: Path, folder: Path) -> Saved:
    """Copy a file's bytes into a private folder, under a name made of its content, and return what was saved.

    The same content is saved once. The copy is on the disk before this returns.
    """
    data = path.read_bytes()
    mark = digest(data)
    copy = private_dir(folder) / f"{path.name}.{mark[:16]}"
    if not copy.exists() or digest(copy.read_bytes()) != mark:
        write_atomic(copy, data, mode=PRIVATE_FILE)
    return Saved(copy=copy, sha256=mark, mode=stat.S_IMODE(path.stat().st_mode))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes (and threads) respect; it falls with the process that holds it."""
    private_dir(path.parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        while True:
            with contextlib.suppress(OSError):  # it gives up after ten seconds; the holder may need longer
                msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
                return
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)


def close_to_others(path: Path) -> None:
    """Take reading and writing away from everybody but the file's owner."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        path.chmod(mode & ~0o077)


def _mode_for(mode: int | None, before: os.stat_result | None) -> int:
    if mode is not None:
        return mode
    return stat.S_IMODE(before.st_mode) if before is not None else PRIVATE_FILE


def _keep_owner(temp: Path, before: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    now = temp.stat()
    if now.st_uid != before.st_uid:
        try:
            os.chown(temp, before.st_uid, -1)
        except PermissionError as error:
            raise NotOurs(f"the file belongs to user id {before.st_uid}: run this as that user") from error
    if now.st_gid != before.st_gid:
        # A group that this user is not in can't be set; the file is still its owner's.
        with contextlib.suppress(PermissionError):
            os.chown(temp, -1, before.st_gid)


def _replace(temp: Path, target: Path) -> None:
    # Windows refuses while a scanner or the claw itself has the file open for a moment.
    for left in range(_REPLACE_TRIES, -1, -1):
        try:
            temp.replace(target)
        except PermissionError:
            if os.name != "nt" or left == 0:
                raise
            time.sleep(_REPLACE_WAIT)
        else:
            return


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
