"""Background processes: started, proved, watched and stopped.

SupervisorError
├── PortTaken       another program listens where the process should
├── StartFailed     the process ended, or stayed silent, before it was healthy
├── NotAnswering    the process lives, but does not answer
├── StillRunning    the process was asked to stop and has not yet
└── AlreadyRunning  it runs in the background, and was to run in the foreground
"""

from __future__ import annotations

from metaclaw.supervisor.control import Reply, ask, base_url
from metaclaw.supervisor.errors import (
    AlreadyRunning,
    NotAnswering,
    PortTaken,
    StartFailed,
    StillRunning,
    SupervisorError,
)
from metaclaw.supervisor.launch import Started, await_health, poll, spawn, start, sweep, tail
from metaclaw.supervisor.observe import Absent, Observation, Running, Silent, observe
from metaclaw.supervisor.ports import Holder, holder, is_free
from metaclaw.supervisor.process import ManagedProcess, Run, fingerprint, read_run
from metaclaw.supervisor.shutdown import Stopped, stop
from metaclaw.supervisor.tree import Member, members

__all__ = [
    "Absent",
    "AlreadyRunning",
    "Holder",
    "ManagedProcess",
    "Member",
    "NotAnswering",
    "Observation",
    "PortTaken",
    "Reply",
    "Run",
    "Running",
    "Silent",
    "StartFailed",
    "Started",
    "StillRunning",
    "Stopped",
    "SupervisorError",
    "ask",
    "await_health",
    "base_url",
    "fingerprint",
    "holder",
    "is_free",
    "members",
    "observe",
    "poll",
    "read_run",
    "spawn",
    "start",
    "stop",
    "sweep",
    "tail",
]
