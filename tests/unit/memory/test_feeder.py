"""Turns reach the memory service in order and once, whatever happens to it in between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from metaclaw.journal import Call, Journal, Session, SessionEnd, sqlite_url
from metaclaw.memory import Feeder, MemoryClient, MemoryDown, Place


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal.open(sqlite_url(tmp_path / "journal.sqlite3"))
    yield opened
    opened.close()


class Service:
    """Writes down what it is told; `refusing` answers so many calls with a status first."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.refusing: list[int] = []

    async def answer(self, request: web.Request) -> web.Response:
        if self.refusing:
            return web.json_response({"error": {"message": "not now"}}, status=self.refusing.pop(0))
        self.heard.append((request.path, await request.json()))
        return web.json_response({"flushed": False})

    def said(self) -> list[str]:
        return [
            body["turn"]["prompt_text"] if path == "/buffer_turn" else f"end of {body['session_id']}"
            for path, body in self.heard
        ]


@asynccontextmanager
async def feeding(journal: Journal, service: Service) -> AsyncIterator[Feeder]:
    app = web.Application()
    app.router.add_post("/{path:.*}", service.answer)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        yield Feeder(journal, MemoryClient(lambda: Place(str(server.make_url(""))), lambda _: session))


def say(journal: Journal, session: str, text: str, scope: str = "default", **more: Any) -> None:
    call = Call(
        session=Session(id=session, scope=scope, started_at=1.0, last_at=1.0),
        turn_key=text.encode(),
        user_text=text,
        answer_text=f"about {text}",
        started_at=1_700_000_000.0,
        status="ok",
        final=True,
        **{"kind": "main", **more},
    )
    journal.append(call).result(10)


async def test_turns_and_ends_come_in_order_with_scope_and_time(journal: Journal) -> None:
    service = Service()
    async with feeding(journal, service) as feeder:
        await feeder.run_once()
        say(journal, "a", "tea", scope="user:ann")
        say(journal, "b", "coffee")
        say(journal, "a", "milk", scope="user:ann")
        say(journal, "a", "a title", kind="side", side_reason="title")
        journal.append(SessionEnd("a", "idle", 2.0)).result(10)
        while await feeder.run_once():
            pass
    assert service.said() == ["tea", "coffee", "milk", "end of a"]
    path, first = service.heard[0]
    assert (path, first["session_id"], first["scope_id"]) == ("/buffer_turn", "a", "user:ann")
    assert first["turn"]["response_text"] == "about tea" and first["turn"]["at"] == 1_700_000_000.0
    assert service.heard[3][1] == {"session_id": "a", "scope_id": "user:ann", "final": True, "wait": 0}
    assert feeder.fed == 3


async def test_while_the_service_is_away_turns_wait_and_none_is_skipped(journal: Journal) -> None:
    service = Service()
    async with feeding(journal, service) as feeder:
        await feeder.run_once()
        for number in range(4):
            say(journal, "a", f"turn {number}")
        service.refusing = [503]
        with pytest.raises(MemoryDown):
            await feeder.run_once()
        service.refusing = []
        await feeder.run_once()
    assert service.said() == [f"turn {number}" for number in range(4)]


async def test_one_turn_that_is_refused_holds_no_other_up(journal: Journal) -> None:
    service = Service()
    async with feeding(journal, service) as feeder:
        await feeder.run_once()
        say(journal, "a", "odd")
        say(journal, "a", "plain")
        service.refusing = [422]
        await feeder.run_once()
    assert service.said() == ["plain"]


async def test_another_process_goes_on_where_the_last_one_was(journal: Journal) -> None:
    service = Service()
    async with feeding(journal, service) as feeder:
        await feeder.run_once()
        say(journal, "a", "one")
        await feeder.run_once()
    say(journal, "a", "two")
    async with feeding(journal, service) as again:
        await again.run_once()
    assert service.said() == ["one", "two"]
    assert len({body["turn"]["turn_id"] for _, body in service.heard}) == 2


async def test_what_was_said_before_memory_was_switched_on_is_not_handed_in(journal: Journal) -> None:
    say(journal, "a", "long ago")
    service = Service()
    async with feeding(journal, service) as feeder:
        await feeder.run_once()
        say(journal, "a", "today")
        await feeder.run_once()
    assert service.said() == ["today"]


async def test_a_start_without_a_turn_does_not_lose_the_first_one(journal: Journal) -> None:
    """The service may be away from the first start on."""
    service = Service()
    async with feeding(journal, service) as feeder:
        await feeder.run_once()
    say(journal, "a", "first")
    async with feeding(journal, service) as again:
        await again.run_once()
    assert service.said() == ["first"]
