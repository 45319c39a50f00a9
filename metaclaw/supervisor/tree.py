"""A process and what it started."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Member:
    """One process of a tree."""

    pid: int
    name: str
    rss_bytes: int
    started_at: float


def members(pid: int) -> list[Member]:
    """The process first, then all its descendants; empty when it is gone."""
    found = []
    for process in handles(pid):
        try:
            with process.oneshot():
                found.append(Member(process.pid, process.name(), process.memory_info().rss, process.create_time()))
        except psutil.Error:
            continue
    return found


def handles(pid: int) -> list[psutil.Process]:
    """Handles that stay true to these very processes, even when a pid is given to another one later."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def end(processes: Sequence[psutil.Process], *, grace: float = 3.0) -> list[int]:
    """Ask what is left to leave, then kill it; the pids that had to be ended."""
    left = [process for process in processes if alive(process)]
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, stubborn = psutil.wait_procs(left, timeout=grace)
    for process in stubborn:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(stubborn, timeout=grace)
    return [process.pid for process in left]


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
