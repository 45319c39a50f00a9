"""Events as they happen, for those who follow a scope."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from ..store import events
from .access import Access

_PAGE = 200


class Follow:
    """Wakes its followers whenever an event was written."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._loop = asyncio.get_running_loop()
        self._pulse = asyncio.Event()
        self._ended = False

    def told(self) -> None:
        """There are new events; may be called from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._wake)

    def end(self) -> None:
        """Let all followers go."""
        self._ended = True
        self._wake()

    async def events(self, scope_id: str, after: int | None, *, idle: float) -> AsyncIterator[dict[str, Any] | None]:
        """Events of a scope after a position, or from now on; None after `idle` seconds without one."""
        seq = await self._access.read(events.newest) if after is None else after
        while not self._ended:
            pulse = self._pulse
            page = await self._access.read(lambda db, seq=seq: events.after(db, scope_id, seq, _PAGE))  # type: ignore[misc]
            for event in page:
                seq = event["seq"]
                yield event
            if page:
                continue
            try:
                async with asyncio.timeout(idle):
                    await pulse.wait()
            except TimeoutError:
                yield None

    def _wake(self) -> None:
        pulse, self._pulse = self._pulse, asyncio.Event()
        pulse.set()
