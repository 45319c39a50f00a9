"""The client of the memory service: what it asks, what it makes of trouble, how it rests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from metaclaw.memory import MemoryClient, MemoryDown, Place

Handler = Callable[[web.Request], Awaitable[web.Response]]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def ask(handler: Handler, *calls: dict[str, Any]) -> list[Any]:
    """Make the calls one after the other; the answers, or what went wrong."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    results: list[Any] = []
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        place = Place(str(server.make_url("")), {"Authorization": "Bearer sk-x"})
        client = MemoryClient(lambda: place, lambda _: session)
        for call in calls:
            try:
                results.append(await client.ask("POST", "/search", {"query": "茶"}, **{"timeout": 5.0, **call}))
            except MemoryDown as down:
                results.append(down)
    return results


async def test_it_asks_in_json_and_shows_its_key() -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.json_response({"said": await request.json(), "key": request.headers["Authorization"]})

    (answer,) = await ask(echo, {})
    assert answer == {"said": {"query": "茶"}, "key": "Bearer sk-x"}


@pytest.mark.parametrize(("status", "refused"), [(404, True), (422, True), (503, False), (500, False)])
async def test_an_error_is_one_line_and_says_whether_to_try_again(status: int, refused: bool) -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"error": {"type": "t", "message": "no such memory"}}, status=status)

    (down,) = await ask(refuse, {})
    assert isinstance(down, MemoryDown) and down.refused is refused
    assert str(status) in str(down) and "no such memory" in str(down)


async def test_an_answer_that_is_no_json_is_told() -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<html>")

    (down,) = await ask(page, {})
    assert isinstance(down, MemoryDown) and "no JSON" in str(down)


async def test_after_a_silence_hurried_calls_are_not_tried_for_a_while() -> None:
    asked = 0
    silent = asyncio.Event()

    async def late(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        if asked == 1:
            await silent.wait()
        return web.json_response({"ok": True})

    app = web.Application()
    app.router.add_get("/stats", late)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        clock = Clock()
        client = MemoryClient(lambda: Place(str(server.make_url(""))), lambda _: session, clock)
        with pytest.raises(MemoryDown, match="50 ms"):
            await client.ask("GET", "/stats", timeout=0.05, hurried=True)
        silent.set()
        with pytest.raises(MemoryDown, match="50 ms"):
            await client.ask("GET", "/stats", timeout=5.0, hurried=True)
        assert asked == 1 and client.resting
        clock.now += 60
        assert await client.ask("GET", "/stats", timeout=5.0, hurried=True) == {"ok": True}
        assert asked == 2 and client.problem == ""


async def test_a_service_that_is_nowhere_is_told_in_one_line() -> None:
    async with aiohttp.ClientSession() as session:
        nowhere = MemoryClient(lambda: None, lambda _: session)
        with pytest.raises(MemoryDown, match="is not running"):
            await nowhere.ask("GET", "/stats", timeout=1.0)
        gone = MemoryClient(lambda: Place("http://127.0.0.1:9"), lambda _: session)
        with pytest.raises(MemoryDown, match="can't be reached"):
            await gone.ask("GET", "/stats", timeout=5.0)
        odd = MemoryClient(lambda: Place("not a url"), lambda _: session)
        with pytest.raises(MemoryDown, match="sidecar_url"):
            await odd.ask("GET", "/stats", timeout=5.0)
