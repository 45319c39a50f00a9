"""The plugin's zip in the real OpenClaw, from the packed file to its removal."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import unused_port
from tests.e2e.doorkeeper import Doorkeeper, Knock
from tests.e2e.openclaw import OpenClaw
from tests.e2e.plugin import pack
from tests.e2e.program import MetaClaw
from tests.e2e.waiting import until
from tests.scripted_upstream import Recorded, ScriptedUpstream

pytestmark = [pytest.mark.openclaw, pytest.mark.usefixtures("openclaw_tools")]

ID = "metaclaw-openclaw"
FACT = "My goat is called Zanzibar."
QUESTION = "What is my goat called?"
OTHER_FACT = "My parrot is called Quibble."
OTHER_QUESTION = "What is my parrot called?"
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
memory:
  enabled: true
  embedder: none
  auto_extract: false
  port: {memory_port}
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
    memories: list[dict[str, Any]] = field(default_factory=list)
    asked: dict[str, Recorded] = field(default_factory=dict)
    elsewhere: list[Recorded] = field(default_factory=list)
    own_calls: list[Knock] = field(default_factory=list)
    left: dict[str, Any] = field(default_factory=dict)

    def during(self, name: str, text: str, session: str = "main") -> str:
        """Say something, and keep the model calls it took."""
        before = len(self.door.knocks)
        answer = self.openclaw.say(text, session)
        self.calls[name] = self.model_calls(before)
        return answer

    def model_calls(self, since: int) -> list[Knock]:
        """The model calls among the knocks from that one on."""
        return [knock for knock in self.door.knocks[since:] if knock.path.endswith("/chat/completions")]


@pytest.fixture(scope="module")
def story(provider: ScriptedUpstream, packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Everything, once."""
    openclaw = OpenClaw(tmp_path_factory.mktemp("home"), unused_port())
    metaclaw = MetaClaw(openclaw.home / "metaclaw-state", unused_port(), openclaw.env)
    metaclaw.configure(SETTINGS.format(base_url=provider.base_url, port=metaclaw.port, memory_port=unused_port()))
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
    """Two conversations, a tool, a heartbeat; then turns that MetaClaw's gateway doesn't see."""
    told.upstream.tool("which files", "ls", '{"path":"."}', then="Two files.")
    told.during("first", FACT)
    told.during("tool", "Tell me which files there are.")
    before = len(told.door.knocks)
    beat = ("system", "event", "--text", "Look after the goat.", "--mode", "now", "--session-key", "agent:main:main")
    told.openclaw.run(*beat)
    until(lambda: told.model_calls(before), "the heartbeat")
    told.calls["heartbeat"] = told.model_calls(before)
    told.during("new", "/new")
    until(lambda: remembered(told, "goat"), "the first session to be remembered")
    told.during("second", QUESTION)
    told.asked["second"] = agent_call(told)
    told.closed = [k for k in told.door.knocks if k.path.endswith("/close")]
    told.sessions = told.metaclaw.request("GET", "/v1/sessions")["data"]
    told.memories = remembered(told, "goat")
    beside_metaclaw(told)
    without_metaclaw(told)
    remove(told)


def remembered(told: Story, words: str) -> list[dict[str, Any]]:
    """What memory finds."""
    found: list[dict[str, Any]] = told.metaclaw.request("GET", f"/v1/memory/search?q={words}")
    return found


def agent_call(told: Story) -> Recorded:
    """The agent's last request to the provider."""
    return [call for call in told.upstream.calls("chat") if call.json().get("tools")][-1]


def command(told: Story, line: str) -> str:
    """Type a command in the control page's chat; returns what it answers."""
    key = "agent:main:page"
    wanted = {"sessionKey": key, "message": line, "idempotencyKey": line}
    told.openclaw.run("gateway", "call", "chat.send", "--params", json.dumps(wanted), "--json")
    history = ("gateway", "call", "chat.history", "--params", json.dumps({"sessionKey": key}), "--json")

    def answered() -> str:
        texts = [text_of(message) for message in json.loads(told.openclaw.run(*history))["messages"]]
        return texts[texts.index(line) + 1] if line in texts[:-1] else ""

    return until(answered, f"an answer to {line}")


def text_of(message: dict[str, Any]) -> str:
    """What a message of the transcript says."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def beside_metaclaw(told: Story) -> None:
    """Another provider answers; the plugin itself recalls and hands in, and the agent and the person ask memory."""
    openclaw = told.openclaw
    before = openclaw.output().count("[reload]")
    openclaw.run("config", "set", "agents.defaults.model.primary", "mine/scripted-model")
    until(lambda: openclaw.output().count("[reload]") > before, "OpenClaw to reload its configuration")
    knocks, seen = len(told.door.knocks), len(told.upstream.requests)
    openclaw.say(OTHER_FACT, "beside")
    until(lambda: remembered(told, "parrot"), "the turn to be handed in by the plugin")
    openclaw.say("/new", "beside")
    openclaw.say(OTHER_QUESTION, "beside")
    told.asked["beside"] = agent_call(told)
    call = {"id": "metaclaw_memory_search", "args": {"query": "parrot"}}
    told.upstream.tool("look it up", "tool_call", json.dumps(call), then="Found.")
    openclaw.say("Please look it up in your memory.", "beside")
    told.asked["tool"] = agent_call(told)
    for line in ("/remember The parrot likes figs.", "/recall figs", "/memory", "/skills"):
        told.printed[line] = command(told, line)
    told.elsewhere = [call for call in told.upstream.requests[seen:] if call.wire == "chat"]
    told.own_calls = told.door.knocks[knocks:]
    told.printed["plugins"] = openclaw.run("plugins", "list", "--json")


def without_metaclaw(told: Story) -> None:
    """MetaClaw's address is dead; another provider answers."""
    told.door.open = False
    openclaw = told.openclaw
    for _ in range(2):
        told.printed["alone"] = openclaw.say("Are you there?", "alone")
        openclaw.say("/new", "alone")


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


def test_what_was_said_in_one_session_is_recalled_in_the_next_exactly_once(story: Story) -> None:
    asked = story.asked["second"].body.decode()
    assert asked.count("Zanzibar") == 1
    seen = story.door.knocks[: story.door.knocks.index(story.own_calls[0])]
    assert not [knock.path for knock in seen if knock.path.endswith(("/retrieve", "/buffer_turn"))]


def test_a_heartbeat_is_not_remembered(story: Story) -> None:
    assert story.memories
    assert not [one for one in story.memories if "Look after" in one["content"]]


def test_turns_that_the_gateway_does_not_see_are_recalled_into_and_remembered_by_the_plugin(story: Story) -> None:
    assert story.asked["beside"].body.decode().count("Quibble") == 1
    paths = [knock.path for knock in story.own_calls]
    assert paths.count("/v1/memory/buffer_turn") == 3
    assert "/v1/memory/flush_session" in paths


def test_the_agent_and_the_person_can_ask_memory(story: Story) -> None:
    assert "Quibble" in story.asked["tool"].json()["messages"][-2]["content"]
    assert story.printed["/remember The parrot likes figs."].startswith("Remembered (mem_")
    assert "The parrot likes figs." in story.printed["/recall figs"]
    assert "memories" in story.printed["/memory"]
    assert story.printed["/skills"]


def test_the_memory_plugin_that_was_there_is_undisturbed(story: Story) -> None:
    listed = {one["id"]: one for one in json.loads(story.printed["plugins"])["plugins"]}
    assert listed["memory-core"]["status"] == "loaded"
    assert "slots" not in story.left.get("plugins", {})


def test_nothing_is_told_to_another_provider(story: Story) -> None:
    assert story.elsewhere
    for call in story.elsewhere:
        assert [name for name, _ in call.headers if name.lower() in OWN_HEADERS] == []


def test_with_metaclaw_away_the_agent_answers_and_one_line_is_logged(story: Story) -> None:
    assert story.printed["alone"] == "Understood."
    assert story.openclaw.output().count("MetaClaw: closing a session failed") == 1
    assert story.openclaw.output().count("MetaClaw: memory failed") == 1


def test_removed_it_leaves_nothing_of_its_own_in_the_configuration(story: Story) -> None:
    assert story.left.get("plugins", {}) in ({}, {"entries": {}})
    assert ID not in json.dumps(story.left)
