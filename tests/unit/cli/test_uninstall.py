"""`metaclaw uninstall`: every agent as it was, nothing of ours left, nothing of anybody else's touched."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Metaclaw

OPENCLAW = b"""// mine
{
  "models": {"providers": {"moon": {"baseUrl": "https://llm.example.com/v1", "apiKey": "sk-u",
    "api": "openai-completions",
    "models": [{"id": "kimi", "name": "Kimi"}]}}},
  "agents": {"defaults": {"model": {"primary": "moon/kimi"}}}, // yes
}
"""


@pytest.fixture
def openclaw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration of an OpenClaw whose program is not on the path."""
    person = tmp_path / "person"
    (person / ".openclaw").mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(person))
    monkeypatch.setenv("PATH", str(tmp_path))
    path = person / ".openclaw" / "openclaw.json"
    path.write_bytes(OPENCLAW)
    return path


@pytest.fixture
def wired(openclaw: Path, metaclaw: Metaclaw, state: Path) -> Path:
    """That OpenClaw, pointed at MetaClaw, as `metaclaw start` leaves it."""
    from metaclaw.cli.connect import endpoint
    from metaclaw.config import load
    from metaclaw_adapters import Wiring, adapters

    done = metaclaw("setup", "--yes", "--claw", "openclaw", "--api-base", "http://127.0.0.1:9/v1", "--no-test")
    assert done.code == 0, done.err
    Wiring(state).wire(adapters()["openclaw"], endpoint(load().settings, "127.0.0.1", 30000))
    assert openclaw.read_bytes() != OPENCLAW
    return openclaw


def test_everything_is_undone_and_the_agents_file_is_byte_identical(
    wired: Path, metaclaw: Metaclaw, state: Path
) -> None:
    done = metaclaw("uninstall", "--yes")
    assert done.code == 0, done.err
    assert wired.read_bytes() == OPENCLAW
    assert not state.exists()
    assert "undo every change to openclaw" in done.out
    assert "The program: it runs from" in done.out


def test_it_does_nothing_without_a_yes(wired: Path, metaclaw: Metaclaw, state: Path) -> None:
    before = wired.read_bytes()
    done = metaclaw("uninstall")
    assert done.code == 2
    assert "--yes" in done.err
    assert (wired.read_bytes(), state.exists()) == (before, True)


def test_skills_are_packed_before_they_are_removed(
    wired: Path, metaclaw: Metaclaw, state: Path, tmp_path: Path
) -> None:
    skill = state / "skills" / "mine" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: mine\ndescription: d\n---\n", encoding="utf-8")
    target = tmp_path / "kept.tar.gz"
    assert metaclaw("uninstall", "--yes", "--archive", str(target)).code == 0
    with tarfile.open(target) as archive:
        assert "skills/mine/SKILL.md" in archive.getnames()
    assert not state.exists()


def test_an_archive_that_cannot_be_written_stops_the_removal(wired: Path, metaclaw: Metaclaw, state: Path) -> None:
    skill = state / "skills" / "mine" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("x", encoding="utf-8")
    done = metaclaw("uninstall", "--yes", "--archive", str(state / "no" / "such" / "folder.tar.gz"))
    assert done.code == 1
    assert skill.exists()


def test_state_stays_when_an_agent_cannot_be_given_back(wired: Path, metaclaw: Metaclaw, state: Path) -> None:
    (state / "claws" / "openclaw" / "manifest.json").write_text("{", encoding="utf-8")
    done = metaclaw("uninstall", "--yes")
    assert done.code == 1
    assert "nothing was removed" in done.err
    assert (state / "config.yaml").exists()


def test_a_broken_configuration_does_not_keep_anybody(wired: Path, metaclaw: Metaclaw, state: Path) -> None:
    (state / "config.yaml").write_text("proxy: [", encoding="utf-8")
    done = metaclaw("uninstall", "--yes")
    assert done.code == 0, done.err
    assert wired.read_bytes() == OPENCLAW
    assert not state.exists()


def test_keep_state_gives_the_agents_back_and_leaves_the_rest(wired: Path, metaclaw: Metaclaw, state: Path) -> None:
    assert metaclaw("uninstall", "--yes", "--keep-state").code == 0
    assert wired.read_bytes() == OPENCLAW
    assert (state / "config.yaml").exists()
