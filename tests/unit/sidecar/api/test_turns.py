"""Turns in: once, whole, and none that no person said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import serving


def turn(text: str, **more: Any) -> dict[str, Any]:
    return {"session_id": "s1", "turn": {"prompt_text": text, "response_text": "Good.", **more}}


async def buffered(client: httpx.AsyncClient, text: str, **more: Any) -> dict[str, Any]:
    answer = await client.post("/buffer_turn", json=turn(text, **more))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_same_turn_again_changes_nothing(client: httpx.AsyncClient) -> None:
    first = await buffered(client, "I sold the car")
    again = await buffered(client, "I sold the car")
    assert (again["duplicate"], again["turn_id"], again["waiting"]) == (True, first["turn_id"], 1)
    assert (await buffered(client, "I sold the car", turn_id="a"))["duplicate"] is False
    assert (await buffered(client, "I sold the house", turn_id="a"))["duplicate"] is True


async def test_every_fifth_turn_begins_an_extraction(client: httpx.AsyncClient) -> None:
    answers = [await buffered(client, f"Today I saw {number} herons") for number in range(1, 6)]
    assert [one["flushed"] for one in answers] == [False] * 4 + [True]
    assert answers[-1]["added"] is None
    flushed = (await client.post("/flush_session", json={"session_id": "s1"})).json()
    assert flushed["state"] in ("done", "nothing")
    kept = (await client.get("/memories?session_id=s1")).json()
    assert {one["origin"] for one in kept["memories"]} == {"verbatim"}
    assert kept["total"] == 5


async def test_a_flush_tells_what_came_of_it(client: httpx.AsyncClient) -> None:
    await buffered(client, "I planted beans")
    done = (await client.post("/flush_session", json={"session_id": "s1", "final": True})).json()
    assert (done["state"], done["added"], done["turns"]) == ("done", 1, 1)
    nothing = (await client.post("/flush_session", json={"session_id": "s1"})).json()
    assert (nothing["state"], nothing["added"], nothing["job_id"]) == ("nothing", 0, None)


async def test_a_flush_of_the_scope_takes_all_its_sessions(client: httpx.AsyncClient) -> None:
    for session in ("a", "b"):
        await client.post("/buffer_turn", json={"session_id": session, "turn": {"prompt_text": f"I met {session}"}})
    flushed = (await client.post("/flush", json={})).json()
    assert (flushed["sessions"], flushed["buffered_turns"], flushed["added"]) == (["a", "b"], 2, 2)
    assert (await client.post("/flush")).json()["state"] == "nothing"


async def test_many_turns_come_at_once_and_their_times_are_kept(client: httpx.AsyncClient) -> None:
    batch = [
        {"prompt_text": "We flew to Oslo", "response_text": "Nice.", "at": "2024-05-01T09:00:00Z"},
        {"prompt_text": "We flew to Oslo", "response_text": "Nice."},
        {"prompt_text": "  ", "response_text": ""},
        {"prompt_text": "We took the night train home", "at": 1714640400},
    ]
    body = {"session_id": "trip", "turns": batch}
    told = (await client.post("/ingest", json=body)).json()
    assert (told["buffered"], told["duplicates"], told["skipped"], told["added"]) == (2, 1, 1, 2)
    held = (await client.get("/memories")).json()["memories"]
    times = {one["content"].partition(" to ")[0]: one["valid_from"] for one in held}
    assert times["We flew"] == "2024-05-01T09:00:00.000Z"
    assert times["We took the night train home"] == "2024-05-02T09:00:00.000Z"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Read HEARTBEAT.md if it exists", "machine"),
        ("[cron:daily] water the plants", "machine"),
        ("<metaclaw-memory>\n- [2024-01-01] a fact (mem_00000000000000)\n</metaclaw-memory>", ""),
        ("\u0000\u0001", ""),
    ],
)
async def test_what_no_person_said_is_not_kept(client: httpx.AsyncClient, text: str, reason: str) -> None:
    answer = await client.post("/buffer_turn", json={"session_id": "s1", "turn": {"prompt_text": text}})
    assert answer.json()["skipped"] == (reason or "empty")
    assert (await client.get("/scopes")).json()["scopes"] == []


async def test_half_a_character_costs_no_turn(client: httpx.AsyncClient) -> None:
    raw = b'{"session_id": "s1", "turn": {"prompt_text": "a smile \\ud83d and a frown"}}'
    answer = await client.post("/buffer_turn", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code == 200
    shown = (await client.get("/sessions/s1/buffer")).json()
    assert shown["waiting"][0]["prompt_text"].startswith("a smile")


async def test_with_extraction_off_turns_are_kept_and_found(tmp_path: Path) -> None:
    async with serving(tmp_path, auto_extract="false", flush_every="1") as client:
        assert (await buffered(client, "The boat is called Minna"))["flushed"] is False
        flushed = (await client.post("/flush_session", json={"session_id": "s1"})).json()
        assert (flushed["state"], flushed["added"]) == ("off", None)
        assert (await client.post("/search", json={"query": "boat called"})).json()["results"][0]["kind"] == "turn"
        assert (await client.get("/health")).json()["extraction"] == "off"


async def test_secrets_are_gone_before_anything_is_kept(client: httpx.AsyncClient, tmp_path: Path) -> None:
    await buffered(client, "my password: hunter2-and-more, and the key AKIAIOSFODNN7EXAMPLE")
    await client.post("/store", json={"content": "The token: ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"})
    held = b"".join(path.read_bytes() for path in (tmp_path / "memory").glob("memory.sqlite3*"))
    for secret in (b"hunter2", b"AKIAIOSFODNN7", b"ghp_0123"):
        assert secret not in held
