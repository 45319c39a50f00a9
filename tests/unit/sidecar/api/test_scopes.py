"""No endpoint shows, changes or deletes anything of another scope."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

SECRET = "marmalade"
ANN, BEN = "user:ann", "user:ben"


class Held(NamedTuple):
    """What the other scope holds."""

    memory: str
    turn: str
    session: str
    job: int
    run: str


async def fill(client: httpx.AsyncClient) -> Held:
    """Everything there is, in Ann's scope."""
    scope = {"scope_id": ANN}
    turn = {"prompt_text": f"I like {SECRET} on toast", "response_text": "Noted."}
    told = (await client.post("/ingest", json=scope | {"session_id": "s1", "turns": [turn]})).json()
    kept = (
        await client.post("/buffer_turn", json=scope | {"session_id": "s1", "turn": turn | {"turn_id": "2"}})
    ).json()
    for _ in range(2):
        stored = (await client.post("/store", json=scope | {"content": f"Ann likes {SECRET}."})).json()
    await client.patch(f"/memories/{stored['memory_id']}", json=scope | {"expires_at": 1})
    run = (await client.post("/consolidate", json=scope)).json()["run_id"]
    await client.patch(f"/memories/{stored['memory_id']}", json=scope | {"status": "active", "expires_at": None})
    return Held(stored["memory_id"], kept["turn_id"], "s1", told["job_id"], run)


def reads(held: Held) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Every request that could show something, as Ben would send it."""
    for path in (
        "/memories",
        "/receipts",
        "/stats",
        "/jobs",
        f"/sessions/{held.session}/buffer",
        "/memories?status=all",
    ):
        yield "GET", path, None
    for form in ("json", "markdown", "mem0"):
        yield "POST", "/export", {"format": form}
    for mode in ("keyword", "hybrid", "semantic", "auto"):
        yield "POST", "/search", {"query": SECRET, "mode": mode, "min_score": 0}
        yield "POST", "/retrieve", {"task_description": f"who likes {SECRET}?", "mode": mode, "min_score": 0}


def by_id(held: Held) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Every request that names something of Ann's, as Ben would send it."""
    for name in (held.memory, held.turn):
        yield "GET", f"/memories/{name}", None
        yield "GET", f"/memories/{name}/history", None
        yield "PATCH", f"/memories/{name}", {"content": "Ben was here."}
        yield "POST", f"/memories/{name}/revert", {"version": 1}
        yield "POST", "/pin", {"memory_id": name}
        yield "POST", "/feedback", {"memory_id": name, "useful": False}
        yield "POST", "/forget", {"memory_id": name}
        yield "DELETE", f"/memories/{name}", None
        yield "POST", "/store", {"content": "Ben was here.", "replaces": name}
    yield "POST", f"/jobs/{held.job}/retry", {}
    yield "POST", "/consolidate/undo", {"run_id": held.run}


async def ask(
    client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any] | None, scope: str
) -> httpx.Response:
    if body is None:
        return await client.request(
            method, path, params={"scope_id": scope} | dict(httpx.QueryParams(path.partition("?")[2]))
        )
    return await client.request(method, path, json=body | {"scope_id": scope})


async def test_nothing_of_another_scope_is_shown(client: httpx.AsyncClient) -> None:
    held = await fill(client)
    for method, path, body in reads(held):
        seen = await ask(client, method, path.partition("?")[0] if body is None else path, body, BEN)
        assert seen.status_code == 200, path
        assert SECRET not in seen.text, path
        assert held.memory not in seen.text and held.turn not in seen.text, path
    shown = await ask(client, "POST", "/search", {"query": SECRET}, ANN)
    assert {held.memory, held.turn} <= {one["memory_id"] for one in shown.json()["results"]}


async def test_events_are_those_of_one_scope(client: httpx.AsyncClient) -> None:
    await fill(client)
    async with client.stream("GET", "/events", params={"scope_id": BEN, "after": 0}) as stream:
        lines = stream.aiter_lines()
        assert await anext(lines) == ": connected"
        stored = (await client.post("/store", json={"content": "Ben rows.", "scope_id": BEN})).json()
        async for line in lines:
            if line.startswith("data: "):
                assert json.loads(line[6:])["subject"] == stored["memory_id"]
                break


async def test_an_id_of_another_scope_does_not_exist(client: httpx.AsyncClient) -> None:
    held = await fill(client)
    before = (await ask(client, "GET", f"/memories/{held.memory}", None, ANN)).json()
    for method, path, body in by_id(held):
        answer = await ask(client, method, path, body, BEN)
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found"), (method, path)
        assert SECRET not in answer.text
    assert (await ask(client, "GET", f"/memories/{held.memory}", None, ANN)).json() == before
    assert (await client.get("/scopes")).json()["scopes"] == [{"scope_id": ANN, "memories": 2, "turns": 2}]


async def test_a_group_reads_no_private_scope_and_a_part_reads_no_whole(client: httpx.AsyncClient) -> None:
    await fill(client)
    for other in ("user:ann|workspace:w", "workspace:w", "user", "user:an", "user:ann2", "USER:ANN", "default"):
        found = await ask(client, "POST", "/search", {"query": SECRET, "min_score": 0}, other)
        assert found.json()["results"] == []


@pytest.mark.parametrize("wild", ["*", "user:*", "%", "", "   ", "user:a\u0000", "x" * 301])
async def test_a_scope_that_nobody_may_name_is_refused_everywhere(client: httpx.AsyncClient, wild: str) -> None:
    held = await fill(client)
    for method, path, body in (*reads(held), *by_id(held)):
        answer = await ask(client, method, path, body, wild)
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "bad_scope"), (method, path)


async def test_the_order_of_a_scopes_parts_means_nothing(client: httpx.AsyncClient) -> None:
    await client.post("/store", json={"content": f"The team orders {SECRET}.", "scope_id": "workspace:w|user:ann"})
    found = await client.post("/search", json={"query": SECRET, "scope_id": "user:ann|workspace:w"})
    assert len(found.json()["results"]) == 1


async def test_two_names_of_a_scope_in_one_request_are_refused(client: httpx.AsyncClient) -> None:
    assert (await client.get("/memories?scope=a&scope_id=b")).status_code == 400
    assert (await client.get("/memories?scope=a&scope_id=a")).status_code == 200


async def test_a_deleted_scope_leaves_nothing_and_touches_no_other(client: httpx.AsyncClient) -> None:
    await fill(client)
    await client.post("/store", json={"content": f"Ben hates {SECRET}.", "scope_id": BEN})
    gone = (await client.delete(f"/scopes/{ANN}")).json()
    assert gone["ok"]
    assert len(gone["receipt"]["memories"]) == 2
    assert gone["receipt"]["turns"] == 2
    assert (await ask(client, "POST", "/search", {"query": SECRET, "min_score": 0}, ANN)).json()["results"] == []
    assert (await client.get("/scopes")).json()["scopes"] == [{"scope_id": BEN, "memories": 1, "turns": 0}]
