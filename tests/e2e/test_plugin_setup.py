"""`openclaw metaclaw setup` on a clean home, and both archives through `openclaw plugins install`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import unused_port
from tests.e2e.openclaw import OpenClaw
from tests.e2e.program import MetaClaw
from tests.scripted_upstream import ScriptedUpstream

pytestmark = [pytest.mark.openclaw, pytest.mark.usefixtures("openclaw_tools")]

ID = "metaclaw-openclaw"
INSTALL = ("--force", "--accept-capabilities")


@pytest.fixture(scope="module")
def openclaw(provider: ScriptedUpstream, tmp_path_factory: pytest.TempPathFactory) -> OpenClaw:
    """An OpenClaw of somebody who has never heard of MetaClaw."""
    openclaw = OpenClaw(tmp_path_factory.mktemp("home"), unused_port())
    openclaw.configure(provider.base_url)
    return openclaw


@pytest.fixture(scope="module")
def metaclaw(openclaw: OpenClaw) -> Iterator[MetaClaw]:
    """MetaClaw as the plugin sets it up; stopped in the end."""
    metaclaw = MetaClaw(openclaw.home / ".metaclaw", unused_port(), openclaw.env)
    yield metaclaw
    metaclaw.run("stop", ok=False)


@pytest.fixture(scope="module")
def installed(openclaw: OpenClaw, packed: Path) -> list[str]:
    """What OpenClaw said while it installed the tarball, and then the zip over it."""
    archives = [next(packed.glob("*.tgz")), packed / "metaclaw-plugin.zip"]
    return [openclaw.run("plugins", "install", str(path), *INSTALL, timeout=180) for path in archives]


def command(openclaw: OpenClaw, metaclaw: MetaClaw, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`openclaw metaclaw ARGUMENTS`."""
    env = {**metaclaw.env, "PATH": openclaw.env["PATH"]}
    return subprocess.run(
        ["openclaw", "metaclaw", *arguments], env=env, capture_output=True, text=True, timeout=300
    )  # fmt: skip


def test_both_archives_install_warning_only_that_they_are_local(openclaw: OpenClaw, installed: list[str]) -> None:
    assert all(ID in said for said in installed)
    warnings = [line for said in installed for line in said.splitlines() if "warn" in line.lower()]
    assert all("from local archive" in line for line in warnings)
    found = json.loads(openclaw.run("plugins", "inspect", ID, "--runtime", "--json"))
    assert found["plugin"]["status"] == "loaded"
    assert found.get("diagnostics", []) == []
    assert "slots" not in openclaw.values().get("plugins", {})


def test_set_up_takes_openclaws_model_over_and_connects(
    openclaw: OpenClaw, metaclaw: MetaClaw, installed: list[str], provider: ScriptedUpstream
) -> None:
    program = Path(sys.executable).with_name("metaclaw")
    settings = {"metaclawCommand": str(program), "metaclawStartArgs": ["--port", str(metaclaw.port)]}
    openclaw.run("config", "set", f"plugins.entries.{ID}.config", json.dumps(settings), "--strict-json")
    before = command(openclaw, metaclaw, "doctor")
    assert before.returncode == 1
    assert "OpenClaw has no provider named metaclaw" in before.stdout
    done = command(openclaw, metaclaw, "setup")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "MetaClaw runs"
    assert openclaw.values()["agents"]["defaults"]["model"]["primary"] == "metaclaw/scripted-model"
    assert "sk-upstream-key" not in done.stdout + metaclaw.config.read_text(encoding="utf-8")
    body = {"model": "scripted-model", "messages": [{"role": "user", "content": "hello"}]}
    metaclaw.request("POST", "/v1/chat/completions", body)
    assert provider.requests[-1].header("authorization") == "Bearer sk-upstream-key"
    assert f"OpenClaw's model calls go to {metaclaw.url}" in command(openclaw, metaclaw, "doctor").stdout


def test_the_memory_slot_is_taken_when_asked_for_and_given_back(
    openclaw: OpenClaw, metaclaw: MetaClaw, installed: list[str]
) -> None:
    before = openclaw.values().get("plugins", {})
    taken = command(openclaw, metaclaw, "slot", "take")
    assert taken.returncode == 0, taken.stderr
    assert openclaw.values()["plugins"]["slots"] == {"memory": "metaclaw-memory"}
    assert command(openclaw, metaclaw, "slot", "give").returncode == 0
    after = openclaw.values()["plugins"]
    assert "slots" not in after and after["entries"][ID] == before["entries"][ID]
