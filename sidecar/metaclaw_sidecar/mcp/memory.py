"""The memory behind the tools: this process's own service, or one that runs beside it."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..errors import SidecarError
from ..ownership import read_run
from ..records import MEMORY_TYPES, MemoryType
from ..rendering import entry, fenced
from ..scopes import parse
from ..service import NewMemory, Service
from ..settings import Settings

_TIMEOUT = 30.0


class Memory(Protocol):
    """What the tools need. Every call raises SidecarError in words for the model."""

    async def search(self, scope: str | None, query: str, limit: int) -> list[dict[str, Any]]:
        """Results as `/search` gives them."""
        ...

    async def store(
        self, scope: str | None, content: str, memory_type: MemoryType, tags: Sequence[str], importance: float
    ) -> Mapping[str, Any]:
        """What `/store` answers."""
        ...

    async def forget(self, scope: str | None, memory_id: str) -> Mapping[str, Any]:
        """The receipt."""
        ...

    async def status(self, scope: str | None) -> Mapping[str, Any]:
        """What works and how much there is."""
        ...


class Own:
    """The service in this process."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def search(self, scope: str | None, query: str, limit: int) -> list[dict[str, Any]]:
        """Search."""
        return (await self._service.recall.search(self._scope(scope), query, limit=limit)).results

    async def store(
        self, scope: str | None, content: str, memory_type: MemoryType, tags: Sequence[str], importance: float
    ) -> Mapping[str, Any]:
        """Store."""
        given = NewMemory(content, memory_type, tags=tuple(tags), importance=importance)
        stored = await self._service.curation.store(self._scope(scope), given)
        return {"memory_id": stored.memory_id, "how": stored.how}

    async def forget(self, scope: str | None, memory_id: str) -> Mapping[str, Any]:
        """Forget."""
        return await self._service.curation.forget(self._scope(scope), memory_id, with_history=False)

    async def status(self, scope: str | None) -> Mapping[str, Any]:
        """Health and numbers."""
        counted = await self._service.statistics(self._scope(scope))
        return await self._service.health() | _numbers(counted)

    def _scope(self, scope: str | None) -> str:
        return parse(scope, self._service.settings.scope)


class Beside:
    """A service in another process that holds the same folder; found anew at each call, since it may restart."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def search(self, scope: str | None, query: str, limit: int) -> list[dict[str, Any]]:
        """Search."""
        answer = await self._ask("/search", scope, {"query": query, "limit": limit})
        return list(answer["results"])

    async def store(
        self, scope: str | None, content: str, memory_type: MemoryType, tags: Sequence[str], importance: float
    ) -> Mapping[str, Any]:
        """Store."""
        body = {"content": content, "memory_type": memory_type, "tags": list(tags), "importance": importance}
        answer = await self._ask("/store", scope, body)
        return {"memory_id": answer["memory_id"], "how": answer["how"]}

    async def forget(self, scope: str | None, memory_id: str) -> Mapping[str, Any]:
        """Forget."""
        answer = await self._ask("/forget", scope, {"memory_id": memory_id})
        return dict(answer["receipt"])

    async def status(self, scope: str | None) -> Mapping[str, Any]:
        """Health and numbers."""
        query = f"?scope_id={urllib.parse.quote(scope, safe='')}" if scope is not None else ""
        health = await self._ask("/health", None, None)
        known = ("memories", "scope", "search", "extraction", "problems")
        return {name: health.get(name) for name in known} | _numbers(await self._ask(f"/stats{query}", None, None))

    async def _ask(self, path: str, scope: str | None, body: dict[str, Any] | None) -> dict[str, Any]:
        if body is not None and scope is not None:
            body = body | {"scope_id": scope}
        return await asyncio.to_thread(self._request, path, body)

    def _request(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        run = read_run(self._settings.run_dir)
        if run is None:
            raise SidecarError("the memory service has ended: start `metaclaw-sidecar`, or this tool anew")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "X-MetaClaw-Token": run.token}
        request = urllib.request.Request(run.url + path, data, headers)  # noqa: S310 - our own loopback address
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=_TIMEOUT) as answer:
                return dict(json.loads(answer.read()))
        except urllib.error.HTTPError as error:
            raise SidecarError(_message(error)) from None
        except OSError as error:
            raise SidecarError(f"the memory service does not answer: {error}") from None


def block(results: Sequence[Mapping[str, Any]]) -> str:
    """Search results for a model: dated, with ids, fenced as data."""
    if not results:
        return "Nothing found."
    return fenced(entry(str(one["valid_from"])[:10], str(one["content"]), str(one["memory_id"])) for one in results)


def memory_type(name: str) -> MemoryType:
    """A type by its name. Raises SidecarError."""
    for known in MEMORY_TYPES:
        if name == known:
            return known
    raise SidecarError(f"memory_type is one of {', '.join(MEMORY_TYPES)}")


def _numbers(counted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: counted[name] for name in ("scope_id", "active", "active_by_type", "turns", "jobs")}


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the memory service answered {error.code}"
