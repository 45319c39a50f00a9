"""Exports and imports over the wire."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import httpx

from .conftest import TOKEN


async def test_an_export_is_a_file_that_can_be_imported(client: httpx.AsyncClient) -> None:
    await client.post("/store", json={"content": "The user likes figs.", "scope_id": "ann"})
    file = await client.post("/export", json={"scope_id": "ann"})
    assert file.headers["content-type"] == "application/x-ndjson"
    assert file.headers["content-disposition"].endswith('.jsonl"')
    assert len(file.content.splitlines()) == 2
    planned = {"data": file.text, "scope_id": "ben", "dry_run": True}
    assert (await client.post("/import", json=planned)).json()["added"] == 1
    assert (await client.get("/memories", params={"scope_id": "ben"})).json()["total"] == 0
    done = await client.post("/import", json={"data": file.text, "scope_id": "ben"})
    assert done.json() == {
        "format": "json", "dry_run": False, "added": 1, "reinforced": 0, "skipped": 0, "turns": 0, "scopes": ["ben"],
        "problems": [],
    }  # fmt: skip
    found = (await client.post("/search", json={"query": "figs", "scope_id": "ben"})).json()["results"]
    assert [one["content"] for one in found] == ["The user likes figs."]


async def test_all_scopes_and_every_format(client: httpx.AsyncClient) -> None:
    for scope_id in ("ann", "ben"):
        await client.post("/store", json={"content": f"{scope_id} likes figs.", "scope_id": scope_id})
    text = (await client.post("/export", json={"format": "markdown", "all_scopes": True})).text
    assert "# Memories of ann" in text
    assert "# Memories of ben" in text
    listed = (await client.post("/export", json={"format": "mem0", "scope_id": "ann"})).json()
    assert [one["memory"] for one in listed["results"]] == ["ann likes figs."]


async def test_bytes_come_in_base64_and_one_source_is_given(client: httpx.AsyncClient) -> None:
    notes = base64.b64encode("- 喜欢绿茶\n".encode()).decode()
    assert (await client.post("/import", json={"data_base64": notes})).json()["scopes"] == ["default"]
    for wrong in ({}, {"data": "- a", "path": "/a"}, {"data_base64": "?"}):
        assert (await client.post("/import", json=wrong)).status_code == 422


async def test_only_the_owner_names_files_of_the_machine(client: httpx.AsyncClient, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([{"memory": "Likes figs", "user_id": "ann"}]), encoding="utf-8")
    refused = await client.post("/import", json={"path": str(file)})
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "forbidden")
    owner = {"X-MetaClaw-Token": TOKEN}
    done = await client.post("/import", json={"path": str(file)}, headers=owner)
    assert done.json()["scopes"] == ["user:ann"]
    absent = await client.post("/import", json={"path": str(tmp_path / "no")}, headers=owner)
    assert (absent.status_code, absent.json()["error"]["type"]) == (409, "conflict")
