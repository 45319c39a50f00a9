"""`metaclaw claws` shows agents, connects them after asking, and gives them back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Metaclaw

MINE = '{\n  // mine\n  agents: { defaults: { model: "openai/gpt-5.4" } },\n}\n'


@pytest.fixture
def openclaw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's OpenClaw configuration; its program is not on the PATH."""
    config = tmp_path / "person" / ".openclaw" / "openclaw.json"
    config.parent.mkdir(parents=True)
    config.write_text(MINE, encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    for name in ("STATE_DIR", "CONFIG_PATH", "HOME", "CONFIG_READONLY", "NIX_MODE"):
        monkeypatch.delenv(f"OPENCLAW_{name}", raising=False)
    return config


def test_the_list_says_where_an_agent_is_and_how_it_stands(metaclaw: Metaclaw, openclaw: Path) -> None:
    ran = metaclaw("claws", "--json")
    assert ran.code == 0, ran.err
    found = {row["claw"]: row for row in json.loads(ran.out)}
    assert found["openclaw"]["where"] == str(openclaw.parent)
    assert found["openclaw"]["state"] == "not wired"


def test_connecting_twice_and_giving_back(metaclaw: Metaclaw, openclaw: Path) -> None:
    ran = metaclaw("claws", "wire", "openclaw", "--yes")
    assert (ran.code, ran.out) == (0, "openclaw: now talks through MetaClaw\n"), ran.err
    assert "metaclaw/gpt-5.4" in openclaw.read_text(encoding="utf-8")
    assert metaclaw("claws", "wire", "openclaw", "--yes").out == "openclaw: talks through MetaClaw\n"
    listed = {row["claw"]: row["state"] for row in json.loads(metaclaw("claws", "list", "--json").out)}
    assert listed["openclaw"] == "wired"
    ran = metaclaw("claws", "unwire", "openclaw", "--yes")
    assert (ran.code, ran.out) == (0, "openclaw: is as it was before\n"), ran.err
    assert openclaw.read_text(encoding="utf-8") == MINE
    assert metaclaw("claws", "unwire", "openclaw", "--yes").code == 0


def test_a_dry_run_prints_the_difference_alone(metaclaw: Metaclaw, openclaw: Path) -> None:
    ran = metaclaw("claws", "wire", "openclaw", "--dry-run")
    assert ran.code == 0, ran.err
    assert 'agents.defaults.model: "openai/gpt-5.4" → "metaclaw/gpt-5.4"' in ran.out.splitlines()
    assert openclaw.read_text(encoding="utf-8") == MINE


def test_without_a_terminal_nothing_is_changed_unless_told_to(metaclaw: Metaclaw, openclaw: Path) -> None:
    ran = metaclaw("claws", "wire", "openclaw")
    assert ran.code == 2
    assert "--yes" in ran.err
    assert openclaw.read_text(encoding="utf-8") == MINE


def test_a_managed_configuration_gets_the_patch_to_paste(
    metaclaw: Metaclaw, openclaw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCLAW_CONFIG_READONLY", "1")
    ran = metaclaw("claws", "wire", "openclaw", "--yes")
    assert ran.code == 1
    assert "OPENCLAW_CONFIG_READONLY" in ran.err
    assert "openclaw config patch --stdin" in ran.out
    assert openclaw.read_text(encoding="utf-8") == MINE


def test_the_snippet_names_the_key_and_does_not_show_it(
    metaclaw: Metaclaw, openclaw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METACLAW_PROXY_API_KEY", "sk-proxy-key")
    ran = metaclaw("claws", "snippet", "openclaw")
    assert ran.code == 0, ran.err
    assert "proxy.api_key" in ran.out
    assert "sk-proxy-key" not in ran.out


def test_a_broken_configuration_is_left_alone(metaclaw: Metaclaw, openclaw: Path) -> None:
    openclaw.write_text("{ agents: ", encoding="utf-8")
    ran = metaclaw("claws", "wire", "openclaw", "--yes")
    assert ran.code == 1
    assert "was left alone" in ran.err
    assert openclaw.read_text(encoding="utf-8") == "{ agents: "


def test_an_unknown_agent_is_wrong_usage(metaclaw: Metaclaw) -> None:
    ran = metaclaw("claws", "wire", "nobody")
    assert ran.code == 2
    assert "openclaw" in ran.err


def test_checking_needs_a_connected_agent_and_a_gateway(metaclaw: Metaclaw, openclaw: Path) -> None:
    assert "no agent is connected" in metaclaw("claws", "check").err
    metaclaw("claws", "wire", "openclaw", "--yes")
    assert "not running" in metaclaw("claws", "check").err
