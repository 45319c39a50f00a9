"""Carries an answer to the client, chunk for chunk, and holds back only its last byte until the turn is on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from metaclaw.gateway.upstream.base import Answer
from metaclaw.gateway.wire import Send

_PING = b": metaclaw keeps this connection open\n\n"
_NOT_RELAYED = frozenset(("content-length", "connection", "transfer-encoding", "keep-alive", "alt-svc"))


class Relay:
    """One answer on its way. `seen` gets every upstream chunk; `settle` is awaited once, ahead of the last byte."""

    def __init__(
        self,
        send: Send,
        answer: Answer,
        *,
        seen: Callable[[bytes], None],
        settle: Callable[[], Awaitable[None]],
        done_marks: tuple[bytes, ...] = (),
        hide_usage: bool = False,
        extra_headers: tuple[tuple[bytes, bytes], ...] = (),
        ping_after: float = 15.0,
    ) -> None:
        self._send = send
        self._answer = answer
        self._seen = seen
        self._settle = settle
        self._done_marks = done_marks
        self._filter = UsageFilter() if hide_usage else None
        self._extra = extra_headers
        self._ping_after = ping_after
        self._settled = False
        self._left: int | None = None
        self._tail = b""
        self._at_boundary = True
        self._sending = False

    async def run(self) -> None:
        """Relay everything. An upstream that breaks raises UpstreamError, with the client's stream left open-ended."""
        events = await self._start()
        loop = asyncio.get_running_loop()
        pinger = _Pinger(loop, self._ping, self._ping_after) if events else None
        try:
            async for chunk in self._answer.chunks:
                if pinger:
                    pinger.alive()
                self._seen(chunk)
                if self._is_last(chunk):
                    await self._settle_once()
                await self._body(chunk)
            await self._settle_once()
            if self._filter is not None:
                await self._write(self._filter.rest())
            await self._send({"type": "http.response.body", "body": b""})
        finally:
            if pinger:
                pinger.stop()

    async def _start(self) -> bool:
        upstream = dict(self._answer.headers)
        events = upstream.get("content-type", "").startswith("text/event-stream")
        self._done_marks = self._done_marks if events else ()
        headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in self._answer.headers if k not in _NOT_RELAYED]
        length = upstream.get("content-length", "")
        if length.isdigit() and self._filter is None:
            self._left = int(length)
            headers.append((b"content-length", length.encode()))
        if events:
            headers.append((b"x-accel-buffering", b"no"))
        await self._send(
            {"type": "http.response.start", "status": self._answer.status, "headers": [*headers, *self._extra]}
        )
        return events

    def _is_last(self, chunk: bytes) -> bool:
        if self._left is not None:
            self._left -= len(chunk)
            return self._left <= 0
        if not self._done_marks or self._settled:
            return False
        window = self._tail + chunk
        self._tail = window[-32:]
        return any(mark in window for mark in self._done_marks)

    async def _settle_once(self) -> None:
        if not self._settled:
            self._settled = True
            await self._settle()

    async def _body(self, chunk: bytes) -> None:
        if self._filter is not None:
            chunk = self._filter.feed(chunk)
        await self._write(chunk)

    async def _write(self, chunk: bytes) -> None:
        if not chunk:
            return
        self._at_boundary = chunk.endswith((b"\n\n", b"\r\n\r\n"))
        self._sending = True
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        self._sending = False

    async def _ping(self) -> None:
        if self._at_boundary and not self._sending:
            await self._send({"type": "http.response.body", "body": _PING, "more_body": True})


class _Pinger:
    """Calls back whenever a stream has been silent for a while."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ping: Callable[[], Awaitable[None]], after: float) -> None:
        self._loop = loop
        self._ping = ping
        self._after = after
        self._last = loop.time()
        self._task: asyncio.Task[None] | None = None
        self._timer = loop.call_later(after, self._look)

    def alive(self) -> None:
        """Something was relayed."""
        self._last = self._loop.time()

    def stop(self) -> None:
        """No more pings."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _look(self) -> None:
        silent = self._loop.time() - self._last
        if silent >= self._after:
            self._task = self._loop.create_task(self._pinged())
            silent = 0.0
        self._timer = self._loop.call_later(self._after - silent, self._look)

    async def _pinged(self) -> None:
        self.alive()
        await self._ping()


class UsageFilter:
    """Takes the usage event out of a chat stream whose client didn't ask for it; all other bytes pass unchanged."""

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, chunk: bytes) -> bytes:
        """Whole events, without the usage event; a part of an event waits for its end."""
        data = self._pending + chunk
        cut = max(data.rfind(mark) + len(mark) if mark in data else 0 for mark in (b"\n\n", b"\r\n\r\n"))
        whole, self._pending = data[:cut], data[cut:]
        if b'"usage"' not in whole:
            return whole
        separator = b"\r\n\r\n" if b"\r\n\r\n" in whole else b"\n\n"
        return separator.join(event for event in whole.split(separator) if not _is_usage_event(event))

    def rest(self) -> bytes:
        """What is left at the end."""
        rest, self._pending = self._pending, b""
        return b"" if _is_usage_event(rest) else rest


def _is_usage_event(event: bytes) -> bool:
    compact = event.replace(b" ", b"")
    return b'"usage":{' in compact and b'"choices":[]' in compact
