"""Memories as a source of recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metaclaw.gateway.recall import MEMORY_HEADING_TOKENS, Found, Query, Unavailable
from metaclaw.memory import MemoryClient, MemoryDown


class MemorySource:
    """Recalls what the service finds worth saying, dated and with its id, within a budget of its own."""

    name = "memory"

    def __init__(self, client: MemoryClient, *, top_k: int, max_tokens: int, timeout: float) -> None:
        """`timeout` is how long a turn waits for the service at most, in seconds."""
        self._client = client
        self._top_k = top_k
        self._max_tokens = max_tokens
        self._timeout = timeout

    async def recall(self, query: Query) -> list[Found]:
        """What fits, best first. Raises Unavailable."""
        wanted = {
            "task_description": query.text,
            "scope_id": query.scope,
            "limit": self._top_k,
            "max_tokens": max(0, self._max_tokens - MEMORY_HEADING_TOKENS),
            "exclude": [name for kind, name in query.present if kind == "memory"],
        }
        if not self._top_k or not wanted["max_tokens"]:
            return []
        try:
            answer = await self._client.ask("POST", "/retrieve", wanted, timeout=self._timeout, hurried=True)
        except MemoryDown as down:
            raise Unavailable(str(down)) from None
        return [_found(unit) for unit in answer.get("units", ()) if unit.get("line")]

    def loaded(self, texts: Sequence[str]) -> set[tuple[str, str]]:
        """Memories are not files that a client could read."""
        return set()


def _found(unit: dict[str, Any]) -> Found:
    return Found(
        "memory",
        str(unit["memory_id"]),
        str(unit.get("at", ""))[:10],
        float(unit.get("score", 0.0)),
        int(unit.get("tokens", 0)),
        str(unit["line"]),
        str(unit.get("content", "")),
    )
