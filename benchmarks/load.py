"""The client side: raw HTTP/1.1 over persistent connections, with as little work as can be between two clocks."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from urllib.parse import urlsplit

import httptools

STAMP = re.compile(rb" t(\d{9,})")


@dataclass(slots=True)
class Seen:
    """One answer: how long it took, and the one-way time of each chunk, all in nanoseconds."""

    status: int
    took: int
    first: int | None = None  # from the chunk's leaving the origin to its arrival
    chunks: list[int] = field(default_factory=list)
    size: int = 0


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, stamped: bool = False) -> None:
        self.stamped = stamped
        self.answer: asyncio.Future[Seen] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """A waiting request fails."""
        if self.answer and not self.answer.done():
            self.answer.set_exception(ConnectionError("the connection was closed"))

    def data_received(self, data: bytes) -> None:
        """Feed the parser; take the time of stamped chunks."""
        if self.stamped:
            now = time.monotonic_ns()
            late = [now - int(stamp) for stamp in STAMP.findall(data)]
            if late and self.seen.first is None:
                self.seen.first = late[0]
            self.seen.chunks += late
        self.seen.size += len(data)
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        """Done."""
        self.seen.took = time.perf_counter_ns() - self.start
        self.seen.status = self.parser.get_status_code()
        if self.answer and not self.answer.done():
            self.answer.set_result(self.seen)

    def ask(self, request: bytes) -> asyncio.Future[Seen]:
        """Send one request."""
        self.answer = asyncio.get_running_loop().create_future()
        self.parser = httptools.HttpResponseParser(self)
        self.seen = Seen(0, 0)
        self.start = time.perf_counter_ns()
        self.transport.write(request)  # type: ignore[attr-defined]
        return self.answer


@dataclass(slots=True)
class Load:
    """What a run gave."""

    seen: list[Seen]
    wall: float

    def ms(self, quantile: float, of: Callable[[Seen], int | None] = lambda seen: seen.took) -> float:
        """A quantile in milliseconds."""
        values = sorted(value for seen in self.seen if (value := of(seen)) is not None)
        return values[min(len(values) - 1, int(len(values) * quantile))] / 1e6 if values else float("nan")

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.seen) / self.wall

    @property
    def failed(self) -> int:
        """Answers that were none."""
        return sum(seen.status != 200 for seen in self.seen)

    @property
    def chunks(self) -> int:
        """Chunks in all."""
        return sum(len(seen.chunks) for seen in self.seen)


def request(url: str, body: bytes, headers: dict[str, str]) -> bytes:
    """The bytes of a POST."""
    parts = urlsplit(url)
    lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


async def run(
    port: int, requests: Iterator[bytes] | bytes, clients: int, *, seconds: float, most: int, stamped: bool = False
) -> Load:
    """`clients` connections ask one after the other until the time or the number is up."""
    source = repeat(requests) if isinstance(requests, bytes) else requests
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(lambda: Connection(stamped), "127.0.0.1", port) for _ in range(clients)]
    seen: list[Seen] = []
    left = most

    async def one(connection: Connection) -> None:
        nonlocal left
        while left > 0 and time.perf_counter() < end:
            left -= 1
            asked = next(source, None)
            if asked is None:
                return
            seen.append(await connection.ask(asked))

    start = time.perf_counter()
    end = start + seconds
    await asyncio.gather(*(one(connection) for _, connection in made))
    wall = time.perf_counter() - start
    for transport, _ in made:
        transport.close()
    return Load(seen, wall)
