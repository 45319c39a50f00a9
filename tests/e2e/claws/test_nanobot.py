"""The real nanobot talks through the gateway, wired by our adapter, and is given back byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import tools
from tests.e2e.claws import claw as story
from tests.e2e.claws.claw import Claw
from tests.e2e.program import MetaClaw
from tests.scripted_upstream import ScriptedUpstream

pytestmark = pytest.mark.claws

CONFIG = ".nanobot/config.json"


@pytest.fixture
def nanobot(tmp_path: Path) -> Claw:
    if not (tools.claw_bin("nanobot") / "nanobot").exists():
        pytest.skip(f"nanobot is not in {tools.folder()}: make test-claws")
    claw = Claw("nanobot", tmp_path / "home")
    claw.has("nanobot")
    return claw


@pytest.fixture
def metaclaw(nanobot: Claw, provider: ScriptedUpstream, tmp_path: Path) -> Iterator[MetaClaw]:
    made = story.metaclaw_for(nanobot, provider, tmp_path / "metaclaw")
    yield made
    made.stop_gateway()


def test_nanobot_talks_through_the_gateway_and_is_given_back(
    nanobot: Claw, metaclaw: MetaClaw, provider: ScriptedUpstream
) -> None:
    before = nanobot.files(CONFIG)
    story.script(provider, "list_dir", '{"path":"."}')
    metaclaw.run("claws", "wire", "nanobot", "--yes")
    wired = nanobot.files(CONFIG)
    assert "now" not in metaclaw.run("claws", "wire", "nanobot", "--yes").stdout
    assert nanobot.files(CONFIG) == wired
    say = ("nanobot", "agent", "--no-markdown", "--session", "cli:story", "--message")
    assert story.ANSWER in nanobot.run(*say, story.ASKED)
    assert story.REMEMBERED in nanobot.run(*say, story.AGAIN)

    first, result, second = story.spoken(provider)
    assert first.json()["model"] == "scripted-model"
    assert result.json()["messages"][-1]["role"] == "tool"
    assert story.ANSWER in json.dumps(second.json()["messages"])
    turns = story.conversation(metaclaw, "nanobot")
    assert [story.ASKED in turns[0]["user_text"], story.AGAIN in turns[1]["user_text"]] == [True, True]

    assert nanobot.files(CONFIG) == wired, "nanobot rewrites nothing by itself"
    metaclaw.run("claws", "unwire", "nanobot", "--yes")
    assert nanobot.files(CONFIG) == before
    assert "scripted" not in nanobot.run("nanobot", "status")


def test_one_message_proves_the_connection(nanobot: Claw, metaclaw: MetaClaw, provider: ScriptedUpstream) -> None:
    provider.reset()
    metaclaw.run("claws", "wire", "nanobot", "--yes")
    assert "answered through the gateway" in metaclaw.run("claws", "check", "nanobot").stdout


def test_an_invalid_configuration_is_left_alone(nanobot: Claw, metaclaw: MetaClaw) -> None:
    path = nanobot.home / CONFIG
    path.write_text('{"agents": {"defaults": {"modelPreset": "nowhere"}}}', encoding="utf-8")
    before = nanobot.files(CONFIG)
    refused = metaclaw.run("claws", "wire", "nanobot", "--yes", ok=False)
    assert refused.returncode == 1
    assert "nanobot does not accept its configuration" in refused.stderr
    assert nanobot.files(CONFIG) == before
