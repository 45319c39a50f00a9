"""Files on disk: private, and replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def private_dir(path: Path) -> Path:
    """Make the folder, and what is missing above it, for its owner alone."""
    for folder in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        path.chmod(0o700)
    return path


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file's content so that readers see the old or the new; mode 0600."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temp = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise


def close_to_others(path: Path) -> None:
    """Take all rights away from everybody but the owner."""
    if os.name == "posix" and path.exists() and path.stat().st_mode & 0o077:
        path.chmod(0o600)
