"""The exceptions of this package (tree in its `__init__`)."""

from __future__ import annotations


class SupervisorError(Exception):
    """Something about a background process; the message says what, where, and what to do."""


class PortTaken(SupervisorError):
    """Another program listens on the port."""


class StartFailed(SupervisorError):
    """The process did not become healthy; `tail` is the end of what it printed."""

    def __init__(self, message: str, tail: str = "") -> None:
        super().__init__(message)
        self.tail = tail


class NotAnswering(SupervisorError):
    """The process holds its lock, yet its health endpoint does not answer."""


class StillRunning(SupervisorError):
    """The process was asked to stop, and is still finishing."""


class AlreadyRunning(SupervisorError):
    """It runs in the background, and was to run in the foreground."""
