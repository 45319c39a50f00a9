"""WeChat through the real plugin in the real OpenClaw, against a stand-in for WeChat's server."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import unused_port
from tests.e2e.openclaw import OpenClaw
from tests.e2e.program import MetaClaw
from tests.e2e.waiting import until
from tests.scripted_upstream import ScriptedUpstream
from tests.wechat_server import BOTS, WeChatServer

ASKED_FOR = "METACLAW_TEST_WECHAT"
pytestmark = [
    pytest.mark.openclaw,
    pytest.mark.usefixtures("openclaw_tools"),
    pytest.mark.skipif(not os.environ.get(ASKED_FOR), reason="takes minutes of a quiet machine: make test-wechat"),
]

OWNER = "openclaw-weixin:wx_owner@im.wechat"
SECONDS = 400
SETUP = (
    "setup", "--non-interactive", "--claw", "openclaw", "--mode", "skills_only", "--provider", "custom",
    "--model", "scripted-model", "--api-key-stdin", "--no-memory", "--no-test",
)  # fmt: skip


class OpenClawOnWeChat(OpenClaw):
    """An OpenClaw whose WeChat is the stand-in."""

    wechat_env: Mapping[str, str] = {}

    @property
    def env(self) -> dict[str, str]:
        """As usual, and the way to the stand-in."""
        return {**super().env, **self.wechat_env}


@dataclass
class Story:
    """What happened."""

    openclaw: OpenClaw
    metaclaw: MetaClaw
    wechat: WeChatServer
    printed: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    config: dict[str, dict[str, Any]] = field(default_factory=dict)
    sessions: list[dict[str, Any]] = field(default_factory=list)


def terminal(metaclaw: MetaClaw, *arguments: str, given: str = "") -> str:
    """Run a command as somebody at a terminal does; returns what it showed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "metaclaw", *arguments]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=metaclaw.env, text=True
    )
    os.close(theirs)
    try:
        os.write(ours, given.encode())
        shown, _ = process.communicate(timeout=SECONDS)
    finally:
        os.close(ours)
    assert process.returncode == 0, shown
    return shown


def state(told: Story) -> str:
    """What `metaclaw status` says of WeChat."""
    claws = told.metaclaw.json("status")["claws"]
    return next((claw["state"] for claw in claws if claw["name"] == "WeChat"), "")


@pytest.fixture(scope="module")
def story(provider: ScriptedUpstream, packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Everything, once: it takes some minutes."""
    openclaw = OpenClawOnWeChat(tmp_path_factory.mktemp("home"), unused_port())
    with WeChatServer() as wechat, contextlib.ExitStack() as stack:
        openclaw.wechat_env = wechat.env
        metaclaw = MetaClaw(openclaw.home / ".metaclaw", unused_port(), openclaw.env)
        told = Story(openclaw, metaclaw, wechat)
        openclaw.configure(provider.base_url)
        with zipfile.ZipFile(packed / "metaclaw-plugin.zip") as archive:
            archive.extractall(openclaw.home / ".openclaw" / "extensions")
        openclaw.run("plugins", "enable", "metaclaw-openclaw")
        where = ("--api-base", provider.base_url, "--port", str(metaclaw.port))
        metaclaw.run(*SETUP, *where, given="sk-up\n")
        stack.callback(metaclaw.run, "stop", ok=False)
        stack.callback(openclaw.stop)
        tell(told)
        yield told


def tell(told: Story) -> None:
    """Connect, talk, lose the login, log another account in, switch it off."""
    wechat, metaclaw = told.wechat, told.metaclaw
    metaclaw.run("config", "wechat.enabled", "true")
    told.printed["unasked"] = metaclaw.run("start").stdout
    told.config["before"] = told.openclaw.values()
    told.printed["start"] = terminal(metaclaw, "start", given="y\n")
    told.openclaw.start()
    wechat.say("My goat is called Zanzibar.")
    until(lambda: wechat.sent, "the answer in WeChat", seconds=120)
    told.openclaw.say("I am the owner of this machine.", "main")
    told.sessions = metaclaw.request("GET", "/v1/sessions")["data"]
    told.states["talking"] = state(told)
    wechat.expire()
    until(lambda: state(told) != "running", "the end of the login to be seen", seconds=60)
    told.states["expired"] = state(told)
    wechat.account = BOTS[1]
    told.printed["relogin"] = terminal(metaclaw, "start", "--wechat-relogin")
    until(lambda: any(BOTS[1] in token for token in wechat.polls), "the new account to poll", seconds=120)
    wechat.say("Still there?")
    until(lambda: any(BOTS[1] in sent.token for sent in wechat.sent), "an answer of the new account", seconds=120)
    metaclaw.run("config", "wechat.enabled", "false")
    told.printed["off"] = metaclaw.run("start").stdout
    told.config["after"] = told.openclaw.values()


def test_without_a_terminal_nothing_is_installed(story: Story) -> None:
    assert "in a terminal asks before it installs" in story.printed["unasked"]
    assert "openclaw-weixin" not in str(story.config["before"])


def test_it_asks_once_and_shows_the_code(story: Story) -> None:
    assert story.printed["start"].count("Install it?") == 1
    assert "https://liteapp.weixin.qq.com/q/scripted?qrcode=code-1" in story.printed["start"]
    assert "Install it?" not in story.printed["relogin"]
    assert "qrcode=code-2" in story.printed["relogin"]


def test_answers_go_out_to_whoever_wrote(story: Story) -> None:
    assert {sent.to for sent in story.wechat.sent} == {"wx_owner@im.wechat"}
    assert {sent.text for sent in story.wechat.sent} == {"Understood."}


def test_whoever_writes_in_wechat_has_a_session_and_a_memory_of_his_own(story: Story) -> None:
    users = {session["user_id"]: session for session in story.sessions}
    assert set(users) == {OWNER, "owner"}
    assert users[OWNER]["id"] != users["owner"]["id"]
    assert users[OWNER]["scope"] == f"user:{OWNER}|workspace:main"
    assert users["owner"]["scope"] == "default"


def test_an_expired_login_is_seen(story: Story) -> None:
    assert story.states == {"talking": "running", "expired": "expired"}


def test_switched_off_it_leaves_nothing_behind(story: Story) -> None:
    assert "the weixin plugin is uninstalled" in story.printed["off"]
    before, after = ({k: v for k, v in story.config[at].items() if k != "meta"} for at in ("before", "after"))
    assert after == before
    assert not (story.openclaw.home / ".openclaw" / "openclaw-weixin").exists()
