"""The operating system's keyring, asked with a time limit: a session bus may hang, or not be there at all."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

LIMIT_SECONDS = 5.0
_LEAST_PRIORITY = 1  # below are backends that refuse, forget, or write plain text


class VaultError(Exception):
    """The keyring did not do what it was asked; the message says why."""


class Vault:
    """The entries of one state folder in the keyring."""

    def __init__(self, folder: Path, limit: float = LIMIT_SECONDS) -> None:
        self.service = f"metaclaw:{folder}"
        self.limit = limit

    def works(self) -> bool:
        """Whether an entry written now can be read again; asked once per process."""
        return _works(self.limit)

    def get(self, name: str) -> str | None:
        """The entry of that name. Raises VaultError."""
        found: str | None = _within(self.limit, lambda: _backend().get_password(self.service, name))
        return found

    def set(self, name: str, value: str) -> None:
        """Write an entry. Raises VaultError."""
        _within(self.limit, lambda: _backend().set_password(self.service, name, value))

    def delete(self, name: str) -> None:
        """Remove an entry. Raises VaultError."""
        _within(self.limit, lambda: _backend().delete_password(self.service, name))


def _backend() -> Any:
    import keyring

    return keyring.get_keyring()


@cache
def _works(limit: float) -> bool:
    mark = uuid.uuid4().hex

    def write_and_read() -> bool:
        backend = _backend()
        if backend.priority < _LEAST_PRIORITY:
            return False
        backend.set_password("metaclaw:probe", mark, mark)
        found = backend.get_password("metaclaw:probe", mark)
        backend.delete_password("metaclaw:probe", mark)
        return bool(found == mark)

    try:
        return _within(limit, write_and_read)
    except VaultError:
        return False


def _within(seconds: float, work: Callable[[], T]) -> T:
    """Run in a thread of its own, which is left behind when the time is up."""
    results: list[T] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # a backend may raise anything; it is told to the caller
            faults.append(error)

    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(seconds)
    if faults:
        raise VaultError(f"the keyring refused ({type(faults[0]).__name__})") from faults[0]
    if not results:
        raise VaultError(f"the keyring did not answer within {seconds:g} s")
    return results[0]
