"""Start a background process and wait until it is healthy."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from metaclaw.supervisor import platform, ports
from metaclaw.supervisor.control import ask
from metaclaw.supervisor.errors import NotAnswering, PortTaken, StartFailed
from metaclaw.supervisor.observe import Absent, Observation, Running, Silent, observe, prove
from metaclaw.supervisor.process import ManagedProcess, read_run
from metaclaw_adapters.files import private_dir

T = TypeVar("T")

_TAIL_BYTES = 4000
_TAIL_LINES = 12
_ROOM = 1 << 16  # bytes; with less, nothing starts


@dataclass(frozen=True, slots=True)
class Started:
    """A healthy process. `already` says that it was running before; `ready` is false while a part is not open."""

    running: Running
    already: bool
    ready: bool


def start(
    process: ManagedProcess, *, environ: Mapping[str, str] | None = None, wait: float = 30.0, ready_wait: float = 5.0
) -> Started:
    """Start it detached; return when it is healthy. Raises PortTaken, StartFailed, NotAnswering.

    Two starts at the same time start one process: the second waits for the first, then finds it running.
    """
    with one_at_a_time(process, wait + ready_wait):
        found = settle(process, wait)
        if isinstance(found, Silent):
            raise NotAnswering(f"{process.title} is running but does not answer; `metaclaw stop --force` ends it")
        if isinstance(found, Running):
            return Started(found, True, _ready(process, found, 0.0))
        process.run_file.unlink(missing_ok=True)
        child = spawn(process, environ=environ)
        running = await_health(process, child, wait)
        return Started(running, False, _ready(process, running, ready_wait))


def spawn(
    process: ManagedProcess, *, environ: Mapping[str, str] | None = None, terminal: bool = False
) -> subprocess.Popen[bytes]:
    """Start it: detached, with what it prints in `boot_log`; or printing to this terminal. Raises PortTaken."""
    if not ports.is_free(process.host, process.port):
        raise PortTaken(_taken(process))
    environment = dict(os.environ if environ is None else environ)
    if terminal:
        return subprocess.Popen(
            process.command, env=environment, stdin=subprocess.DEVNULL, cwd=process.run_dir, **platform.attached()
        )
    private_dir(process.boot_log.parent)
    handle = os.open(process.boot_log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        return subprocess.Popen(
            process.command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            cwd=process.run_dir,
            close_fds=True,
            **platform.detached(),
        )
    except OSError as error:
        raise StartFailed(f"{process.title} could not be started: {error}") from error
    finally:
        os.close(handle)


def await_health(process: ManagedProcess, child: subprocess.Popen[bytes], wait: float) -> Running:
    """Wait until the child proves itself. Raises StartFailed; a child that stays silent is ended."""

    def healthy() -> Running | None:
        code = child.poll()
        if code is not None:
            raise _ended(process, code)
        # The lock is not tried here: the try would hold it for an instant, just when the child wants it.
        run = read_run(process.run_file)
        health = prove(process, run) if run is not None else None
        return Running(run, health) if run is not None and health is not None else None

    running = poll(healthy, wait)
    if running is not None:
        return running
    child.terminate()
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        child.kill()
    raise StartFailed(f"{process.title} was not healthy after {wait:.0f} s, and was ended", tail(process.boot_log))


def sweep(process: ManagedProcess) -> bool:
    """Remove the run file of a process that is gone; True when there was one."""
    if not process.run_file.exists():
        return False
    try:
        with one_at_a_time(process, 60.0):
            if not isinstance(observe(process), Absent):
                return False
            process.run_file.unlink(missing_ok=True)
            return True
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        return False  # it stays in a folder that can't be written; without the lock nobody takes it for a running one


def one_at_a_time(process: ManagedProcess, wait: float) -> FileLock:
    """The lock among commands that start this process or clean up after it."""
    private_dir(process.run_dir)
    return FileLock(process.run_dir / f"{process.name}.start.lock", timeout=wait, mode=0o600)


def tail(path: Path, lines: int = _TAIL_LINES) -> str:
    """The last lines of a file; empty when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def poll(look: Callable[[], T | None], wait: float) -> T | None:
    """Call `look` until it returns something or the time is over; first in quick, then in calm steps."""
    deadline, pause = time.monotonic() + wait, 0.02
    while True:
        found = look()
        if found is not None or time.monotonic() >= deadline:
            return found
        time.sleep(pause)
        pause = min(pause * 1.3, 0.25)


def settle(process: ManagedProcess, wait: float) -> Observation:
    """What is there, once a process that is just starting or stopping has settled; Silent when it does not."""
    poll(lambda: None if isinstance(observe(process), Silent) else True, wait)
    return observe(process)


def _ready(process: ManagedProcess, running: Running, wait: float) -> bool:
    def ready() -> bool | None:
        reply = ask(running.run.host, running.run.port, process.ready_path)
        return True if reply is not None and reply.status == 200 else None

    return poll(ready, wait) is True


def _taken(process: ManagedProcess) -> str:
    who = ports.holder(process.port)
    held = f"is held by {who}" if who is not None else f"cannot be listened on at {process.host}"
    return f"port {process.port} {held}: end that program, or choose another port with `--port`"


def _ended(process: ManagedProcess, code: int) -> StartFailed | PortTaken:
    if not ports.is_free(process.host, process.port) and ports.holder(process.port) is not None:
        return PortTaken(_taken(process))
    reason = process.exit_meanings.get(code, f"exit code {code}")
    if shutil.disk_usage(process.run_dir).free < _ROOM:  # its own words found no room either
        reason += f"; the disk of {process.run_dir} is full: make room"
    return StartFailed(f"{process.title} ended before it was healthy: {reason}", tail(process.boot_log))
