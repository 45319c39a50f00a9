"""How the channel stands, from the files that the real plugin leaves."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from metaclaw.channels import ChannelError, WeChat, pending_login
from metaclaw.channels import wechat as module
from metaclaw_adapters import Installation

NOW = 1_800_000_000.0
ACCOUNT = "b0f5860fdecb-im-bot"


@pytest.fixture
def openclaw(tmp_path: Path) -> Installation:
    """An OpenClaw whose gateway runs."""
    home = tmp_path / ".openclaw"
    home.mkdir()
    return Installation("openclaw", "2026.9.6", home, "openclaw", running=True, documents=())


def install(openclaw: Installation) -> None:
    """The plugin as `plugins install` leaves it."""
    (openclaw.home / "npm" / "projects" / "tencent-weixin-openclaw-weixin-0a1b" / "node_modules").mkdir(parents=True)


def log_in(openclaw: Installation, heard: float, token: str = "token") -> None:
    """The files of a login, WeChat's server heard at that time."""
    folder = openclaw.home / "openclaw-weixin"
    (folder / "accounts").mkdir(parents=True)
    (folder / "accounts.json").write_text(json.dumps([ACCOUNT]), encoding="utf-8")
    for name in (f"{ACCOUNT}.json", f"{ACCOUNT}.sync.json"):
        path = folder / "accounts" / name
        path.write_text(json.dumps({"token": token}), encoding="utf-8")
        os.utime(path, (heard, heard))


def states(openclaw: Installation, tmp_path: Path) -> str:
    """The word for it."""
    return WeChat(openclaw, tmp_path / "metaclaw").state(NOW).name


def test_each_step_towards_a_running_channel_has_its_word(openclaw: Installation, tmp_path: Path) -> None:
    assert states(openclaw, tmp_path) == "absent"
    install(openclaw)
    assert states(openclaw, tmp_path) == "logged out"
    log_in(openclaw, NOW - 20)
    assert states(openclaw, tmp_path) == "running"
    assert states(replace(openclaw, running=False), tmp_path) == "stopped"


def test_a_server_that_says_nothing_is_seen(openclaw: Installation, tmp_path: Path) -> None:
    install(openclaw)
    log_in(openclaw, NOW - 600)
    state = WeChat(openclaw, tmp_path).state(NOW)
    assert (state.name, "10 min" in state.detail) == ("silent", True)


def test_an_account_without_a_token_is_no_login(openclaw: Installation, tmp_path: Path) -> None:
    install(openclaw)
    log_in(openclaw, NOW, token="")
    assert states(openclaw, tmp_path) == "logged out"


def test_an_expired_login_is_told_until_the_account_is_heard_again(
    openclaw: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(openclaw)
    log_in(openclaw, NOW - 20)
    logs = tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setattr(module, "log_folders", lambda: [logs])
    said = {"1": f"[{ACCOUNT}] getUpdates: token for {ACCOUNT} is stale, pausing all requests for 60 min"}
    entries = [{**said, "_meta": {"date": when}} for when in ("2027-01-15T07:59:45.000Z",)]
    (logs / "openclaw-2027-01-15.log").write_text("\n".join(map(json.dumps, entries)) + "\n{broken is stale\n", "utf-8")
    state = WeChat(openclaw, tmp_path).state(NOW)
    assert (state.name, "--wechat-relogin" in state.detail) == ("expired", True)
    path = openclaw.home / "openclaw-weixin" / "accounts" / f"{ACCOUNT}.sync.json"
    os.utime(path, (NOW - 1, NOW - 1))
    assert states(openclaw, tmp_path) == "running"


def test_without_openclaws_program_it_says_what_to_do(openclaw: Installation, tmp_path: Path) -> None:
    with pytest.raises(ChannelError, match="install OpenClaw first"):
        WeChat(replace(openclaw, program=None), tmp_path)


def test_a_yes_is_remembered(openclaw: Installation, tmp_path: Path) -> None:
    assert not WeChat(openclaw, tmp_path).agreed
    WeChat(openclaw, tmp_path).agree()
    assert WeChat(openclaw, tmp_path).agreed
    assert (tmp_path / "channels" / "wechat.json").stat().st_mode & 0o777 == 0o600


def test_a_login_that_waits_is_shown_until_its_time_is_over(tmp_path: Path) -> None:
    assert pending_login(tmp_path, NOW) == ""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "wechat-login.json").write_text(json.dumps({"link": "https://x", "until": NOW}), "utf-8")
    assert pending_login(tmp_path, NOW - 1) == "https://x"
    assert pending_login(tmp_path, NOW + 1) == ""
