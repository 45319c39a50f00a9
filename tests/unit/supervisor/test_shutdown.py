"""Stopping a background process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from metaclaw.supervisor import Absent, NotAnswering, Running, Silent, StillRunning, observe, spawn, start, stop
from metaclaw.supervisor.observe import lock_held
from tests.unit.supervisor.conftest import Make


def test_stop_lets_the_process_leave_in_order(stand_in: Make) -> None:
    process = stand_in()
    pid = start(process, wait=20).running.run.pid
    stopped = stop(process, wait=20)
    assert (stopped.was_running, stopped.pid, stopped.forced) == (True, pid, False)
    assert observe(process) == Absent(stale=False)


def test_stop_without_a_process_says_so_and_is_no_error(stand_in: Make) -> None:
    assert not stop(stand_in()).was_running


def test_a_system_without_sigterm_uses_the_endpoint_and_the_token(stand_in: Make) -> None:
    process = stand_in("stubborn")
    start(process, wait=20)
    assert not stop(process, wait=20, by_signal=False).forced
    assert isinstance(observe(process), Absent)


def test_a_refused_request_to_stop_is_reported(stand_in: Make) -> None:
    process = stand_in("refuse")
    start(process, wait=20)
    with pytest.raises(NotAnswering, match="did not take the request"):
        stop(process, wait=20, by_signal=False)


def test_a_process_that_takes_longer_is_left_to_finish_and_reported(stand_in: Make) -> None:
    process = stand_in("stubborn")
    pid = start(process, wait=20).running.run.pid
    with pytest.raises(StillRunning, match=f"pid {pid}.*still finishing"):
        stop(process, wait=0.2)
    assert psutil.Process(pid).is_running()


def test_force_ends_what_does_not_leave(stand_in: Make) -> None:
    process = stand_in("stubborn")
    start(process, wait=20)
    assert stop(process, wait=0.2, force=True).forced
    assert observe(process) == Absent(stale=False)


def test_what_the_process_started_is_ended_with_it(stand_in: Make) -> None:
    process = stand_in("child")
    start(process, wait=20)
    child = int((process.run_dir / "child").read_text(encoding="utf-8"))
    assert stop(process, wait=20).leftovers == (child,)
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_a_stale_run_file_is_cleaned_and_its_pid_left_alone(stand_in: Make) -> None:
    process = stand_in()
    process.run_dir.mkdir()
    mine = {"pid": os.getpid(), "port": process.port, "host": "127.0.0.1", "token": "t", "started_at": time.time()}
    process.run_file.write_text(json.dumps(mine), encoding="utf-8")
    stopped = stop(process)
    assert (stopped.was_running, stopped.cleaned) == (False, True)
    assert not process.run_file.exists()


def test_a_silent_process_is_ended_only_by_force(stand_in: Make) -> None:
    process = stand_in("deaf", "stubborn")
    process.run_dir.mkdir()
    child = spawn(process)
    while not process.run_file.exists():
        assert child.poll() is None
    found = observe(process)
    assert isinstance(found, Silent)
    assert found.pid == child.pid
    with pytest.raises(NotAnswering, match="stop --force"):
        stop(process, wait=0.2)
    assert stop(process, force=True).forced
    assert isinstance(observe(process), Absent)


@pytest.fixture
def read_only() -> Iterator[Callable[[Path], None]]:
    """Makes a folder one that nobody can write, the superuser neither."""
    mounted: list[Path] = []

    def make(folder: Path) -> None:
        if shutil.which("mount") is None or subprocess.run(["mount", "--bind", folder, folder]).returncode:
            pytest.skip("a read-only folder can't be mounted here")
        mounted.append(folder)
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)

    yield make
    for folder in mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_process_is_seen_and_stopped_though_its_folder_became_read_only(
    stand_in: Make, read_only: Callable[[Path], None]
) -> None:
    process = stand_in()
    assert not stop(process).was_running
    pid = start(process, wait=20).running.run.pid
    read_only(process.run_dir)
    assert lock_held(process.lock) and isinstance(observe(process), Running)
    stopped = stop(process, wait=20)
    assert (stopped.was_running, stopped.pid, stopped.forced) == (True, pid, False)
    assert isinstance(observe(process), Absent) and not lock_held(process.lock)
    assert not stop(process).was_running
