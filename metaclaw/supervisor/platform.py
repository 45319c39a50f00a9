"""The seam between operating systems: how a process is cut loose, and how it is asked to stop."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from metaclaw.supervisor.control import ask
from metaclaw.supervisor.process import ManagedProcess, Run

HAS_SIGTERM = os.name == "posix"


def detached() -> dict[str, Any]:
    """`subprocess.Popen` options under which the child outlives this command and its terminal."""
    return _apart("CREATE_NO_WINDOW", "CREATE_BREAKAWAY_FROM_JOB")


def attached() -> dict[str, Any]:
    """Options under which the child prints to this terminal, but Ctrl-C reaches this command alone."""
    return _apart()


def _apart(*flags: str) -> dict[str, Any]:
    if os.name == "posix":
        return {"start_new_session": True}
    return {"creationflags": sum(getattr(subprocess, flag, 0) for flag in ("CREATE_NEW_PROCESS_GROUP", *flags))}


def locked_as_seen_by_a_reader(path: Path) -> bool:
    """Whether somebody holds a lock file that can't be written here. Raises OSError where only writers can tell."""
    if os.name != "posix":
        raise PermissionError(f"{path} can't be written, and so not be looked at")
    import fcntl

    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def ask_to_stop(process: ManagedProcess, run: Run, *, by_signal: bool = HAS_SIGTERM) -> bool:
    """Ask a proved process to finish its requests and leave; False when the request did not get through."""
    if by_signal:
        try:
            os.kill(run.pid, signal.SIGTERM)
        except OSError:
            return False
        return True
    reply = ask(run.host, run.port, process.shutdown_path, method="POST", token=run.token)
    return reply is not None and reply.status < 300
