"""Tuning over the wire."""

from __future__ import annotations

import httpx


async def test_the_settings_in_force_are_shown_and_nothing_is_decided_on_nothing(client: httpx.AsyncClient) -> None:
    status = (await client.get("/upgrade/status")).json()
    assert status == {
        "enabled": False, "require_review": True, "interval_seconds": 900, "state": "idle",
        "current": {"mode": "hybrid", "recall_score": 0.35, "top_k": 5}, "proposed": None, "last": None, "history": [],
    }  # fmt: skip
    assert (await client.post("/upgrade/trigger", json={})).json() == {"triggered": True, "ran": False}
    assert (await client.get("/upgrade/status")).json()["last"]["reason"].startswith("too few turns")
    for step in ("approve", "reject", "rollback"):
        refused = await client.post(f"/upgrade/{step}", json={})
        assert (refused.status_code, refused.json()["error"]["type"]) == (409, "conflict")
