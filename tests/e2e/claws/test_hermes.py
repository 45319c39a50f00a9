"""The real Hermes talks through the gateway, with either form of its providers, and is given back byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import tools
from tests.e2e.claws import claw as story
from tests.e2e.claws.claw import Claw
from tests.scripted_upstream import ScriptedUpstream

pytestmark = pytest.mark.claws

CONFIG = (".hermes/config.yaml", ".hermes/.env")
SAY = ("hermes", "chat", "--quiet", "--query")


@pytest.fixture
def hermes(tmp_path: Path) -> Claw:
    if not (tools.claw_bin("hermes") / "hermes").exists():
        pytest.skip(f"Hermes is not in {tools.folder()}: make test-claws")
    return Claw("hermes", tmp_path / "home")


@pytest.mark.parametrize(
    ("fixture", "protocol"),
    [("hermes", "chat"), ("hermes-legacy-list", "chat"), ("hermes", "messages"), ("hermes", "responses")],
)
def test_hermes_talks_through_the_gateway_and_is_given_back(
    hermes: Claw, provider: ScriptedUpstream, tmp_path: Path, fixture: str, protocol: str
) -> None:
    hermes.has(fixture)
    before = hermes.files(*CONFIG)
    metaclaw = story.metaclaw_for(hermes, provider, tmp_path / "metaclaw", protocol)
    try:
        story.script(provider, "terminal", '{"command":"ls"}')
        metaclaw.run("claws", "wire", "hermes", "--yes")
        wired = hermes.files(*CONFIG)
        metaclaw.run("claws", "wire", "hermes", "--yes")
        assert hermes.files(*CONFIG) == wired
        assert story.ANSWER in hermes.run(*SAY, story.ASKED)
        assert story.REMEMBERED in hermes.run(*SAY, story.AGAIN, "--continue")

        first, result, second = story.spoken(provider)
        assert {first.wire, result.wire, second.wire} == {protocol}, "Hermes speaks what the provider speaks"
        assert first.json()["model"] == "scripted-model"
        assert "harbour log" in json.dumps(second.json())
        assert story.ANSWER in json.dumps(second.json())
        client = "hermes" if protocol != "messages" else ""  # its Anthropic client sends no headers of ours
        turns = story.conversation(metaclaw, client)
        assert len(turns) == 2

        assert hermes.files(*CONFIG) == wired, "Hermes rewrites nothing by itself"
        metaclaw.run("claws", "unwire", "hermes", "--yes")
        assert hermes.files(*CONFIG) == before
    finally:
        metaclaw.stop_gateway()


def test_what_hermes_makes_of_the_list_form_is_taken_out_too(
    hermes: Claw, provider: ScriptedUpstream, tmp_path: Path
) -> None:
    hermes.has("hermes-legacy-list")
    metaclaw = story.metaclaw_for(hermes, provider, tmp_path / "metaclaw")
    try:
        metaclaw.run("claws", "wire", "hermes", "--yes")
        hermes.run("hermes", "config", "migrate")
        migrated = hermes.files(*CONFIG)[CONFIG[0]][0]
        assert b"custom_providers:" not in migrated, "Hermes has moved its providers"
        metaclaw.run("claws", "unwire", "hermes", "--yes")
        left = hermes.files(*CONFIG)[CONFIG[0]][0]
        assert b"metaclaw" not in left
        assert hermes.run("hermes", "config", "get", "model.provider").strip() == "custom:local"
        assert hermes.run("hermes", "config", "get", "providers.local.api").strip() == "http://127.0.0.1:8000/v1"
        assert metaclaw.json("claws", "list")[0]["state"] == "not wired"
    finally:
        metaclaw.stop_gateway()


def test_a_window_with_which_hermes_would_not_start_is_refused(
    hermes: Claw, provider: ScriptedUpstream, tmp_path: Path
) -> None:
    hermes.has("hermes")
    before = hermes.files(*CONFIG)
    metaclaw = story.metaclaw_for(hermes, provider, tmp_path / "metaclaw")
    try:
        metaclaw.run("config", "context_window", "32768")
        refused = metaclaw.run("claws", "wire", "hermes", "--yes", ok=False)
        assert refused.returncode == 1
        assert "64,000" in refused.stderr
        assert hermes.files(*CONFIG) == before
    finally:
        metaclaw.stop_gateway()
