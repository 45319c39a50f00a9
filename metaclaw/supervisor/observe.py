"""Is the process there, and is it the one we think it is?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout

from metaclaw.supervisor import platform
from metaclaw.supervisor.control import ask
from metaclaw.supervisor.process import ManagedProcess, Run, fingerprint, read_run

_CLOCK_SLACK = 5.0  # seconds between what a process and the kernel may say about its start


@dataclass(frozen=True, slots=True)
class Absent:
    """Not running. `stale` says that an earlier one left its run file behind."""

    stale: bool = False


@dataclass(frozen=True, slots=True)
class Running:
    """Running, and proved by its token."""

    run: Run
    health: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Silent:
    """Something holds the lock but does not answer: starting, stopping or stuck. `pid` only where it is certain."""

    pid: int | None
    run: Run | None


Observation = Absent | Running | Silent


def observe(process: ManagedProcess, *, timeout: float = 2.0) -> Observation:
    """Look once."""
    run = read_run(process.run_file)
    if run is not None:
        health = prove(process, run, timeout=timeout)
        if health is not None:
            return Running(run, health)
    if not lock_held(process.lock):
        return Absent(stale=process.run_file.exists())
    return Silent(_certain_pid(process, run), run)


def prove(process: ManagedProcess, run: Run, *, timeout: float = 2.0) -> dict[str, Any] | None:
    """The health answer, if it comes from the very process that wrote this run file."""
    reply = ask(run.host, run.port, process.health_path, timeout=timeout)
    if reply is None or reply.status != 200 or reply.body.get("instance") != fingerprint(run.token):
        return None
    return reply.body


def lock_held(path: Path) -> bool:
    """Whether a living process holds the lock. The try itself holds it for an instant."""
    if not path.exists():
        return False
    lock = FileLock(path, timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        return True
    except OSError:
        return platform.locked_as_seen_by_a_reader(path)  # a folder that became read-only is still looked at
    lock.release()
    return False


def _certain_pid(process: ManagedProcess, run: Run | None) -> int | None:
    """The holder's pid, where the kernel confirms it: started when the run file says, with the lock file open."""
    if run is None:
        return None
    try:
        candidate = psutil.Process(run.pid)
        if candidate.create_time() > run.started_at + _CLOCK_SLACK:
            return None
        opened = {Path(item.path) for item in candidate.open_files()}
    except psutil.Error:
        return None
    return run.pid if process.lock.resolve() in opened else None
