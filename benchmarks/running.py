"""A contender's processes: started on a core of its own, and what they cost the machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.contenders import Contender, Launch, Place
from tests.conftest import unused_port

START_SECONDS = 120
LOAD_CORE, PROXY_CORE = 0, 1


def pin(core: int) -> None:
    """Keep this process (and what it starts) on one core, where there are several."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > core:
        os.sched_setaffinity(0, {core})


@dataclass
class Running:
    """A contender that answers."""

    port: int
    launch: Launch
    process: subprocess.Popen[bytes] | None = None
    cold_start: float = 0.0

    def url(self, path: str) -> str:
        """An address of it."""
        return f"http://127.0.0.1:{self.port}{path}"

    def cpu(self) -> float:
        """Seconds its processes have been on a core."""
        return sum(map(_on_core, self._tree()))

    def rss(self) -> float:
        """Memory of its processes in MiB."""
        total = 0
        for process in self._tree():
            with contextlib.suppress(psutil.Error):
                total += process.memory_info().rss
        return total / 2**20

    def _tree(self) -> list[psutil.Process]:
        if self.process is None:
            return []
        with contextlib.suppress(psutil.Error):
            top = psutil.Process(self.process.pid)
            return [top, *top.children(recursive=True)]
        return []


@contextlib.contextmanager
def origin() -> Iterator[int]:
    """The origin, on the load's core; yields its port."""
    command = [sys.executable, "-m", "benchmarks.origin", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=lambda: pin(LOAD_CORE)) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextlib.contextmanager
def started(contender: Contender, origin_port: int, folder: Path) -> Iterator[Running]:
    """Start a contender, wait until it answers, end it afterwards. Raises Absent."""
    if contender.launch is None:
        yield Running(origin_port, Launch([]))
        return
    place = Place(folder, unused_port(), origin_port)
    launch = contender.launch(place)
    begun = time.perf_counter()
    with (folder / "out.log").open("wb") as out:
        process = subprocess.Popen(
            launch.command, env={**(launch.env or os.environ)}, cwd=folder, stdout=out, stderr=out,
            start_new_session=True, preexec_fn=lambda: pin(PROXY_CORE),
        )  # fmt: skip
    running = Running(place.port, launch, process)
    try:
        running.cold_start = _answers(running, folder / "out.log") - begun
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _answers(running: Running, log: Path) -> float:
    end = time.perf_counter() + START_SECONDS
    while time.perf_counter() < end:
        assert running.process is not None
        if running.process.poll() is not None:
            break
        with contextlib.suppress(OSError, urllib.error.URLError):
            request = urllib.request.Request(running.url(running.launch.ready), headers={**running.launch.headers})
            with urllib.request.urlopen(request, timeout=5) as answer:
                if answer.status == 200:
                    return time.perf_counter()
        time.sleep(0.01)
    raise RuntimeError(f"did not start: {log.read_text(encoding='utf-8', errors='replace')[-1500:]}")


def _on_core(process: psutil.Process) -> float:
    path = Path(f"/proc/{process.pid}/task")
    if not path.exists():
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            return float(times.user + times.system)
        return 0.0
    total = 0
    for task in path.iterdir():
        with contextlib.suppress(OSError):
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9
