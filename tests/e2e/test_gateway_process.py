"""The gateway's own process: killed at any instant it loses nothing that was answered; told to stop it finishes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from metaclaw.journal import Journal, sqlite_url
from tests.conftest import unused_port
from tests.scripted_upstream import Reply, ScriptedUpstream


class GatewayProcess:
    """`python -m metaclaw.gateway` with a state folder of its own."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.url = f"http://127.0.0.1:{port}"
        environ = {**os.environ, "METACLAW_HOME": str(home)}
        command = [sys.executable, "-m", "metaclaw.gateway", "--config", str(home / "config.yaml")]
        self.child = subprocess.Popen(command, env=environ)
        self._wait()

    def _wait(self) -> None:
        pause = threading.Event()
        for _ in range(600):
            assert self.child.poll() is None, f"the gateway ended with {self.child.returncode}"
            try:
                if httpx.get(f"{self.url}/readyz", trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            pause.wait(0.05)
        raise AssertionError("the gateway did not become ready")

    def ask(self, text: str, session: str, client: httpx.Client) -> httpx.Response:
        body = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": True}
        return client.post(f"{self.url}/v1/chat/completions", json=body, headers={"x-session-id": session})


@pytest.fixture
def start(tmp_path: Path, upstream: ScriptedUpstream) -> Iterator[Callable[[], GatewayProcess]]:
    home = tmp_path / "state"
    home.mkdir(mode=0o700)
    port = unused_port()
    llm = {"provider": "custom", "api_base": upstream.url, "model_id": "m", "api_key": "sk-x", "retries": 0}
    settings = {
        "mode": "skills_only",
        "llm": llm,
        "proxy": {"port": port},
        "skills": {"auto_evolve": False, "retrieval_mode": "template"},
    }
    (home / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
    (home / "config.yaml").chmod(0o600)
    running: list[GatewayProcess] = []

    def run() -> GatewayProcess:
        running.append(GatewayProcess(home, port))
        return running[-1]

    yield run
    for one in running:
        if one.child.poll() is None:
            one.child.kill()
        one.child.wait(20)


def answered_turns(home: Path) -> dict[str, list[str]]:
    """Per session, what was asked in the turns that are marked as answered."""
    journal = Journal.open(sqlite_url(home / "journal.sqlite3"))
    try:
        sessions = journal.sessions(limit=100_000)
        return {s.id: [t.user_text for t in journal.turns(s.id, limit=100) if t.status == "ok"] for s in sessions}
    finally:
        journal.close()


def test_what_was_answered_is_in_the_journal_once_whenever_the_process_is_killed(
    start: Callable[[], GatewayProcess], upstream: ScriptedUpstream
) -> None:
    chance = random.Random(20261201)
    whole: list[str] = []
    lock = threading.Lock()
    for life in range(5):
        gateway = start()
        stop = threading.Event()

        def chat(
            worker: int, gateway: GatewayProcess = gateway, stop: threading.Event = stop, life: int = life
        ) -> None:
            with httpx.Client(trust_env=False, timeout=10) as client:
                for n in range(400):
                    session = f"life{life}-worker{worker}-{n}"
                    try:
                        reply = gateway.ask(f"ask {session}", session, client)
                    except httpx.TransportError:
                        return
                    if reply.text.rstrip().endswith("data: [DONE]"):
                        with lock:
                            whole.append(session)
                    if stop.is_set():
                        return

        workers = [threading.Thread(target=chat, args=(n,)) for n in range(4)]
        for worker in workers:
            worker.start()
        threading.Event().wait(chance.uniform(0.2, 0.8))  # the instant of the kill is what is being varied
        gateway.child.kill()
        gateway.child.wait(20)
        stop.set()
        for worker in workers:
            worker.join(20)
    assert whole
    kept = answered_turns(start().home)
    assert [s for s in whole if kept.get(s) != [f"ask {s}"]] == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_told_to_stop_it_finishes_what_runs_and_leaves_nothing_behind(
    start: Callable[[], GatewayProcess], upstream: ScriptedUpstream
) -> None:
    hold = threading.Event()
    upstream.rule("wait", Reply("one two three", hold=hold, hold_after=1))
    gateway = start()
    got: dict[str, Any] = {}
    body = {"messages": [{"role": "user", "content": "wait"}], "stream": True}
    with httpx.stream("POST", f"{gateway.url}/v1/chat/completions", json=body, timeout=30, trust_env=False) as reply:
        chunks = reply.iter_raw()
        next(chunks)
        gateway.child.send_signal(signal.SIGTERM)
        hold.set()
        got["rest"] = b"".join(chunks)
    assert b"[DONE]" in got["rest"]
    assert gateway.child.wait(30) == 0
    assert not (gateway.home / "run" / "gateway.json").exists()
    assert list(answered_turns(gateway.home).values()) == [["wait"]]


def test_a_second_process_on_the_same_state_folder_steps_back(start: Callable[[], GatewayProcess]) -> None:
    gateway = start()
    command = [sys.executable, "-m", "metaclaw.gateway", "--config", str(gateway.home / "config.yaml")]
    environ = {**os.environ, "METACLAW_HOME": str(gateway.home), "METACLAW_PROXY_PORT": str(unused_port())}
    second = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1 and "metaclaw status" in second.stderr
    assert httpx.get(f"{gateway.url}/healthz", trust_env=False).json()["pid"] == gateway.child.pid


def test_state_files_are_readable_by_their_owner_alone(start: Callable[[], GatewayProcess]) -> None:
    gateway = start()
    with httpx.Client(trust_env=False, timeout=20) as client:
        gateway.ask("hi", "modes", client)
    loose = [p for p in gateway.home.rglob("*") if p.stat().st_mode & 0o077]
    assert loose == [] or os.name == "nt"
