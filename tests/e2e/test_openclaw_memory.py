"""Memory, whole: told to the real OpenClaw in one session, known in the next, forgotten when asked."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import unused_port
from tests.e2e.openclaw import OpenClaw
from tests.e2e.program import MetaClaw
from tests.e2e.waiting import until
from tests.scripted_upstream import Recorded, ScriptedUpstream
from tests.scripted_upstream.reading import read

pytestmark = [pytest.mark.openclaw, pytest.mark.usefixtures("openclaw_tools")]

TOLD = "By the way, my sister Odile moved to Porto in March and now rows on the Douro every Saturday."
ASKED = "What does my sister Odile do on Saturdays, and in which town?"
LATER = "Odile has an exam in maritime law on the ninth of June."
AGAIN = "When is the exam of Odile in maritime law?"
FACT = "The user's sister Odile lives in Porto and rows on the Douro every Saturday."
QUOTE = "my sister Odile moved to Porto in March and now rows on the Douro every Saturday"
EXTRACTED = {
    "facts": [
        {
            "turn": 1, "said_by": "user", "quote": QUOTE, "kind": "semantic", "subject": "Odile", "content": FACT,
            "change": "new", "known": None,
        }
    ],
    "summary": "The user told of their sister Odile.",
}  # fmt: skip
SETUP = (
    "setup", "--non-interactive", "--claw", "openclaw", "--mode", "skills_only", "--provider", "custom",
    "--model", "scripted-model", "--api-key-stdin", "--memory",
)  # fmt: skip


@dataclass
class Story:
    """What happened, for the tests below to look at."""

    upstream: ScriptedUpstream
    openclaw: OpenClaw
    metaclaw: MetaClaw
    status: str = ""
    memories: list[dict[str, Any]] = field(default_factory=list)
    second: list[Recorded] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    without: str = ""
    after: list[dict[str, Any]] = field(default_factory=list)
    third: list[Recorded] = field(default_factory=list)
    forgotten: str = ""
    processes: list[int] = field(default_factory=list)
    left: bool = True


@pytest.fixture(scope="module")
def story(
    provider: ScriptedUpstream, tmp_path_factory: pytest.TempPathFactory, openclaw_tools: None
) -> Iterator[Story]:
    openclaw = OpenClaw(tmp_path_factory.mktemp("home"), unused_port())
    metaclaw = MetaClaw(openclaw.home / "metaclaw-state", unused_port(), openclaw.env)
    told = Story(provider, openclaw, metaclaw)
    provider.rule("long-term memory of a personal assistant", json.dumps(EXTRACTED), where="system", tools=False)
    provider.rule("look after the skill library", json.dumps({"proposals": []}), where="system", tools=False)
    openclaw.configure(provider.base_url)
    openclaw.start()
    try:
        tell(told)
        yield told
    finally:
        metaclaw.run("stop", ok=False)
        openclaw.stop()


def tell(told: Story) -> None:
    """One session is told something, the next one asks; the service dies in between; something is forgotten."""
    metaclaw, openclaw = told.metaclaw, told.openclaw
    where = ("--api-base", told.upstream.base_url, "--port", str(metaclaw.port))
    metaclaw.run(*SETUP, *where, given="sk-up\n")
    for key, value in (("memory.port", str(unused_port())), ("memory.timeout_ms", "3000"), ("memory.embedder", "none")):
        metaclaw.run("config", key, value)
    metaclaw.run("start")
    until(lambda: sidecar(metaclaw) != {}, "the memory service to run")
    told.status = metaclaw.run("status").stdout
    openclaw.say(TOLD, "one")
    metaclaw.request("POST", f"/v1/sessions/{newest(metaclaw)}/close", {})
    until(lambda: listed(metaclaw), "a fact to be drawn from the session")
    told.memories = listed(metaclaw)
    told.second = heard(told, ASKED, "two")
    told.turns = metaclaw.request("GET", f"/v1/sessions/{newest(metaclaw)}/turns")["data"]
    before = sidecar(metaclaw)["pid"]
    os.kill(before, signal.SIGKILL)
    told.without = openclaw.say(LATER, "three")
    until(lambda: sidecar(metaclaw).get("pid") not in (None, before), "the memory service to run again")
    until(lambda: found(metaclaw, AGAIN), "the turn of meanwhile to be handed in")
    told.after = found(metaclaw, AGAIN)
    told.forgotten = metaclaw.run("memory", "forget", told.memories[0]["memory_id"], "--yes").stdout
    told.third = heard(told, ASKED, "four")
    told.processes = [sidecar(metaclaw)["pid"]]
    metaclaw.run("stop")
    told.left = any(alive(pid) for pid in told.processes)


def heard(told: Story, text: str, session: str) -> list[Recorded]:
    """Say something; the main calls the model got for it."""
    seen = len(told.upstream.requests)
    told.openclaw.say(text, session)
    calls = [call for call in told.upstream.requests[seen:] if call.wire == "chat"]
    return [call for call in calls if call.json().get("tools")]


def newest(metaclaw: MetaClaw) -> str:
    return str(metaclaw.request("GET", "/v1/sessions")["data"][0]["id"])


def listed(metaclaw: MetaClaw) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = metaclaw.json("memory", "list", "--type", "semantic")["memories"]
    return found


def found(metaclaw: MetaClaw, query: str) -> list[dict[str, Any]]:
    done = metaclaw.run("memory", "search", query, "--json", ok=False)
    hits = json.loads(done.stdout) if done.returncode == 0 else []
    return [hit for hit in hits if "maritime law" in hit["content"]]


def sidecar(metaclaw: MetaClaw) -> dict[str, Any]:
    path = Path(metaclaw.home) / "run" / "sidecar.json"
    try:
        run: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return run if alive(run["pid"]) else {}


def alive(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def said(call: Recorded) -> str:
    """The newest message of the person in a request, with whatever was put into it."""
    return read("chat", call.json()).user_text


def test_status_says_that_memory_is_on(story: Story) -> None:
    (line,) = [line for line in story.status.splitlines() if line.split()[:1] == ["memory"]]
    assert line.split()[1] == "on" and "kept as they were said" not in line


def test_one_fact_was_drawn_from_the_persons_words_alone(story: Story) -> None:
    (memory,) = story.memories
    assert (memory["content"], memory["subject"], memory["origin"]) == (FACT, "Odile", "extracted")
    assert memory["scope_id"] == "default" and memory["source_session_id"]


def test_the_next_session_knows_it_in_the_newest_message_and_nowhere_else(story: Story) -> None:
    call = story.second[0]
    assert FACT in said(call) and ASKED in said(call)
    whole = json.dumps(call.json(), ensure_ascii=False)
    assert whole.count(FACT) == 1
    assert all(FACT not in json.dumps(m) for m in call.json()["messages"] if m["role"] == "system")


def test_the_turn_shows_what_was_recalled_into_it(story: Story) -> None:
    items = [item for item in story.turns[-1]["recalled"] if item["kind"] == "memory"]
    assert story.memories[0]["memory_id"] in [item["name"] for item in items]
    assert all(item["score"] >= 0.3 and item["tokens"] > 0 for item in items)
    assert "metaclaw-recall" not in story.turns[-1]["user_text"]


@pytest.mark.skipif(os.name == "nt", reason="kills with a POSIX signal")
def test_a_killed_service_cost_neither_the_answer_nor_the_turn(story: Story) -> None:
    assert story.without
    assert len(story.after) == 1


def test_what_is_forgotten_is_not_recalled_any_more(story: Story) -> None:
    assert "is forgotten" in story.forgotten
    assert "Douro" not in said(story.third[0]).replace(ASKED, "")


def test_stop_ends_the_memory_service_too(story: Story) -> None:
    assert not story.left
