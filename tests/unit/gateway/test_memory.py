"""Memory in the gateway, with the real service beside it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import unused_port
from tests.scripted_upstream import ScriptedUpstream
from tests.unit.gateway.conftest import RunningGateway, until

DOG = "My dog Biscuit is allergic to chicken, so she only gets fish."
FOOD = "Which food must my dog Biscuit never get?"


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def newest(upstream: ScriptedUpstream) -> str:
    """The newest user message that the upstream got."""
    return str(json.loads(upstream.calls()[-1].body)["messages"][-1]["content"])


@pytest.fixture
def remembering(gateway: Callable[..., RunningGateway]) -> Callable[..., RunningGateway]:
    """A gateway with a memory service of its own; words alone find, and nobody extracts."""

    def start(**memory: Any) -> RunningGateway:
        own = {"enabled": True, "port": unused_port(), "embedder": "none", "auto_extract": False, "timeout_ms": 2000}
        one = gateway(memory={**own, **memory})
        until(lambda: one.client.get("/v1/memory/health").status_code == 200)
        return one

    return start


def fed(one: RunningGateway, turns: int) -> None:
    until(lambda: one.services.feeder is not None and one.services.feeder.fed >= turns)


def test_what_was_told_in_one_session_is_recalled_in_the_next_one_once(
    remembering: Callable[..., RunningGateway], upstream: ScriptedUpstream
) -> None:
    one = remembering()
    one.chat([user(DOG)], {"x-session-id": "one"})
    fed(one, 1)
    messages = [user(FOOD)]
    answer = one.chat(messages, {"x-session-id": "two"}).json()["choices"][0]["message"]
    said = newest(upstream)
    assert said.startswith(FOOD) and "only gets fish" in said and "<metaclaw-recall>" in said
    (turn,) = one.turns("two")
    assert [item["kind"] for item in turn["recalled"]] == ["memory"] and turn["recalled"][0]["score"] > 0
    one.chat([*messages, answer, user("And which food does Biscuit get?")], {"x-session-id": "two"})
    sent = json.loads(upstream.calls()[-1].body)["messages"]
    assert str(sent).count("only gets fish") == 1 and sent[0]["content"] == said
    assert "metaclaw-recall" not in one.services.journal.turns("two", limit=1)[0].user_text


def test_scopes_do_not_read_each_other(remembering: Callable[..., RunningGateway], upstream: ScriptedUpstream) -> None:
    one = remembering()
    one.chat([user(DOG)], {"x-session-id": "ann", "x-user-id": "ann"})
    fed(one, 1)
    for headers in ({}, {"x-user-id": "bob"}, {"x-memory-scope": "group:family"}, {"x-workspace-id": "ann"}):
        one.chat([user(FOOD)], {"x-session-id": f"other-{len(upstream.calls())}", **headers})
        assert "fish" not in newest(upstream)
    one.chat([user(FOOD)], {"x-session-id": "ann-2", "x-user-id": "ann"})
    assert "fish" in newest(upstream)


def test_side_calls_are_neither_remembered_nor_helped(
    remembering: Callable[..., RunningGateway], upstream: ScriptedUpstream
) -> None:
    one = remembering()
    one.chat([user(DOG)], {"x-session-id": "a", "x-turn-type": "side"})
    one.chat([user("Something else entirely, about the weather in Lisbon.")], {"x-session-id": "b"})
    fed(one, 1)
    assert one.client.get("/v1/memory/search", params={"q": FOOD}).json() == []
    one.chat([user("What about the weather in Lisbon?")], {"x-session-id": "c", "x-turn-type": "side"})
    assert "metaclaw-recall" not in newest(upstream)


@pytest.mark.skipif(os.name == "nt", reason="kills with a POSIX signal")
def test_a_killed_service_costs_no_answer_and_no_turn_and_is_started_again(
    remembering: Callable[..., RunningGateway], upstream: ScriptedUpstream, home: Path
) -> None:
    one = remembering()
    one.chat([user("The first meeting is on the roof.")], {"x-session-id": "one"})
    fed(one, 1)
    run = json.loads((home / "run" / "sidecar.json").read_text(encoding="utf-8"))
    os.kill(run["pid"], signal.SIGKILL)
    assert one.chat([user(DOG)], {"x-session-id": "one"}).status_code == 200
    until(lambda: one.client.get("/v1/memory/health").json().get("pid") not in (None, run["pid"]))
    fed(one, 2)
    found = one.client.get("/v1/memory/search", params={"q": FOOD}).json()
    assert sum(DOG in hit["content"] for hit in found) == 1
    one.chat([user(FOOD)], {"x-session-id": "two"})
    assert "only gets fish" in newest(upstream)


def test_a_service_that_does_not_answer_costs_its_time_limit_once_and_is_shown(
    gateway: Callable[..., RunningGateway], upstream: ScriptedUpstream
) -> None:
    one = gateway(memory={"enabled": True, "sidecar_url": "http://127.0.0.1:9", "timeout_ms": 100})
    assert one.chat([user(FOOD)]).status_code == 200 and newest(upstream) == FOOD
    status = one.client.get("/v1/admin/status", headers={"x-metaclaw-token": "run-token"}).json()
    assert "can't be reached" in status["problems"]["memory"]
    assert status["counters"]["recall_unavailable.memory"] == 1
    reply = one.client.get("/v1/memory/stats")
    assert reply.status_code == 503 and "can't be reached" in reply.json()["error"]["message"]


def test_a_service_elsewhere_is_used_with_its_key(
    remembering: Callable[..., RunningGateway], gateway: Callable[..., RunningGateway], upstream: ScriptedUpstream
) -> None:
    owner = remembering()
    port = json.loads((Path(os.environ["METACLAW_HOME"]) / "run" / "sidecar.json").read_text(encoding="utf-8"))["port"]
    other = gateway(memory={"enabled": True, "sidecar_url": f"http://127.0.0.1:{port}", "timeout_ms": 2000})
    owner.chat([user(DOG)], {"x-session-id": "one"})
    fed(owner, 1)
    other.chat([user(FOOD)], {"x-session-id": "two"})
    assert "only gets fish" in newest(upstream)


def test_the_documented_routes_answer_in_their_shapes(remembering: Callable[..., RunningGateway]) -> None:
    api = remembering().client
    turn = {"prompt_text": DOG, "response_text": "Noted."}
    buffered = api.post("/v1/memory/buffer_turn", json={"session_id": "s", "turn": turn, "scope": "default"}).json()
    assert buffered["flushed"] is False
    (hit,) = api.get("/v1/memory/search", params={"q": FOOD, "limit": 5}).json()
    assert {"memory_id", "type", "score", "content", "importance", "access_count", "matched_terms"} <= hit.keys()
    flushed = api.post("/v1/memory/flush_session", json={"session_id": "s", "final": True}).json()
    assert "added" in flushed
    assert {"added", "buffered_turns", "sessions"} <= api.post("/v1/memory/ingest", json={}).json().keys()
    assert {"added", "buffered_turns", "sessions"} <= api.post(
        "/v1/memory/ingest", json={"session_id": "s"}
    ).json().keys()
    assert {"total", "active", "active_by_type"} <= api.get(
        "/v1/memory/stats", params={"scope": "default"}
    ).json().keys()
    assert api.get("/v1/memory/health").json()["ok"] is True
    assert api.get("/v1/memory/summary").json()["newest"] == []
    assert api.get("/v1/memory/feedback-analysis").json()["useful_share"] is None
    report = api.get("/v1/memory/operator-report").json()
    assert report["problems"] == api.get("/v1/memory/health").json()["problems"]
    assert report["ok"] is (report["problems"] == []) and report["stats"]["turns"]
    plan = api.post("/v1/memory/action-plan", json={}).json()["actions"]
    assert [action["action"] for action in plan] == ["check_embedder"] and all(action["reason"] for action in plan)
    assert "consolidated" in api.post("/v1/memory/maintenance", json={}).json()
    stored = api.post("/v1/memory/store", json={"content": "Tea at five."}).json()["memory_id"]
    assert api.get(f"/v1/memory/memories/{stored}").json()["content"] == "Tea at five."
    assert api.delete(f"/v1/memory/memories/{stored}").status_code == 200
    assert api.post("/v1/memory/shutdown", json={}).status_code == 404
    assert api.post("/v1/memory/store", json={"content": ""}).status_code in (400, 422)


def test_without_memory_its_routes_say_how_to_switch_it_on(gateway: Callable[..., RunningGateway]) -> None:
    one = gateway()
    for reply in (one.client.get("/v1/memory/stats"), one.client.post("/v1/memory/store", json={"content": "x"})):
        assert reply.status_code == 503 and "memory.enabled true" in reply.json()["error"]["message"]


def test_the_service_ends_with_its_gateway_and_a_second_gateway_takes_over_one_that_runs(
    remembering: Callable[..., RunningGateway], home: Path
) -> None:
    one = remembering()
    run = json.loads((home / "run" / "sidecar.json").read_text(encoding="utf-8"))
    assert (home / "run" / "sidecar.llm.json").stat().st_mode & 0o077 == 0 or os.name == "nt"
    one.stop()
    until(lambda: not (home / "run" / "sidecar.json").exists())
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{run['port']}/health", trust_env=False)
