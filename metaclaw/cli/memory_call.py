"""Calls to the memory service from the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from metaclaw.memory import MemoryClient, Place

if TYPE_CHECKING:
    from metaclaw.config import Settings
    from metaclaw.memory.client import Reply


def place(settings: Settings, home: Path) -> Place | None:
    """Where the service is: the configured one elsewhere, or the proved one of this state folder; None without one."""
    from metaclaw.supervisor import Running, base_url, observe
    from metaclaw.supervisor.sidecar import any_sidecar

    memory = settings.memory
    if memory.sidecar_url:
        key = memory.sidecar_api_key.get_secret_value()
        return Place(memory.sidecar_url, {"Authorization": f"Bearer {key}"} if key else {})
    found = observe(any_sidecar(home))
    if not isinstance(found, Running):
        return None
    return Place(base_url(found.run.host, found.run.port), {"X-MetaClaw-Token": found.run.token})


def call(
    where: Place,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    query: Mapping[str, Any] | None = None,
    *,
    timeout: float,
) -> Reply:
    """One call; `timeout` is in seconds. Raises MemoryDown when nobody answers."""

    async def send() -> Reply:
        import aiohttp

        async with aiohttp.ClientSession(trust_env=False) as session:
            raw = None if body is None else json.dumps(body).encode()
            client = MemoryClient(lambda: where, lambda _: session)
            return await client.send(method, path, raw, query=urlencode(query or {}), timeout=timeout)

    return asyncio.run(send())
