"""Memories one by one: stored, changed, reverted, judged, forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx


async def store(client: httpx.AsyncClient, content: str, **more: Any) -> dict[str, Any]:
    answer = await client.post("/store", json={"content": content, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_same_words_reinforce_and_never_duplicate(client: httpx.AsyncClient) -> None:
    first = await store(client, "Ann prefers tea.")
    again = await store(client, "ann prefers tea")
    assert (first["how"], again["how"], again["memory_id"]) == ("added", "reinforced", first["memory_id"])
    assert again["memory"]["reinforcement_score"] == 1.0
    assert (await client.get("/memories")).json()["total"] == 1


async def test_a_change_is_a_version_and_can_be_reverted(client: httpx.AsyncClient) -> None:
    name = (await store(client, "Ann's office is on floor 3.", tags=["work"]))["memory_id"]
    changed = await client.patch(
        f"/memories/{name}", json={"content": "Ann's office is on floor 5.", "importance": 0.9}
    )
    assert (changed.json()["version"], changed.json()["tags"]) == (2, ["work"])
    assert (
        not (await client.post("/search", json={"query": "floor 3", "mode": "keyword"}))
        .json()["results"][0]["content"]
        .endswith("3.")
    )
    back = (await client.post(f"/memories/{name}/revert", json={"version": 1})).json()
    assert (back["version"], back["content"], back["importance"]) == (3, "Ann's office is on floor 3.", 0.5)
    reasons = [one["reason"] for one in (await client.get(f"/memories/{name}/history")).json()["versions"]]
    assert reasons == ["created", "edited", "reverted to version 1"]
    assert (await client.post(f"/memories/{name}/revert", json={"version": 9})).status_code == 409


async def test_a_change_meant_for_another_version_is_refused(client: httpx.AsyncClient) -> None:
    name = (await store(client, "Ann rows."))["memory_id"]
    assert (await client.patch(f"/memories/{name}", json={"pinned": True, "version": 1})).status_code == 200
    late = await client.patch(f"/memories/{name}", json={"pinned": False, "version": 1})
    assert (late.status_code, late.json()["error"]["type"]) == (409, "conflict")


async def test_a_text_of_which_nothing_is_left_is_refused(client: httpx.AsyncClient) -> None:
    block = "<metaclaw-memory>\n- [2024-01-01] a fact (mem_00000000000000)\n</metaclaw-memory>"
    answer = await client.post("/store", json={"content": block})
    assert answer.status_code == 409
    name = (await store(client, "Ann sings."))["memory_id"]
    assert (await client.patch(f"/memories/{name}", json={"content": block})).status_code == 409
    assert (await client.get(f"/memories/{name}")).json()["content"] == "Ann sings."


async def test_lists_are_filtered_and_paged(client: httpx.AsyncClient) -> None:
    names = [(await store(client, f"Fact {n}.", tags=["odd"] if n % 2 else []))["memory_id"] for n in range(5)]
    await client.post("/pin", json={"memory_id": names[2]})
    await client.patch(f"/memories/{names[4]}", json={"status": "archived"})
    page = (await client.get("/memories?limit=2&offset=1")).json()
    assert (page["total"], [one["memory_id"] for one in page["memories"]]) == (4, [names[2], names[1]])
    assert (await client.get("/memories?tag=odd")).json()["total"] == 2
    assert (await client.get("/memories?pinned=true")).json()["memories"][0]["memory_id"] == names[2]
    assert (await client.get("/memories?status=all")).json()["total"] == 5
    assert (await client.get("/memories?type=preference")).json()["total"] == 0
    assert (await client.get("/memories?type=opinion")).status_code == 422


async def test_what_is_archived_is_not_found_until_it_is_active_again(client: httpx.AsyncClient) -> None:
    name = (await store(client, "Ann's locker is 17."))["memory_id"]
    await client.patch(f"/memories/{name}", json={"status": "archived"})
    assert (await client.post("/search", json={"query": "locker"})).json()["results"] == []
    await client.patch(f"/memories/{name}", json={"status": "active"})
    assert len((await client.post("/search", json={"query": "locker"})).json()["results"]) == 1


async def test_feedback_is_counted_and_moves_the_importance(client: httpx.AsyncClient) -> None:
    name = (await store(client, "Ann skis."))["memory_id"]
    for useful in (True, True, False):
        verdict = (await client.post("/feedback", json={"memory_id": name, "useful": useful})).json()
    assert (verdict["useful"], verdict["not_useful"], verdict["importance"]) == (2, 1, 0.6)
    assert (await client.get(f"/memories/{name}")).json()["feedback"] == {"useful": 2, "not_useful": 1}


async def test_what_is_pinned_does_not_expire(client: httpx.AsyncClient) -> None:
    name = (await store(client, "Ann's visa.", expires_at="2099-01-01"))["memory_id"]
    await client.post("/pin", json={"memory_id": name})
    assert (await client.get(f"/memories/{name}")).json()["expires_at"] is None


async def test_what_is_forgotten_is_gone_from_every_file_at_once(client: httpx.AsyncClient, tmp_path: Path) -> None:
    body = {"session_id": "s1", "turns": [{"prompt_text": "My dog Quixotella is ill", "response_text": "Oh."}]}
    await client.post("/ingest", json=body)
    held = (await client.get("/memories")).json()["memories"][0]
    answer = (await client.post("/forget", json={"memory_id": held["memory_id"]})).json()
    assert answer["ok"]
    assert (answer["receipt"]["memories"], answer["receipt"]["turns"]) == ([held["memory_id"]], 1)
    assert (await client.post("/search", json={"query": "Quixotella", "min_score": 0})).json()["results"] == []
    for path in (tmp_path / "memory").rglob("*"):
        assert path.is_dir() or b"Quixotella" not in path.read_bytes(), path
    again = await client.post("/ingest", json=body)
    assert (again.json()["duplicates"], again.json()["buffered"]) == (1, 0)
    assert (await client.get("/receipts")).json()["receipts"][0]["receipt_id"] == answer["receipt"]["receipt_id"]
    assert (await client.delete(f"/memories/{held['memory_id']}")).status_code == 404


async def test_a_consolidation_can_be_taken_back(client: httpx.AsyncClient) -> None:
    name = (await store(client, "The sale ends.", expires_at="2001-01-01"))["memory_id"]
    run = (await client.post("/consolidate", json={})).json()
    assert run["archived"] == 1
    assert (await client.get(f"/memories/{name}")).json()["status"] == "archived"
    undone = (await client.post("/consolidate/undo", json={"run_id": run["run_id"]})).json()
    assert undone == {"restored": 1}
    assert (await client.get(f"/memories/{name}")).json()["status"] == "active"


async def test_the_index_is_built_anew_from_the_store(client: httpx.AsyncClient) -> None:
    await store(client, "Ann's bees are in the orchard.")
    assert (await client.post("/reindex", json={"all_scopes": True})).json() == {"ok": True, "scopes": ["default"]}
    assert len((await client.post("/search", json={"query": "bees orchard"})).json()["results"]) == 1
    assert (await client.get("/stats")).json()["index"]["documents"] == 1
