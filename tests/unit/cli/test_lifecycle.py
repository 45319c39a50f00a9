"""`start`, `stop`, `restart`, `status` and `logs` with the real gateway."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from metaclaw import __version__
from tests.unit.cli.conftest import Metaclaw, Ran


@dataclass(frozen=True)
class Program:
    """An installation for a person whose home folder is empty: its commands, and the port of its gateway."""

    call: Metaclaw
    state: Path
    port: int

    @property
    def url(self) -> str:
        """Where its gateway is."""
        return f"http://127.0.0.1:{self.port}"

    def run(self, *arguments: str, ok: bool = True) -> Ran:
        """Run a command."""
        done = self.call(*arguments)
        assert not ok or done.code == 0, f"{arguments}: {done}"
        return done

    def status(self) -> dict[str, Any]:
        """What `status --json` says."""
        found: dict[str, Any] = json.loads(self.run("status", "--json", ok=False).out)
        return found

    def configure(self, text: str) -> None:
        """Write config.yaml."""
        self.state.mkdir(mode=0o700, exist_ok=True)
        path = self.state / "config.yaml"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)


@pytest.fixture
def program(
    metaclaw: Metaclaw, state: Path, tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Program]:
    """An installation; nothing of it runs when the test is over."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PATH", os.defpath)
    yield Program(metaclaw, state, free_port)
    metaclaw("stop", "--force")


def test_start_without_configuration_runs_and_says_what_is_missing(program: Program) -> None:
    said = program.run("start", "--port", str(program.port)).out
    assert "started in" in said
    assert f"at {program.url} (pid" in said
    assert "run `metaclaw setup`" in said
    assert "no training credentials" in said
    assert "memory.enabled is false" in said
    assert "OpenClaw was not found on this machine" in said
    state = program.status()
    assert (state["running"], state["version"], state["mode"]) == (True, __version__, "auto")
    again = program.run("start", "--port", str(program.port))
    assert f"already running at {program.url}" in again.out
    assert program.status()["pid"] == state["pid"]
    assert f"pid {state['pid']}" in program.run("stop").out
    assert program.run("status", ok=False).code == 1
    assert "is not running" in program.run("stop").out


def test_a_taken_port_names_its_holder_and_fails(program: Program) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", program.port))
        other.listen()
        done = program.run("start", "--port", str(program.port), ok=False)
    assert done.code == 1
    assert f"port {program.port} is held by {psutil.Process().name()}" in done.err
    assert f"pid {os.getpid()}" in done.err
    assert "Traceback" not in done.err


def test_restart_keeps_the_options_of_the_start_and_takes_new_ones(program: Program, tmp_path: Path) -> None:
    program.run("start", "--port", str(program.port), "--mode", "madmax", "--log-file", str(tmp_path / "mine.log"))
    first = program.status()
    assert first["mode"] == "auto"
    program.run("restart", "--mode", "skills_only")
    second = program.status()
    assert second["pid"] != first["pid"]
    assert (second["address"], second["mode"]) == (program.url, "skills_only")
    assert second["log"] == str(tmp_path / "mine.log")
    assert "startup complete" in program.run("logs", "-n", "20").out


def test_a_broken_configuration_does_not_cost_the_running_gateway(program: Program) -> None:
    program.run("start", "--port", str(program.port))
    before = program.status()["pid"]
    program.configure("proxy:\n  prot: 1\n")
    done = program.run("restart", ok=False)
    assert done.code == 1
    assert "config.yaml:2:3: proxy.prot: unknown key; did you mean proxy.port?" in done.err
    assert psutil.Process(before).is_running()
    assert f"pid {before}" in program.run("stop").out


@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_a_killed_gateway_is_noticed_and_started_anew(program: Program) -> None:
    program.run("start", "--port", str(program.port))
    before = program.status()["pid"]
    os.kill(before, signal.SIGKILL)
    psutil.Process(before).wait(10)
    assert program.run("status", ok=False).code == 1
    program.run("start", "--port", str(program.port))
    assert program.status()["pid"] != before


def test_a_configuration_file_that_is_not_there_is_wrong_usage(program: Program, tmp_path: Path) -> None:
    done = program.run("start", "-c", str(tmp_path / "none.yaml"), ok=False)
    assert done.code == 2
    assert "no such file" in done.err


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_in_the_foreground_it_stays_and_ctrl_c_ends_it_in_order(program: Program) -> None:
    command = [sys.executable, "-m", "metaclaw", "start", "--foreground", "--port", str(program.port)]
    with subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as foreground:
        assert foreground.stdout is not None
        assert b"Ctrl-C stops it" in foreground.stdout.readline()
        running = program.status()["pid"]
        second = program.run("start", "--foreground", ok=False)
        assert "already running" in second.err
        foreground.send_signal(signal.SIGINT)
        _, log = foreground.communicate(timeout=60)
    assert foreground.returncode == 0
    assert b"listening on" in log, "in the foreground the log goes to the terminal"
    assert not psutil.pid_exists(running)


def test_features_that_this_version_lacks_are_not_claimed(program: Program) -> None:
    program.configure("mode: rl\nrl: {api_key: tml-x}\n")
    done = program.run("start", "--port", str(program.port))
    assert done.out.count("not available in this version of MetaClaw") == 1


def test_wechat_without_openclaw_is_a_line_and_no_failure(program: Program) -> None:
    program.configure("wechat: {enabled: true}\n")
    done = program.run("start", "--port", str(program.port), "--wechat-relogin")
    assert "it comes through OpenClaw, which is not on this machine" in done.out
