"""Who is let in, and how others are told."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from .conftest import TOKEN, serving

JSON = {"content-type": "application/json"}


async def test_a_host_name_that_is_not_ours_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.get("/health", headers={"host": "memory.example.com"})
    assert answer.status_code == 421
    assert answer.json()["error"]["type"] == "host"


async def test_a_page_of_another_origin_is_refused(client: httpx.AsyncClient) -> None:
    for origin in ("https://example.com", "null"):
        assert (await client.get("/health", headers={"origin": origin})).status_code == 403
    own = str(client.base_url).rstrip("/")
    assert (await client.get("/health", headers={"origin": own})).status_code == 200


async def test_what_is_not_json_is_refused(client: httpx.AsyncClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = await client.post("/search", content=b'{"query":"x"}', headers={"content-type": kind})
        assert answer.status_code == 415
    assert (await client.post("/search", content=b"{", headers=JSON)).status_code == 400
    assert (await client.post("/search", content=b'{"query": "\xff"}', headers=JSON)).status_code == 400


async def test_a_field_that_is_unknown_or_wrong_is_named(client: httpx.AsyncClient) -> None:
    answer = await client.post("/search", json={"query": "tea", "scope": "ann"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (422, "invalid")
    assert answer.json()["error"]["message"].startswith("scope:")
    answer = await client.post("/buffer_turn", json={"session_id": "s", "turn": {"at": "soon"}})
    assert answer.json()["error"]["message"].startswith("turn.at:")


async def test_a_body_that_passes_the_limit_is_refused_however_it_comes(tmp_path: Path) -> None:
    async with serving(tmp_path, max_body_bytes="65536") as client:
        large = b'{"query": "' + b"x" * 70_000 + b'"}'

        async def chunks():  # type: ignore[no-untyped-def]
            yield large

        for content in (large, chunks()):
            answer = await client.post("/search", content=content, headers=JSON)
            assert (answer.status_code, answer.json()["error"]["type"]) == (413, "too_large")
        assert (await client.post("/search", json={"query": "x"})).status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("authorization", "Bearer sk-mine"),
        ("x-api-key", "sk-mine"),
        ("x-metaclaw-key", "sk-mine"),
        ("x-metaclaw-token", TOKEN),
    ],
)
async def test_the_key_opens_whichever_way_it_comes(tmp_path: Path, name: str, value: str) -> None:
    async with serving(tmp_path, api_key="sk-mine") as client:
        for wrong in ("", "Bearer", "sk-min", "Bearer sk-other", value + "x"):
            assert (await client.get("/stats", headers={name: wrong})).status_code == 403
        assert (await client.get("/stats", headers={name: value})).status_code == 200


async def test_without_the_key_health_tells_nothing_of_what_is_held(tmp_path: Path) -> None:
    async with serving(tmp_path, api_key="sk-mine") as client:
        assert set((await client.get("/health")).json()) == {"status", "ok", "pid", "version", "instance"}
        told = await client.get("/health", headers={"x-api-key": "sk-mine"})
        assert told.json()["memories"] == 0


async def test_a_path_or_method_that_is_not_there_is_said_in_json(client: httpx.AsyncClient) -> None:
    missing = await client.get("/v1/models")
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "not_found")
    assert (await client.put("/search", json={})).json()["error"]["type"] == "method"


async def test_every_route_is_described(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()["paths"]
    assert {"/buffer_turn", "/retrieve", "/search", "/store", "/forget", "/memories/{memory_id}/history"} <= set(
        described
    )
    assert all(
        one.get("description") for path in described.values() for one in path.values()
    ), "every operation says what it does"  # fmt: skip
