"""`metaclaw config`."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Metaclaw


def test_set_get_and_the_short_form_agree(metaclaw: Metaclaw, state: Path) -> None:
    assert metaclaw("config", "set", "proxy.port", "40000").out == "proxy.port = 40000\n"
    assert metaclaw("config", "proxy.port").out == metaclaw("config", "get", "proxy.port").out == "40000\n"
    assert metaclaw("config", "scheduler.sleep_start", "10:30").code == 0
    assert metaclaw("config", "wechat.enabled", "yes").out == "wechat.enabled = true\n"
    assert metaclaw("config", "claws", "openclaw,hermes").code == 0
    assert metaclaw("config", "claws").out == "openclaw, hermes\n"
    assert (state / "config.yaml").read_text(encoding="utf-8") == (
        'proxy:\n  port: 40000\nscheduler:\n  sleep_start: "10:30"\nwechat:\n  enabled: true\n'
        "claws: [openclaw, hermes]\n"
    )
    assert metaclaw("config", "unset", "claws").out == "claws is unset\n"
    assert metaclaw("config", "unset", "claws").out == "claws is not set\n"
    assert metaclaw("config", "path").out == f"{state / 'config.yaml'}\n"


def test_json_has_types_and_origins(metaclaw: Metaclaw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METACLAW_PROXY_PORT", "40000")
    one = json.loads(metaclaw("config", "proxy.port", "--json").out)
    assert one == {"key": "proxy.port", "value": 40000, "origin": "environment", "variable": "METACLAW_PROXY_PORT"}
    everything = json.loads(metaclaw("config", "show", "--json").out)
    assert everything["keys"]["skills.enabled"] == {"value": True, "origin": "default"}
    assert everything["keys"]["llm.fallbacks"]["value"] == []


def test_show_tells_where_each_value_comes_from(metaclaw: Metaclaw, monkeypatch: pytest.MonkeyPatch) -> None:
    metaclaw("config", "llm.model_id", "0012")
    monkeypatch.setenv("METACLAW_MODE", "madmax")
    lines = [line.split() for line in metaclaw("config", "show").out.splitlines()]
    assert ["llm.model_id", "0012", "file"] in lines
    assert ["mode", "auto", "environment", "(METACLAW_MODE)"] in lines
    assert ["proxy.port", "30000", "default"] in lines
    assert len(metaclaw("config", "show", "--changed").out.splitlines()) == 3
    assert {line.split(".")[0] for line in metaclaw("config", "show", "rl").out.splitlines()[1:]} == {"rl"}
    assert metaclaw("config", "show", "rll").code == 1


@pytest.mark.parametrize("name", ["llm.api_key", "llm.oauth_token", "proxy.api_key", "rl.tinker_api_key"])
def test_a_secret_is_kept_apart_and_never_shown(name: str, metaclaw: Metaclaw, state: Path) -> None:
    ran = metaclaw("config", name, "-", stdin="0012345\n")
    assert (ran.code, ran.err) == (0, "")
    assert "(kept in the secrets file)" in ran.out
    assert metaclaw("config", name).out == "set\n"
    for command in (["show"], ["show", "--json"], ["get", name, "--json"], ["validate"]):
        seen = metaclaw("config", *command)
        assert "0012345" not in seen.out + seen.err
    assert not (state / "config.yaml").exists()
    assert "0012345" in (state / "secrets.json").read_text(encoding="utf-8")
    assert metaclaw("config", "unset", name).code == 0
    assert metaclaw("config", name).out == "not set\n"


def test_a_secret_on_the_command_line_works_and_warns(metaclaw: Metaclaw) -> None:
    ran = metaclaw("config", "llm.oauth_token", "tok-1")
    assert ran.code == 0
    assert "shell's history" in ran.err
    assert metaclaw("config", "get", "llm.oauth_token").out == "set\n"


def test_a_secret_in_the_file_moves_out_when_it_is_set(metaclaw: Metaclaw, state: Path) -> None:
    state.mkdir()
    file = state / "config.yaml"
    file.write_text("llm:\n  api_key: sk-old-one  # mine\n  model_id: m\n", encoding="utf-8")
    assert metaclaw("config", "llm.api_key").out == "set\n"
    assert "taken out of config.yaml" in metaclaw("config", "llm.api_key", "-", stdin="sk-new-one").out
    assert file.read_text(encoding="utf-8") == "llm:\n  model_id: m\n"
    assert all(b"sk-old-one" not in path.read_bytes() for path in state.iterdir())


@pytest.mark.parametrize("stdin", ["", "  \n", "two\nlines\n"])
def test_no_secret_or_several_lines_are_wrong_usage(stdin: str, metaclaw: Metaclaw) -> None:
    assert metaclaw("config", "llm.api_key", "-", stdin=stdin).code == 2


def test_a_gate_key_opens_the_way_beyond_loopback(metaclaw: Metaclaw, state: Path) -> None:
    refused = metaclaw("config", "proxy.host", "0.0.0.0")
    assert refused.code == 1
    assert "set proxy.api_key (`metaclaw config proxy.api_key -`)" in refused.err
    assert refused.err.count("\n") == 1
    metaclaw("config", "proxy.api_key", "-", stdin="sk-gate")
    assert metaclaw("config", "proxy.host", "0.0.0.0").code == 0


def test_the_way_out_of_an_open_host_is_the_one_the_message_names(metaclaw: Metaclaw, state: Path) -> None:
    state.mkdir()
    (state / "config.yaml").write_text("proxy: {port: 30000, host: 0.0.0.0}\n", encoding="utf-8")
    assert metaclaw("config", "show").code == 1
    assert metaclaw("config", "proxy.api_key", "-", stdin="sk-gate").code == 0
    assert metaclaw("config", "show").code == 0


def test_what_wins_over_a_new_value_is_said(metaclaw: Metaclaw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METACLAW_PROXY_PORT", "1")
    assert metaclaw("config", "proxy.port", "2").err == "note: METACLAW_PROXY_PORT is set in the environment and wins\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["proxy.prot"], "metaclaw: proxy.prot: unknown key; did you mean proxy.port?\n"),
        (["proxy.prot", "1"], "metaclaw: proxy.prot: unknown key; did you mean proxy.port?\n"),
        (["unset", "mod"], "metaclaw: mod: unknown key; did you mean mode?\n"),
        (["llm.retries", "-1"], "metaclaw: llm.retries: must be at least 0, not '-1'\n"),
    ],
)
def test_a_wrong_key_or_value_is_one_line(arguments: list[str], message: str, metaclaw: Metaclaw) -> None:
    ran = metaclaw("config", *arguments)
    assert (ran.code, ran.out, ran.err) == (1, "", message)


def test_validate_tells_every_fault(metaclaw: Metaclaw, state: Path, tmp_path: Path) -> None:
    assert metaclaw("config", "validate").code == 0
    other = tmp_path / "other.yaml"
    other.write_text("mode: x\nproxy: {port: 0}\n", encoding="utf-8")
    ran = metaclaw("config", "validate", str(other))
    assert ran.code == 1
    assert [line.split(": ")[0] for line in ran.out.splitlines()] == [f"{other}:1:7", f"{other}:2:15"]
    assert json.loads(metaclaw("config", "validate", str(other), "--json").out)["ok"] is False
    assert metaclaw("config", "validate", str(tmp_path / "none.yaml")).code == 2


def test_a_password_in_a_url_is_not_shown(metaclaw: Metaclaw) -> None:
    metaclaw("config", "journal.url", "postgresql://me:hunter2hunter2@db.example.com/x")
    assert metaclaw("config", "journal.url").out == "postgresql://[hidden]@db.example.com/x\n"


def editor(tmp_path: Path, new: str) -> str:
    """An editor that replaces the whole text."""
    script = tmp_path / "editor.py"
    body = f"import sys, pathlib\npathlib.Path(sys.argv[1]).write_text({new!r}, encoding='utf-8')\n"
    script.write_text(body, encoding="utf-8")
    return f'"{sys.executable}" "{script}"'


def test_edit_writes_what_is_sound(
    metaclaw: Metaclaw, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, "mode: rl # new\n"))
    assert metaclaw("config", "edit").out == "saved\n"
    assert metaclaw("config", "edit").out == "nothing changed\n"
    assert (state / "config.yaml").read_text(encoding="utf-8") == "mode: rl # new\n"
    if os.name == "posix":
        assert stat.S_IMODE((state / "config.yaml").stat().st_mode) == 0o600


def test_edit_leaves_the_file_when_the_text_is_not_sound(
    metaclaw: Metaclaw, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metaclaw("config", "mode", "rl")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, "mode: [\n"))
    ran = metaclaw("config", "edit")
    assert ran.code == 1
    assert "not YAML" in ran.err
    assert (state / "config.yaml").read_text(encoding="utf-8") == "mode: rl\n"
    assert not list(state.glob("config-*"))
    monkeypatch.setenv("EDITOR", "no-such-editor-here")
    assert "set EDITOR" in metaclaw("config", "edit").err


def test_the_gateways_own_key_can_be_seen_and_no_other_secret(metaclaw: Metaclaw) -> None:
    assert metaclaw("config", "get", "proxy.api_key", "--reveal").code == 1
    for name in ("proxy.api_key", "llm.api_key"):
        metaclaw("config", name, "-", stdin="0012345\n")
    assert metaclaw("config", "get", "proxy.api_key", "--reveal").out == "0012345\n"
    refused = metaclaw("config", "get", "llm.api_key", "--reveal")
    assert refused.code == 2
    assert "0012345" not in refused.out + refused.err
