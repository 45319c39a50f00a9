"""What MetaClaw has on this machine, and how it is packed up and taken away."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

# All that MetaClaw ever writes into its state folder; whatever else is there belongs to somebody else.
OWN_NAMES = (
    "config.yaml",
    "config.yaml.bak",
    ".config.yaml.lock",
    "secrets.json",
    ".secrets.lock",
    "journal.sqlite3",
    "journal.sqlite3-wal",
    "journal.sqlite3-shm",
    "run",
    "logs",
    "skills",
    "memory",
    "claws",
    "cache",
)


@dataclass(frozen=True, slots=True)
class Package:
    """How the program itself was installed: the command that removes it; empty when it runs from its source."""

    command: tuple[str, ...]
    place: str

    @property
    def told(self) -> str:
        """The command, or what to do instead."""
        return (
            " ".join(self.command) if self.command else f"it runs from {self.place}: delete that folder when you like"
        )


def own_entries(home: Path) -> list[Path]:
    """What MetaClaw wrote into its state folder and is there."""
    return [home / name for name in OWN_NAMES if (home / name).exists() or (home / name).is_symlink()]


def remove_entries(entries: Iterable[Path], home: Path) -> list[Path]:
    """Delete them, then the folder if nothing else is in it; what is left, if anything."""
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)
    try:
        home.rmdir()
    except FileNotFoundError:
        return []
    except OSError:
        return sorted(home.iterdir())
    return []


def worth_keeping(folders: Sequence[Path]) -> list[Path]:
    """Those of the folders that hold at least one file."""
    return [folder for folder in folders if any(item.is_file() for item in _files(folder))]


def pack(folders: Sequence[Path], target: Path) -> Path:
    """Put the folders into a new archive that only its owner can read. Raises FileExistsError."""
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            for folder in folders:
                archive.add(folder, arcname=folder.name)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target


def installed_package() -> Package:
    """How this very program is installed."""
    try:
        origin = distribution("metaclaw").read_text("direct_url.json")
    except PackageNotFoundError:
        return Package((), str(Path(__file__).parents[2]))
    if origin and json.loads(origin).get("dir_info", {}).get("editable"):
        return Package((), str(Path(__file__).parents[2]))
    prefix = Path(sys.prefix)
    if "pipx" in prefix.parts:
        return Package(("pipx", "uninstall", "metaclaw"), str(prefix))
    if prefix.parts[-3:-1] == ("uv", "tools"):
        return Package(("uv", "tool", "uninstall", "metaclaw"), str(prefix))
    return Package((sys.executable, "-m", "pip", "uninstall", "--yes", "metaclaw"), str(prefix))


def _files(folder: Path) -> Iterable[Path]:
    return (item for item in folder.rglob("*") if ".git" not in item.parts) if folder.is_dir() else ()
