"""Run a process in the foreground: this command waits for it and passes on the wish to stop."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from metaclaw.supervisor import platform
from metaclaw.supervisor.errors import AlreadyRunning, NotAnswering
from metaclaw.supervisor.launch import await_health, one_at_a_time, settle, spawn
from metaclaw.supervisor.observe import Absent, Running
from metaclaw.supervisor.process import ManagedProcess
from metaclaw_adapters.files import private_dir

_STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def run(
    process: ManagedProcess,
    *,
    environ: Mapping[str, str] | None = None,
    on_healthy: Callable[[Running], None],
    wait: float = 30.0,
) -> int:
    """Start it, call `on_healthy` once it is, and stay until it ends; its exit code.

    The first Ctrl-C (or SIGTERM, SIGHUP) lets it finish its requests, the second one kills it.
    """
    private_dir(process.run_dir)
    with one_at_a_time(process, wait):
        found = settle(process, wait)
        if isinstance(found, Running):
            raise AlreadyRunning(f"{process.title} is already running (pid {found.run.pid}): `metaclaw stop` first")
        if not isinstance(found, Absent):
            raise NotAnswering(f"{process.title} is running but does not answer; `metaclaw stop --force` ends it")
        process.run_file.unlink(missing_ok=True)
        child = spawn(process, environ=environ, terminal=True)
        with _passing_on(child, process):
            running = await_health(process, child, wait)
    with _passing_on(child, process, running):
        on_healthy(running)
        return child.wait()


@contextmanager
def _passing_on(
    child: subprocess.Popen[bytes], process: ManagedProcess, running: Running | None = None
) -> Iterator[None]:
    """While inside, a wish to stop goes to the child instead of ending this command."""
    asked = 0

    def pass_on(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            child.kill()
        elif running is None or platform.HAS_SIGTERM:
            child.terminate()
        else:
            platform.ask_to_stop(process, running.run)

    before = {number: signal.signal(number, pass_on) for number in _STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
