"""The main job, whole: OpenClaw talks through MetaClaw, is helped by skills, and teaches it a new one."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import unused_port
from tests.e2e.openclaw import OpenClaw
from tests.e2e.program import MetaClaw
from tests.e2e.waiting import until
from tests.scripted_upstream import Recorded, Reply, Rule, ScriptedUpstream, ToolCall
from tests.scripted_upstream.reading import read

pytestmark = [pytest.mark.openclaw, pytest.mark.usefixtures("openclaw_tools")]

QUESTION = "The nightly export to the Zanzibar ledger keeps failing half way: how do I debug this flaky failure?"
ANSWER = "Start from the first failing record and narrow it down step by step."
LOOK = "Please look at which files are in the workspace before we go on with the Zanzibar ledger export."
LESSON = "That worked: for the Zanzibar ledger always freeze the batch number before the export, or it fails half way."
THANKS = "Noted, freezing the batch number first."
AGAIN = "I have to run the Zanzibar ledger export again tonight, what must I do before the export?"
OWN_SKILL = (
    "skills", "add", "flaky-failures", "--category", "coding", "--body", "-",
    "--description", "Use to debug a flaky failure: a job that keeps failing now and then, or half way.",
)  # fmt: skip
OWN_BODY = "# Flaky failures\n\n1. Find the first run that failed.\n2. Change one thing at a time.\n"
RELOADED = "[reload]"
SETUP = (
    "setup", "--non-interactive", "--claw", "openclaw", "--mode", "skills_only", "--provider", "custom",
    "--model", "scripted-model", "--api-key-stdin", "--no-memory",
)  # fmt: skip
NEW_SKILL = {
    "action": "add",
    "name": "zanzibar-ledger-export",
    "description": "Use when exporting to the Zanzibar ledger, or when that export fails half way.",
    "category": "automation",
    "body": "# Zanzibar ledger export\n\n1. Freeze the batch number before the export.\n"
    "2. Run the export.\n3. Compare the number of records on both sides.\n",
    "edits": [],
    "reason": "The person said how the export succeeds.",
    "quotes": [{"turn": 3, "text": "always freeze the batch number before the export"}],
}


@dataclass
class Story:
    """What happened, for the tests below to look at."""

    upstream: ScriptedUpstream
    openclaw: OpenClaw
    metaclaw: MetaClaw
    config_before: bytes = b""
    direct: list[Recorded] = field(default_factory=list)
    one: list[Recorded] = field(default_factory=list)
    two: list[Recorded] = field(default_factory=list)
    replies: dict[str, str] = field(default_factory=dict)
    half_way: str = ""
    wired: dict[str, Any] = field(default_factory=dict)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)
    skills: list[dict[str, Any]] = field(default_factory=list)
    started_again: str = ""
    same_when_started_again: bool = False
    config_after: bytes = b""
    last: list[Recorded] = field(default_factory=list)


def script(upstream: ScriptedUpstream) -> None:
    """What the model says; the first matching rule answers."""
    upstream.rule("Zanzibar ledger keeps failing", ANSWER)
    upstream.rule(
        "which files are in the workspace", Reply(tool_calls=(ToolCall("ls", '{"path":"."}'),)), "I see them."
    )
    upstream.rule("always freeze the batch number", THANKS)
    upstream.rule("again tonight", "Freeze the batch number first.")
    upstream.rule("look after the skill library", json.dumps({"proposals": [NEW_SKILL]}), where="system", tools=False)


@pytest.fixture(scope="module")
def story(
    provider: ScriptedUpstream, tmp_path_factory: pytest.TempPathFactory, openclaw_tools: None
) -> Iterator[Story]:
    """Everything, once: it takes a minute or two."""
    openclaw = OpenClaw(tmp_path_factory.mktemp("home"), unused_port())
    metaclaw = MetaClaw(openclaw.home / "metaclaw-state", unused_port(), openclaw.env)
    told = Story(provider, openclaw, metaclaw)
    script(provider)
    told.config_before = openclaw.configure(provider.base_url)
    openclaw.start()
    try:
        tell(told)
        yield told
    finally:
        metaclaw.run("stop", ok=False)
        openclaw.stop()


def tell(told: Story) -> None:
    """The chapters, in order."""
    told.replies["direct"] = told.openclaw.say(QUESTION, "direct")
    told.direct = told.upstream.calls("chat")
    set_up(told)
    first_session(told)
    second_session(told)
    part(told)


def set_up(told: Story) -> None:
    """`metaclaw setup`, `metaclaw start`, twice, and OpenClaw has read its new configuration."""
    with reloading(told.openclaw):
        where = ("--api-base", told.upstream.base_url, "--port", str(told.metaclaw.port))
        told.metaclaw.run(*SETUP, *where, given="sk-up\n")
        told.metaclaw.run(*OWN_SKILL, given=OWN_BODY)
        told.metaclaw.run("config", "skills.evolve.trial_share", "1")  # else half of the sessions go without
        told.metaclaw.run("start")
    told.wired = told.openclaw.values()
    wired = told.openclaw.config.read_bytes()
    told.started_again = told.metaclaw.run("start").stdout
    told.same_when_started_again = told.openclaw.config.read_bytes() == wired


def part(told: Story) -> None:
    """`metaclaw uninstall`; OpenClaw goes on without it."""
    with reloading(told.openclaw):
        told.metaclaw.run("uninstall", "--yes")
    told.config_after = told.openclaw.config.read_bytes()
    seen = len(told.upstream.requests)
    told.replies["after"] = told.openclaw.say(QUESTION, "after")
    told.last = [call for call in told.upstream.requests[seen:] if call.wire == "chat"]


@contextmanager
def reloading(openclaw: OpenClaw) -> Iterator[None]:
    """Do something to OpenClaw's configuration, and wait until it took notice."""
    before = openclaw.output().count(RELOADED)
    yield
    until(lambda: openclaw.output().count(RELOADED) > before, "OpenClaw to reload its configuration")


def first_session(told: Story) -> None:
    """A question, a tool, a lesson; then the session is closed and a skill is written."""
    seen = len(told.upstream.requests)
    told.replies["question"] = told.openclaw.say(QUESTION, "one")
    told.replies["look"] = told.openclaw.say(LOOK, "one")
    told.replies["lesson"], told.half_way = say_and_hold(told, LESSON)
    told.one = [call for call in told.upstream.requests[seen:] if call.wire == "chat"]
    told.sessions = told.metaclaw.request("GET", "/v1/sessions")["data"]
    session = told.sessions[0]["id"]
    told.turns = told.metaclaw.request("GET", f"/v1/sessions/{session}/turns")["data"]
    told.metaclaw.request("POST", f"/v1/sessions/{session}/close", {})
    skill = told.metaclaw.home / "skills" / str(NEW_SKILL["name"]) / "SKILL.md"
    until(skill.exists, "a skill to be written from the session")
    told.skills = told.metaclaw.json("skills", "list")
    told.journal = messages_in(told.metaclaw.home / "journal.sqlite3")


def messages_in(journal: Path) -> list[str]:
    """Every message body the journal holds."""
    with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True)) as database:
        return [bytes(body).decode() for (body,) in database.execute("SELECT body FROM messages")]


def say_and_hold(told: Story, text: str) -> tuple[str, str]:
    """Say something whose answer stops half way until OpenClaw has the first half; returns answer and first half."""
    go_on, answers = threading.Event(), list[str]()
    held = Rule(text, [Reply(text=THANKS, hold=go_on, hold_after=3)])
    told.upstream.script.rules.insert(0, held)
    before = len(told.openclaw.streamed())
    turn = threading.Thread(target=lambda: answers.append(told.openclaw.say(text, "one")))
    turn.start()
    try:
        until(lambda: "freezing" in told.openclaw.streamed()[before:], "the first half of the answer in OpenClaw")
        half_way = told.openclaw.streamed()[before:]
    finally:
        go_on.set()
        turn.join(120)
    return answers[0], half_way


def second_session(told: Story) -> None:
    """A new conversation on the same matter."""
    seen = len(told.upstream.requests)
    told.replies["again"] = told.openclaw.say(AGAIN, "two")
    told.two = [call for call in told.upstream.requests[seen:] if call.wire == "chat" and call.json().get("tools")]


def said(call: Recorded) -> str:
    """The newest message of the person in a request, with whatever was put into it."""
    return read("chat", call.json()).user_text


def block(call: Recorded) -> str:
    """What MetaClaw put into the newest message."""
    return said(call)[said(call).index("<metaclaw-recall") :]


def untouched(call: Recorded) -> dict[str, Any]:
    """What MetaClaw must leave alone: everything but the conversation and the model's name."""
    body: dict[str, Any] = call.json()
    return {name: value for name, value in body.items() if name not in ("messages", "model", "prompt_cache_key")}


def system(call: Recorded) -> str:
    """The system prompt, with one name for the provider, which OpenClaw writes into it."""
    return str(call.json()["messages"][0]["content"]).replace("metaclaw/scripted-model", "mine/scripted-model")


def test_answers_reach_openclaw(story: Story) -> None:
    assert story.replies == {
        "direct": ANSWER,
        "question": ANSWER,
        "look": "I see them.",
        "lesson": THANKS,
        "again": "Freeze the batch number first.",
        "after": ANSWER,
    }


def test_an_answer_reaches_openclaw_while_it_is_being_written(story: Story) -> None:
    assert "freezing" in story.half_way and "number" not in story.half_way


def test_a_skill_is_recalled_into_the_newest_user_message(story: Story) -> None:
    first = story.one[0]
    recalled = story.turns[0]["recalled"]
    assert "flaky-failures" in [item["name"] for item in recalled]
    assert OWN_BODY.splitlines()[-1] in said(first)
    assert QUESTION in said(first)
    assert all(item["name"] in said(first) for item in recalled)
    assert said(first).index(QUESTION) < said(first).index(block(first))
    assert "Runtime:" not in block(first) and said(first).endswith(block(first))


def test_system_prompt_and_tools_are_untouched(story: Story) -> None:
    direct, first = story.direct[0], story.one[0]
    assert system(first) == system(direct)
    assert len(untouched(first)["tools"]) > 10
    assert untouched(first) == untouched(direct)


def test_what_was_recalled_once_is_in_every_later_request_with_the_same_bytes(story: Story) -> None:
    for later in story.one[1:]:
        assert block(story.one[0]) in read("chat", later.json()).all_text


def test_the_upstream_gets_the_key_and_the_model_of_the_configuration(story: Story) -> None:
    for call in story.one:
        assert call.header("authorization") == "Bearer sk-up"
        assert call.json()["model"] == "scripted-model"


def test_the_journal_holds_what_was_said_and_nothing_of_ours(story: Story) -> None:
    assert [turn["user_text"] for turn in story.turns] == [QUESTION, LOOK, LESSON]
    assert [turn["answer_text"] for turn in story.turns] == [ANSWER, "I see them.", THANKS]
    assert [turn["status"] for turn in story.turns] == ["ok", "ok", "ok"]
    assert [turn["calls"] for turn in story.turns] == [1, 2, 1]
    assert any(QUESTION in message for message in story.journal)
    assert not any("<skill name=" in message for message in story.journal)


def test_one_conversation_is_one_session(story: Story) -> None:
    assert len(story.sessions) == 1
    assert story.sessions[0]["turns"] == 3
    assert story.sessions[0]["claw"] == "openclaw"


def test_the_end_of_the_session_writes_a_skill(story: Story) -> None:
    written = [skill for skill in story.skills if skill["name"] == NEW_SKILL["name"]]
    assert len(written) == 1
    assert written[0]["source"] == "learned"


def test_the_next_session_recalls_the_new_skill(story: Story) -> None:
    assert AGAIN in said(story.two[0])
    assert "Freeze the batch number before the export." in said(story.two[0])


def test_openclaw_was_pointed_at_the_gateway_and_kept_what_was_its_own(story: Story) -> None:
    provider = story.wired["agents"]["defaults"]["model"]["primary"].split("/")[0]
    entry = story.wired["models"]["providers"][provider]
    assert entry["baseUrl"].startswith(story.metaclaw.url)
    assert entry["models"][0]["contextWindow"] == 128000
    assert story.wired["models"]["providers"]["mine"]["baseUrl"] == story.upstream.base_url
    assert story.wired["agents"]["defaults"]["sandbox"] == {"mode": "off"}
    assert "allow" not in story.wired.get("plugins", {})


def test_a_second_start_changes_nothing(story: Story) -> None:
    assert "already" in story.started_again
    assert story.same_when_started_again


def test_uninstall_leaves_openclaws_configuration_byte_for_byte(story: Story) -> None:
    assert story.config_after == story.config_before
    assert not story.metaclaw.home.exists()


def test_openclaw_talks_to_its_own_provider_again_after_that(story: Story) -> None:
    assert story.last[-1].header("authorization") == "Bearer sk-upstream-key"
    assert said(story.last[-1]).count("SKILL") == 0
