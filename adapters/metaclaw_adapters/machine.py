"""What an adapter may look at on this machine: homes, programs and their versions, ports, configuration files."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from importlib.metadata import Distribution
from pathlib import Path

from .base import Document
from .errors import Unreadable
from .files import SymlinkEscape, real_path
from .formats import FORMATS

_SITES = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages", "Lib/site-packages")


def user_home(environ: Mapping[str, str]) -> Path:
    """The user's home, as a program started with this environment finds it."""
    name = "USERPROFILE" if os.name == "nt" else "HOME"
    return Path(environ.get(name, "").strip() or Path.home())


def expanded(text: str, home: Path) -> Path:
    """An absolute path from what a user wrote, with `~` for their home."""
    if text == "~" or text.startswith(("~/", "~\\")):
        return home / text[2:]
    return Path(text).absolute()


def package_version(program: str | None, package: str) -> str:
    """The version of the Python package that a program belongs to, without starting it; empty if nobody can tell.

    A program stands in `bin` (or `Scripts`) of the environment whose packages it runs with; installers put links to it.
    """
    if program is None:
        return ""
    root = Path(program).resolve().parent.parent
    folders = [str(folder) for pattern in _SITES for folder in sorted(root.glob(pattern))]
    found = next(iter(Distribution.discover(name=package, path=folders)), None)
    return found.version if found is not None else ""


def listens(port: int) -> bool:
    """Does anything answer on this port of loopback?"""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.5):
            return True
    except OSError:
        return False


def alive(pid: int) -> bool:
    """Is there a process of this number?"""
    if os.name == "nt":
        return pid > 0  # asking there would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return pid > 0


def read_document(path: Path, kind: str, within: Path | None = None) -> tuple[Document, str]:
    """A configuration file as it is, and why it must not be written by us (empty if it may)."""
    data = None
    try:
        real_path(path, within)
        data = path.read_bytes() if path.exists() else None
        value = {} if data is None else FORMATS[kind].read(data)
    except SymlinkEscape as error:
        return Document(path, kind, data, {}), str(error)
    except OSError as error:
        return Document(path, kind, None, {}), f"{path} can't be read ({error.strerror}); it was left alone"
    except Unreadable as error:
        return Document(path, kind, data, {}), f"{path} was left alone: {error}"
    if not isinstance(value, dict):
        return Document(path, kind, data, {}), f"{path} was left alone: it does not hold named values"
    return Document(path, kind, data, value), ""
