"""Stop a background process, with everything it started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import psutil

from metaclaw.supervisor import platform, tree
from metaclaw.supervisor.errors import NotAnswering, StillRunning
from metaclaw.supervisor.launch import poll, settle, sweep
from metaclaw.supervisor.observe import Absent, Running, Silent, lock_held, observe
from metaclaw.supervisor.process import ManagedProcess


@dataclass(frozen=True, slots=True)
class Stopped:
    """It is not running. `was_running`: it had to be stopped; `forced`: it had to be killed."""

    was_running: bool
    pid: int = 0
    forced: bool = False
    cleaned: bool = False  # a run file of an earlier process was removed
    leftovers: tuple[int, ...] = ()  # descendants that outlived it and were ended


def stop(
    process: ManagedProcess, *, wait: float = 35.0, force: bool = False, by_signal: bool = platform.HAS_SIGTERM
) -> Stopped:
    """Let it finish its requests and leave; `force` kills what has not left in time.

    Raises StillRunning when the time is over, NotAnswering when a process can't be identified or asked.
    """
    found = observe(process)
    if isinstance(found, Absent):
        return Stopped(was_running=False, cleaned=sweep(process))
    if isinstance(found, Silent):
        return _stop_silent(process, found, wait, force)
    handles = tree.handles(found.run.pid)
    if not platform.ask_to_stop(process, found.run, by_signal=by_signal) and not force:
        raise NotAnswering(f"{process.title} (pid {found.run.pid}) did not take the request to stop")
    return _finish(process, handles, found.run.pid, wait, force)


def _stop_silent(process: ManagedProcess, found: Silent, wait: float, force: bool) -> Stopped:
    """It may just be starting or stopping: give it a moment, then end it only if told to and if it is certain."""

    settled = settle(process, 3.0 if force else wait)
    if isinstance(settled, Absent):
        return Stopped(was_running=True, pid=found.pid or 0, cleaned=sweep(process))
    if isinstance(settled, Running):
        return stop(process, wait=wait, force=force)
    if not force:
        raise NotAnswering(f"{process.title} is running but does not answer; `metaclaw stop --force` ends it")
    if found.pid is None:
        raise NotAnswering(f"{process.title} holds {process.lock}, but its pid is not certain: end it yourself")
    return _finish(process, tree.handles(found.pid), found.pid, 0.0, True)


def _finish(process: ManagedProcess, handles: list[psutil.Process], pid: int, wait: float, force: bool) -> Stopped:
    gone = poll(_left(process, handles), wait)
    if not gone and not force:
        raise StillRunning(
            f"{process.title} (pid {pid}) is still finishing after {wait:.0f} s; it will leave when its requests end. "
            "`metaclaw stop --force` ends it now"
        )
    ended = tree.end(handles)
    return Stopped(True, pid, forced=not gone, cleaned=sweep(process), leftovers=tuple(p for p in ended if p != pid))


def _left(process: ManagedProcess, handles: list[psutil.Process]) -> Callable[[], bool | None]:
    """True once the lock is free and the process itself is gone."""

    def left() -> bool | None:
        if lock_held(process.lock):
            return None
        return True if not handles or not tree.alive(handles[0]) else None

    return left
