"""Hands finished turns of the journal to the memory service, in order, each once."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING

from metaclaw.memory.client import MemoryClient, MemoryDown

if TYPE_CHECKING:
    from metaclaw.journal import Event, Journal

READER = "memory"
_SINCE = "memory.since"  # a cursor of its own: where memory was first switched on
_KINDS = ("turn", "session_ended")
_BATCH = 100
_PATIENCE = 30.0  # seconds for one call; nobody waits for it
_log = logging.getLogger(__name__)


class Feeder:
    """A reader of the journal. While the service is away it waits, and then goes on where it was.

    Only what happens from the first time on is handed in: a journal of years would cost a fortune to extract.
    """

    def __init__(self, journal: Journal, client: MemoryClient) -> None:
        self.fed = 0  # turns handed in since the start
        self._journal = journal
        self._client = client

    async def run_once(self) -> int:
        """Hand in what is due; how many events were dealt with. Raises MemoryDown."""
        await asyncio.to_thread(self._begin)
        dealt_with = 0
        with ExitStack() as stack:
            reading = await asyncio.to_thread(
                stack.enter_context, self._journal.reading(READER, kinds=_KINDS, limit=_BATCH)
            )
            for event in reading:
                await self._hand_in(event)
                await asyncio.to_thread(reading.done, event)
                dealt_with += 1
        return dealt_with

    def _begin(self) -> None:
        if not self._journal.cursor(_SINCE):
            newest = self._journal.newest_event()
            self._journal.advance(READER, newest)
            self._journal.advance(_SINCE, newest + 1)

    async def _hand_in(self, event: Event) -> None:
        session = await asyncio.to_thread(self._journal.session, event.session_id)
        if session is None:  # deleted meanwhile
            return
        if event.kind == "session_ended":
            wanted = {"session_id": session.id, "scope_id": session.scope, "final": True, "wait": 0}
            await self._client.ask("POST", "/flush_session", wanted, timeout=_PATIENCE)
            return
        turn = await asyncio.to_thread(self._journal.turn, event.turn_id or 0)
        if turn is None or not turn.user_text.strip() or event.payload.get("status") == "error":
            return
        said = {
            "prompt_text": turn.user_text,
            "response_text": turn.answer_text,
            "turn_id": f"journal-{turn.id}",
            "at": turn.started_at,
        }
        wanted = {"session_id": session.id, "scope_id": session.scope, "turn": said}
        try:
            await self._client.ask("POST", "/buffer_turn", wanted, timeout=_PATIENCE)
        except MemoryDown as down:
            if not down.refused:
                raise
            _log.warning("turn %d of session %s is left out: %s", turn.number, session.id, down)
            return
        self.fed += 1
