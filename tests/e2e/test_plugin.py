"""The plugin's zip in the real OpenClaw, from the packed file to its removal."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import tools
from tests.conftest import unused_port
from tests.e2e.doorkeeper import Doorkeeper, Knock
from tests.e2e.openclaw import OpenClaw
from tests.e2e.program import MetaClaw
from tests.e2e.waiting import until
from tests.scripted_upstream import Recorded, ScriptedUpstream

pytestmark = [pytest.mark.openclaw, pytest.mark.usefixtures("openclaw_tools")]

PACK = tools.ROOT / "extensions" / "metaclaw-openclaw" / "pack.py"
ID = "metaclaw-openclaw"
OWN_HEADERS = {"x-session-id", "x-turn-type", "x-user-id", "x-workspace-id", "x-memory-scope", "x-metaclaw-client"}
SETTINGS = """\
mode: skills_only
claw_type: none
llm:
  provider: custom
  protocol: chat
  api_base: {base_url}
  api_key: sk-upstream-key
  model_id: scripted-model
proxy:
  port: {port}
  api_key: sk-door-key
skills:
  enabled: false
  auto_evolve: false
"""
PROVIDER = """\
      metaclaw: {
        baseUrl: "%s/v1",
        apiKey: "sk-door-key",
        api: "openai-completions",
        models: [
          { id: "scripted-model", name: "MetaClaw", reasoning: false, input: ["text"],
            contextWindow: 128000, maxTokens: 8192 },
        ],
      },
"""


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory, openclaw_tools: None) -> Path:
    """The folder with the archives, built as `make plugin` does, without the wheel."""
    if not (PACK.parent / "node_modules").exists():
        pytest.skip("the plugin's compiler is not installed: make tools")
    return pack(tmp_path_factory.mktemp("dist"))


def pack(out: Path) -> Path:
    """Pack into a folder."""
    node = tools.node_bin() / "node"
    subprocess.run([sys.executable, str(PACK), "--node", str(node), "--out", str(out), "--without-wheel"], check=True)
    return out


@dataclass
class Story:
    """What happened."""

    openclaw: OpenClaw
    metaclaw: MetaClaw
    door: Doorkeeper
    upstream: ScriptedUpstream
    printed: dict[str, str] = field(default_factory=dict)
    calls: dict[str, list[Knock]] = field(default_factory=dict)
    closed: list[Knock] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    elsewhere: list[Recorded] = field(default_factory=list)
    left: dict[str, Any] = field(default_factory=dict)

    def during(self, name: str, text: str, session: str = "main") -> str:
        """Say something, and keep the model calls it took."""
        before = len(self.door.knocks)
        answer = self.openclaw.say(text, session)
        self.calls[name] = [k for k in self.door.knocks[before:] if k.path.endswith("/chat/completions")]
        return answer


@pytest.fixture(scope="module")
def story(provider: ScriptedUpstream, packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Everything, once."""
    openclaw = OpenClaw(tmp_path_factory.mktemp("home"), unused_port())
    metaclaw = MetaClaw(openclaw.home / "metaclaw-state", unused_port(), openclaw.env)
    metaclaw.configure(SETTINGS.format(base_url=provider.base_url, port=metaclaw.port))
    metaclaw.start_gateway()
    try:
        with Doorkeeper(metaclaw.url) as door:
            told = Story(openclaw, metaclaw, door, provider)
            install(told, packed)
            openclaw.start()
            try:
                tell(told)
                yield told
            finally:
                openclaw.stop()
    finally:
        metaclaw.stop_gateway()


def install(told: Story, packed: Path) -> None:
    """Unzip, enable, allow."""
    openclaw = told.openclaw
    openclaw.configure(told.upstream.base_url)
    text = openclaw.config.read_text(encoding="utf-8")
    text = text.replace("    providers: {\n", "    providers: {\n" + PROVIDER % told.door.url)
    text = text.replace('primary: "mine/scripted-model"', 'primary: "metaclaw/scripted-model"')
    openclaw.config.write_text(text.replace('every: "0m"', 'every: "12h"'), encoding="utf-8")
    with zipfile.ZipFile(packed / "metaclaw-plugin.zip") as archive:
        archive.extractall(openclaw.home / ".openclaw" / "extensions")
    told.printed["enable"] = openclaw.run("plugins", "enable", ID)
    openclaw.run("config", "set", f"plugins.entries.{ID}.hooks.allowConversationAccess", "true")
    told.printed["inspect"] = openclaw.run("plugins", "inspect", ID, "--runtime", "--json")


def tell(told: Story) -> None:
    """Two conversations, a tool, a heartbeat."""
    told.upstream.tool("which files", "ls", '{"path":"."}', then="Two files.")
    told.during("first", "My goat is called Zanzibar.")
    told.during("tool", "Tell me which files there are.")
    before = len(told.door.knocks)
    told.openclaw.run(
        "system", "event", "--text", "Look after the goat.", "--mode", "now", "--session-key", "agent:main:main"
    )
    until(lambda: [k for k in told.door.knocks[before:] if k.path.endswith("/chat/completions")], "the heartbeat")
    told.calls["heartbeat"] = [k for k in told.door.knocks[before:] if k.path.endswith("/chat/completions")]
    told.during("new", "/new")
    told.during("second", "What is my goat called?")
    told.closed = [k for k in told.door.knocks if k.path.endswith("/close")]
    told.sessions = told.metaclaw.request("GET", "/v1/sessions")["data"]
    without_metaclaw(told)
    remove(told)


def without_metaclaw(told: Story) -> None:
    """MetaClaw's address is dead; another provider answers."""
    told.door.open = False
    openclaw = told.openclaw
    before = openclaw.output().count("[reload]")
    openclaw.run("config", "set", "agents.defaults.model.primary", "mine/scripted-model")
    until(lambda: openclaw.output().count("[reload]") > before, "OpenClaw to reload its configuration")
    seen = len(told.upstream.requests)
    told.printed["alone"] = openclaw.say("Are you there?", "alone")
    openclaw.say("/new", "alone")
    openclaw.say("/new", "alone")
    told.elsewhere = [call for call in told.upstream.requests[seen:] if call.wire == "chat"]


def remove(told: Story) -> None:
    """As the README says."""
    told.openclaw.run("plugins", "disable", ID)
    told.openclaw.run("config", "unset", f"plugins.entries.{ID}")
    shutil.rmtree(told.openclaw.home / ".openclaw" / "extensions" / ID)
    told.left = told.openclaw.values()


def seen(calls: list[Knock], header: str) -> set[str]:
    """The values of a header in these calls."""
    return {call.header(header) for call in calls}


def test_it_is_packed_the_same_way_twice(packed: Path, tmp_path: Path) -> None:
    pack(tmp_path)
    for path in packed.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


def test_it_loads_without_complaints_that_nobody_can_act_on(story: Story) -> None:
    found = json.loads(story.printed["inspect"])
    assert found["plugin"]["status"] == "loaded"
    complaints = [one["message"] for one in found.get("diagnostics", [])]
    assert [line for line in complaints if "can't verify where this plugin came from" not in line] == []
    assert f"{ID}:" not in story.openclaw.output()


def test_every_model_call_says_whose_conversation_it_belongs_to(story: Story) -> None:
    first = story.calls["first"] + story.calls["tool"]
    assert len(story.calls["first"]) == 1 and len(story.calls["tool"]) == 2
    assert len(seen(first, "x-session-id")) == 1 and "" not in seen(first, "x-session-id")
    assert seen(first, "x-user-id") == {"owner"}
    assert seen(first, "x-workspace-id") == {"main"}
    assert seen(first, "x-turn-type") == {"main"}
    assert story.calls["new"] == []


def test_a_heartbeat_is_a_side_call_of_its_session(story: Story) -> None:
    assert seen(story.calls["heartbeat"], "x-turn-type") == {"side"}
    assert seen(story.calls["heartbeat"], "x-session-id") == seen(story.calls["first"], "x-session-id")


def test_new_closes_the_session_and_begins_another(story: Story) -> None:
    (one,), (two,) = seen(story.calls["first"], "x-session-id"), seen(story.calls["second"], "x-session-id")
    assert one != two
    assert [(knock.path, knock.status) for knock in story.closed] == [(f"/v1/sessions/{one}/close", 200)]
    ended = {session["id"]: session["end_reason"] for session in story.sessions}
    assert ended == {one: "closed", two: ""}


def test_only_main_turns_are_turns_of_the_session(story: Story) -> None:
    assert {session["turns"] for session in story.sessions} == {2, 1}
    assert {session["claw"] for session in story.sessions} == {"openclaw"}


def test_nothing_is_told_to_another_provider(story: Story) -> None:
    assert story.elsewhere
    for call in story.elsewhere:
        assert [name for name, _ in call.headers if name.lower() in OWN_HEADERS] == []


def test_with_metaclaw_away_the_agent_answers_and_one_line_is_logged(story: Story) -> None:
    assert story.printed["alone"] == "Understood."
    assert story.openclaw.output().count("MetaClaw: no end of the session") == 1


def test_removed_it_leaves_nothing_of_its_own_in_the_configuration(story: Story) -> None:
    assert story.left.get("plugins", {}) in ({}, {"entries": {}})
    assert ID not in json.dumps(story.left)
