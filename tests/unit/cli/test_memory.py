"""`metaclaw memory`, against a real memory service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from metaclaw.supervisor import Running, observe
from metaclaw.supervisor.sidecar import any_sidecar
from tests.conftest import unused_port
from tests.unit.cli.conftest import Metaclaw


@pytest.fixture
def service(state: Path, metaclaw: Metaclaw) -> Iterator[Path]:
    """The memory service of this state folder; words alone find, and nobody extracts."""
    state.mkdir(mode=0o700)
    environ = {
        **os.environ,
        "METACLAW_SIDECAR_PORT": str(unused_port()),
        "METACLAW_SIDECAR_EMBEDDER": "none",
        "METACLAW_SIDECAR_AUTO_EXTRACT": "false",
    }
    child = subprocess.Popen([sys.executable, "-m", "metaclaw_sidecar"], env=environ, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while not isinstance(observe(any_sidecar(state)), Running):
        assert child.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    yield state
    child.terminate()
    child.wait(20)


def added(metaclaw: Metaclaw, text: str) -> str:
    made = json.loads(metaclaw("memory", "add", *text.split(), "--json").out)
    return str(made["memory_id"])


def test_a_memory_is_added_found_shown_changed_pinned_and_forgotten(metaclaw: Metaclaw, service: Path) -> None:
    id = added(metaclaw, "The cat sleeps in the study.")
    assert "sleeps in the study" in metaclaw("memory", "list").out
    found = json.loads(metaclaw("memory", "search", "where", "does", "the", "cat", "sleep", "--json").out)
    assert [hit["memory_id"] for hit in found] == [id]
    assert metaclaw("memory", "edit", id, "--content", "The cat sleeps in the attic.").out == f"{id} is at version 2\n"
    shown = metaclaw("memory", "show", id).out
    assert "attic" in shown and "version 1" in shown and "version 2" in shown
    assert metaclaw("memory", "edit", id, "--revert", "1").code == 0
    assert "study" in metaclaw("memory", "show", id).out
    assert metaclaw("memory", "pin", id).out == f"{id} is pinned\n"
    assert json.loads(metaclaw("memory", "stats", "--json").out)["pinned"] == 1
    refused = metaclaw("memory", "forget", id)
    assert refused.code == 2 and "--yes" in refused.err
    assert metaclaw("memory", "forget", id, "--yes").out.startswith(f"{id} is forgotten: ")
    gone = metaclaw("memory", "show", id)
    assert gone.code == 1 and id in gone.err and gone.err.count("\n") == 1


def test_scopes_are_apart_listed_and_forgotten_whole(metaclaw: Metaclaw, service: Path) -> None:
    added(metaclaw, "Mine.")
    assert metaclaw("memory", "add", "Hers.", "--scope", "user:ann").code == 0
    assert "Hers" not in metaclaw("memory", "list").out
    assert "Hers" in metaclaw("memory", "list", "--scope", "user:ann").out
    assert {row["scope_id"] for row in json.loads(metaclaw("memory", "scopes", "--json").out)} == {
        "default",
        "user:ann",
    }
    assert metaclaw("memory", "scopes", "--delete", "user:ann", "--yes").code == 0
    assert json.loads(metaclaw("memory", "list", "--scope", "user:ann", "--json").out)["total"] == 0
    assert "Mine" in metaclaw("memory", "list").out


def test_memories_go_out_to_a_private_file_and_come_in_again(metaclaw: Metaclaw, service: Path, tmp_path: Path) -> None:
    added(metaclaw, "Tea at five.")
    file = tmp_path / "memories.json"
    assert metaclaw("memory", "export", str(file)).code == 0
    assert os.name == "nt" or file.stat().st_mode & 0o077 == 0
    assert metaclaw("memory", "scopes", "--delete", "default", "--yes").code == 0
    would = json.loads(metaclaw("memory", "import", str(file), "--dry-run", "--json").out)
    assert would["added"] == 1 and "Tea" not in metaclaw("memory", "list").out
    assert metaclaw("memory", "import", str(file)).code == 0
    assert "Tea at five." in metaclaw("memory", "list").out
    assert metaclaw("memory", "import", str(tmp_path / "none")).code == 1


def test_upkeep_says_what_it_did(metaclaw: Metaclaw, service: Path) -> None:
    added(metaclaw, "Tea at five.")
    assert json.loads(metaclaw("memory", "consolidate", "--json").out)["archived"] == 0
    unknown = metaclaw("memory", "consolidate", "--undo", "run_none")
    assert unknown.code == 1 and "that run" in unknown.err and unknown.err.count("\n") == 1
    assert "default" in metaclaw("memory", "reindex").out


def test_without_a_service_one_line_says_what_to_do(metaclaw: Metaclaw, state: Path) -> None:
    off = metaclaw("memory", "list")
    assert (off.code, off.out) == (1, "") and "memory.enabled true" in off.err and off.err.count("\n") == 1
    metaclaw("config", "memory.enabled", "true")
    absent = metaclaw("memory", "list")
    assert absent.code == 1 and "metaclaw start" in absent.err
    metaclaw("config", "memory.sidecar_url", "http://127.0.0.1:9")
    assert "can't be reached" in metaclaw("memory", "list").err
