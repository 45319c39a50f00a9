"""The end of a log file, and what is added to it, across rotation."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

_PAUSE = 0.25  # seconds between two looks


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of the file; none when it is not there."""
    try:
        with path.open("rb") as file:
            return [_text(line) for line in deque(file, maxlen=count)] if count else []
    except FileNotFoundError:
        return []


def follow_file(path: Path, *, pause: Callable[[], object] = lambda: time.sleep(_PAUSE)) -> Iterator[str]:
    """Lines as they are added from now on, without end; a replaced or emptied file is read from its beginning."""
    file, part = _open_at_end(path), b""
    try:
        while True:
            line = file.readline() if file else b""
            if line.endswith(b"\n"):
                yield _text(part + line)
                part = b""
            elif line:
                part += line
            else:
                file, part = _current(path, file, part)
                pause()
    finally:
        if file:
            file.close()


def _open_at_end(path: Path) -> BinaryIO | None:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    file.seek(0, os.SEEK_END)
    return file


def _current(path: Path, file: BinaryIO | None, part: bytes) -> tuple[BinaryIO | None, bytes]:
    """The file to go on with: the same one, or the one that has taken its place."""
    try:
        now = path.stat()
    except FileNotFoundError:
        return file, part
    if file is not None:
        held = os.fstat(file.fileno())
        if (held.st_dev, held.st_ino) == (now.st_dev, now.st_ino) and now.st_size >= file.tell():
            return file, part
        file.close()
    try:
        return path.open("rb"), b""
    except FileNotFoundError:
        return None, b""


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")
