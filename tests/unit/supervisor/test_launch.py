"""Starting a background process."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import socket
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from metaclaw.supervisor import Absent, NotAnswering, PortTaken, Running, StartFailed, observe, start
from tests.unit.supervisor.conftest import Make


def test_start_returns_once_the_process_proves_itself(stand_in: Make) -> None:
    process = stand_in()
    started = start(process, wait=20)
    assert not started.already
    assert started.ready
    assert started.running.health["pid"] == started.running.run.pid
    assert isinstance(observe(process), Running)


@pytest.mark.skipif(os.name != "posix", reason="sessions are a POSIX notion")
def test_the_process_is_cut_loose_from_the_terminal(stand_in: Make) -> None:
    process = stand_in()
    pid = start(process, wait=20).running.run.pid
    assert os.getsid(pid) == pid != os.getsid(0)
    assert stat.S_IMODE(process.boot_log.stat().st_mode) == 0o600
    assert stat.S_IMODE(process.run_dir.stat().st_mode) == 0o700


def test_a_second_start_finds_the_first(stand_in: Make) -> None:
    process = stand_in()
    first = start(process, wait=20)
    second = start(process, wait=20)
    assert second.already
    assert second.running.run.pid == first.running.run.pid


def test_two_starts_at_once_start_one_process(stand_in: Make) -> None:
    process = stand_in("slow=0.3")
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: start(process, wait=20), range(2)))
    assert both[0].running.run.pid == both[1].running.run.pid
    assert sorted(one.already for one in both) == [False, True]


def test_a_taken_port_names_the_program_that_holds_it(stand_in: Make) -> None:
    process = stand_in()
    with socket.socket() as other:
        other.bind(("127.0.0.1", process.port))
        other.listen()
        with pytest.raises(PortTaken) as caught:
            start(process, wait=20)
    assert f"port {process.port} is held by {psutil.Process().name()}" in str(caught.value)
    assert f"pid {os.getpid()}" in str(caught.value)
    assert "--port" in str(caught.value)


def test_a_process_that_ends_early_is_explained_with_what_it_printed(stand_in: Make) -> None:
    with pytest.raises(StartFailed) as caught:
        start(stand_in("exit=4"), wait=20)
    assert "the configuration is not valid" in str(caught.value)
    assert caught.value.tail.endswith("it broke: no such thing")


def test_an_exit_without_a_meaning_shows_its_code(stand_in: Make) -> None:
    with pytest.raises(StartFailed, match="exit code 9"):
        start(stand_in("exit=9"), wait=20)


def test_a_process_that_stays_silent_is_ended(stand_in: Make) -> None:
    process = stand_in("deaf")
    with pytest.raises(StartFailed, match="was not healthy after"):
        start(process, wait=1)
    assert isinstance(observe(process), Absent)


def test_a_process_that_is_never_ready_is_healthy_all_the_same(stand_in: Make) -> None:
    assert not start(stand_in("unready"), wait=20, ready_wait=0.1).ready


def test_an_answer_with_another_token_is_not_believed(stand_in: Make) -> None:
    with pytest.raises(StartFailed, match="was not healthy"):
        start(stand_in("impostor"), wait=1)


def test_a_run_file_of_a_dead_process_does_not_stand_in_the_way(stand_in: Make) -> None:
    process = stand_in()
    pid = start(process, wait=20).running.run.pid
    psutil.Process(pid).kill()
    os.waitpid(pid, 0)
    assert observe(process) == Absent(stale=True)
    again = start(process, wait=20)
    assert not again.already
    assert again.running.run.pid != pid


def test_a_process_that_holds_the_lock_without_answering_is_not_started_twice(stand_in: Make) -> None:
    process = stand_in("deaf")
    process.run_dir.mkdir()
    with subprocess.Popen([*process.command], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        while not process.run_file.exists():
            assert holder.poll() is None
        with pytest.raises(NotAnswering, match="does not answer"):
            start(process, wait=0.3)
        holder.kill()


def test_a_program_that_cannot_be_run_is_an_error_of_one_line(stand_in: Make) -> None:
    broken = dataclasses.replace(stand_in(), command=("/nonexistent/program",))
    with pytest.raises(StartFailed, match="could not be started"):
        start(broken, wait=1)


def test_a_start_that_fails_on_a_full_disk_says_so(stand_in: Make) -> None:
    process = stand_in("exit=1")
    process.run_dir.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(process.run_dir)]
    if shutil.which("mount") is None or subprocess.run(command).returncode:
        pytest.skip("a small disk can't be mounted here")
    try:
        with (process.run_dir / "filling").open("wb", buffering=0) as filling, contextlib.suppress(OSError):
            while filling.write(b"x" * 4096):
                pass
        with pytest.raises(StartFailed, match=r"the disk of .* is full: make room"):
            start(process, wait=20)
    finally:
        subprocess.run(["umount", "--lazy", process.run_dir], check=True)
