"""The real OpenClaw accepts what we write, talks through it, and is given back byte for byte."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from metaclaw_adapters import Endpoint, Refused, Wiring, run
from metaclaw_adapters.json5_text import has_comments, read
from metaclaw_adapters.openclaw import OpenClaw as Adapter
from metaclaw_adapters.openclaw_config import config_path
from metaclaw_adapters.values import get
from tests.conftest import unused_port
from tests.e2e.openclaw import OpenClaw
from tests.scripted_upstream import ScriptedUpstream

pytestmark = [pytest.mark.openclaw, pytest.mark.usefixtures("openclaw_tools")]

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "claws"
ENDPOINT = Endpoint("http://127.0.0.1:30000", context_window=200_000)
ALLOW = ("agents", "defaults", "modelPolicy", "allow")


@dataclass
class Case:
    """An OpenClaw in a home of its own, and our means to change it."""

    openclaw: OpenClaw
    adapter: Adapter
    wiring: Wiring

    def has(self, name: str) -> bytes:
        """Give it one of the sample configurations."""
        self.openclaw.config.parent.mkdir(parents=True, exist_ok=True)
        self.openclaw.config.write_bytes((FIXTURES / name / ".openclaw" / "openclaw.json").read_bytes())
        return self.openclaw.config.read_bytes()

    def configured(self, base_url: str) -> bytes:
        """Give it a working configuration with an old model map, which OpenClaw will make an allow list of."""
        self.openclaw.configure(base_url)
        text = self.openclaw.config.read_text(encoding="utf-8")
        models = 'agents: { defaults: {\n    models: { "mine/scripted-model": {} },'
        self.openclaw.config.write_text(text.replace("agents: { defaults: {", models), encoding="utf-8")
        return self.openclaw.config.read_bytes()

    def validated(self) -> dict[str, Any]:
        """OpenClaw's own judgement on its configuration; a refusal fails the test."""
        found: dict[str, Any] = json.loads(self.openclaw.run("config", "validate", "--json"))
        return found


@pytest.fixture
def case(tmp_path: Path) -> Case:
    openclaw = OpenClaw(tmp_path / "home", unused_port())
    openclaw.home.mkdir()
    return Case(openclaw, Adapter(openclaw.env), Wiring(tmp_path / "metaclaw", openclaw.env))


def test_wired_it_talks_to_the_gateway_and_unwired_it_is_what_it_was(case: Case, provider: ScriptedUpstream) -> None:
    provider.rule("are you there", "I am here.")
    before = case.configured("http://127.0.0.1:9/v1")
    endpoint = replace(ENDPOINT, base_url=provider.url)
    outcome = case.wiring.wire(case.adapter, endpoint)
    assert outcome.done == "wired"
    assert not any("also changed" in note for note in outcome.notes), "a change of OpenClaw's own that we don't know"
    wired = case.openclaw.config.read_bytes()
    config = read(wired)
    assert get(config, ("meta", "lastTouchedVersion")), "OpenClaw's own writer wrote it"
    assert get(config, ALLOW) == ["mine/scripted-model", "metaclaw/scripted-model"]
    assert get(config, ("agents", "defaults", "sandbox", "mode")) == "off"
    assert case.wiring.wire(case.adapter, endpoint).done == "unchanged"
    assert case.openclaw.config.read_bytes() == wired
    speaks(case, provider)
    assert case.wiring.unwire("openclaw").done == "unwired"
    assert case.openclaw.config.read_bytes() == before
    assert case.validated()["valid"] is True
    assert case.openclaw.config.read_bytes() == before, "OpenClaw finds nothing to repair"


def speaks(case: Case, provider: ScriptedUpstream) -> None:
    """One turn without OpenClaw's gateway: it comes to us, and says who asks in which conversation."""
    installation = case.adapter.detect()
    assert installation is not None
    command = case.adapter.headless_turn(installation, "Hello, are you there?")
    assert command is not None
    answer = run(command, case.openclaw.env)
    assert answer.code == 0, answer.said()
    assert "I am here." in answer.out
    call = provider.calls("chat")[-1]
    assert call.header("x-metaclaw-client") == "openclaw"
    assert call.header("authorization") == "Bearer metaclaw-local"
    assert call.json()["model"] == "scripted-model"
    session = call.header("x-session-affinity").partition(":")[0]
    assert session
    assert call.json()["prompt_cache_key"].partition(":")[0] == session


def test_an_edit_made_with_openclaw_survives_and_the_comments_come_back(case: Case) -> None:
    before = read(case.has("openclaw"))
    case.wiring.wire(case.adapter, replace(ENDPOINT, api_key="sk-proxy-key", protocol="messages"))
    assert case.openclaw.config.stat().st_mode & 0o077 == 0
    moved = replace(ENDPOINT, base_url="http://127.0.0.1:31000", model_id="other")
    assert case.wiring.wire(case.adapter, moved).done == "wired"
    assert not has_comments(case.openclaw.config.read_bytes())
    case.openclaw.run("config", "set", "gateway.port", "19001", "--strict-json")
    assert case.wiring.status("openclaw") == "wired"
    case.wiring.unwire("openclaw")
    left = case.openclaw.config.read_bytes()
    after = read(left)
    assert b"metaclaw" not in left
    assert b"hand comments are legal JSON5" in left
    assert get(after, ("gateway", "port")) == 19001
    assert get(after, ALLOW) == ["openai/gpt-5.4"], "OpenClaw's own limit stays"
    assert get(after, ("models",)) == get(before, ("models",))
    assert case.validated()["valid"] is True


@pytest.mark.parametrize("protocol", ["messages", "responses"])
def test_what_we_write_without_its_program_is_valid_for_openclaw(case: Case, protocol: Any) -> None:
    before = case.has("openclaw-allowlist")
    alone = Adapter({**case.openclaw.env, "PATH": "/nowhere"})
    assert case.wiring.wire(alone, replace(ENDPOINT, protocol=protocol)).done == "wired"
    assert case.validated() == {"valid": True, "path": str(case.openclaw.config), "warnings": []}
    case.wiring.unwire("openclaw")
    assert case.openclaw.config.read_bytes() == before


def test_a_configuration_that_openclaw_refuses_is_not_touched(case: Case) -> None:
    case.has("openclaw")
    case.openclaw.config.write_text('{ bogus: 1, gateway: { mode: "local" } }', encoding="utf-8")
    with pytest.raises(Refused, match="Unrecognized key"):
        case.wiring.wire(case.adapter, ENDPOINT)
    assert case.openclaw.config.read_text(encoding="utf-8") == '{ bogus: 1, gateway: { mode: "local" } }'
    assert case.wiring.unwire("openclaw").done == "not_wired"


@pytest.mark.parametrize("name", ["OPENCLAW_HOME", "OPENCLAW_CONFIG_PATH"])
def test_we_look_for_the_configuration_where_openclaw_does(case: Case, name: str) -> None:
    place = "~/elsewhere" + ("/mine.json5" if name.endswith("PATH") else "")
    said = json.loads(case.openclaw.run("config", "file", "--json", env={name: place}))
    assert config_path({**case.openclaw.env, name: place}, Path.home())[1] == Path(said["path"])
