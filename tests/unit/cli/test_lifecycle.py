"""`start`, `stop`, `restart`, `status` and `logs` with the real gateway."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from metaclaw import __version__
from tests.conftest import unused_port
from tests.e2e.program import MetaClaw
from tests.e2e.waiting import until


@pytest.fixture
def metaclaw(tmp_path: Path) -> Iterator[MetaClaw]:
    """An installation for a person whose home folder is empty; nothing of it runs when the test is over."""
    env = {**os.environ, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "PATH": os.defpath}
    program = MetaClaw(tmp_path / "state", unused_port(), env)
    yield program
    program.run("stop", "--force", ok=False)


def pid(program: MetaClaw) -> int:
    found: int = program.json("status")["pid"]
    return found


def test_start_without_configuration_runs_and_says_what_is_missing(metaclaw: MetaClaw) -> None:
    said = metaclaw.run("start", "--port", str(metaclaw.port)).stdout
    assert "started in" in said
    assert f"at {metaclaw.url} (pid" in said
    assert "run `metaclaw setup`" in said
    assert "no training credentials" in said
    assert "memory.enabled is false" in said
    assert "OpenClaw was not found on this machine" in said
    state = metaclaw.json("status")
    assert (state["running"], state["version"], state["mode"]) == (True, __version__, "auto")
    again = metaclaw.run("start", "--port", str(metaclaw.port))
    assert f"already running at {metaclaw.url}" in again.stdout
    assert pid(metaclaw) == state["pid"]
    assert f"pid {state['pid']}" in metaclaw.run("stop").stdout
    assert metaclaw.run("status", ok=False).returncode == 1
    assert "is not running" in metaclaw.run("stop").stdout


def test_a_taken_port_names_its_holder_and_fails(metaclaw: MetaClaw) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", metaclaw.port))
        other.listen()
        done = metaclaw.run("start", "--port", str(metaclaw.port), ok=False)
    assert done.returncode == 1
    assert f"port {metaclaw.port} is held by {psutil.Process().name()}" in done.stderr
    assert f"pid {os.getpid()}" in done.stderr
    assert "Traceback" not in done.stderr


def test_restart_keeps_the_options_of_the_start_and_takes_new_ones(metaclaw: MetaClaw, tmp_path: Path) -> None:
    metaclaw.run("start", "--port", str(metaclaw.port), "--mode", "madmax", "--log-file", str(tmp_path / "mine.log"))
    first = metaclaw.json("status")
    assert first["mode"] == "auto"
    metaclaw.run("restart", "--mode", "skills_only")
    second = metaclaw.json("status")
    assert second["pid"] != first["pid"]
    assert (second["address"], second["mode"]) == (metaclaw.url, "skills_only")
    assert second["log"] == str(tmp_path / "mine.log")
    assert "startup complete" in metaclaw.run("logs", "-n", "20").stdout


def test_a_broken_configuration_does_not_cost_the_running_gateway(metaclaw: MetaClaw) -> None:
    metaclaw.run("start", "--port", str(metaclaw.port))
    before = pid(metaclaw)
    metaclaw.configure("proxy:\n  prot: 1\n")
    done = metaclaw.run("restart", ok=False)
    assert done.returncode == 1
    assert "config.yaml:2:3: proxy.prot: unknown key; did you mean proxy.port?" in done.stderr
    assert psutil.Process(before).is_running()
    assert f"pid {before}" in metaclaw.run("stop").stdout


@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_a_killed_gateway_is_noticed_and_started_anew(metaclaw: MetaClaw) -> None:
    metaclaw.run("start", "--port", str(metaclaw.port))
    before = pid(metaclaw)
    os.kill(before, signal.SIGKILL)
    until(lambda: metaclaw.run("status", ok=False).returncode == 1, "the gateway to be gone")
    metaclaw.run("start", "--port", str(metaclaw.port))
    assert pid(metaclaw) != before


def test_a_configuration_file_that_is_not_there_is_wrong_usage(metaclaw: MetaClaw, tmp_path: Path) -> None:
    done = metaclaw.run("start", "-c", str(tmp_path / "none.yaml"), ok=False)
    assert done.returncode == 2
    assert "no such file" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_in_the_foreground_it_stays_and_ctrl_c_ends_it_in_order(metaclaw: MetaClaw) -> None:
    command = [sys.executable, "-m", "metaclaw", "start", "--foreground", "--port", str(metaclaw.port)]
    with subprocess.Popen(command, env=metaclaw.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as foreground:
        assert foreground.stdout is not None
        assert b"Ctrl-C stops it" in foreground.stdout.readline()
        running = pid(metaclaw)
        second = metaclaw.run("start", "--foreground", ok=False)
        assert "already running" in second.stderr
        foreground.send_signal(signal.SIGINT)
        _, log = foreground.communicate(timeout=60)
    assert foreground.returncode == 0
    assert b"listening on" in log, "in the foreground the log goes to the terminal"
    assert not psutil.pid_exists(running)


def test_features_that_this_version_lacks_are_not_claimed(metaclaw: MetaClaw) -> None:
    metaclaw.configure("memory: {enabled: true}\nwechat: {enabled: true}\nmode: rl\nrl: {api_key: tml-x}\n")
    metaclaw.config.chmod(0o600)
    done = metaclaw.run("start", "--port", str(metaclaw.port), "--wechat-relogin")
    assert done.stdout.count("not available in this version of MetaClaw") == 3
    assert "--wechat-relogin does nothing" in done.stderr
