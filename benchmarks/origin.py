"""The provider behind every contender: as fast as a socket, so that what is measured is the contender.

The model's name says what to answer: `whole`, `burst-200` (200 chunks at once), `paced-200-10` (one every 10 ms).
Each chunk's text carries the time it left, in nanoseconds of the monotonic clock.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time

import httptools
import uvloop

TEXT = "The answer is short and always the same. " * 12
MODEL = re.compile(rb'"model": ?"(?:[\w.-]+/)?(\w+)(?:-(\d+))?(?:-(\d+))?"')
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
END = b"data: [DONE]\n\n"


def whole() -> bytes:
    """A chat completion of about a kilobyte."""
    message = {"role": "assistant", "content": TEXT}
    body = json.dumps({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1764547200, "model": "whole",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 500, "completion_tokens": 120, "total_tokens": 620},
    }).encode()  # fmt: skip
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


WHOLE = whole()


def chunk(number: int, last: int) -> bytes:
    """One event of a streamed completion, in HTTP's chunked coding."""
    finish = b'"stop"' if number == last else b"null"
    event = (
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764547200,"model":"stream",'
        b'"choices":[{"index":0,"delta":{"content":" t%d"},"logprobs":null,"finish_reason":%b}]}\n\n'
    ) % (time.monotonic_ns(), finish)
    return framed(event)


def framed(data: bytes) -> bytes:
    """In HTTP's chunked coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Origin(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = transport
        self.parser = httptools.HttpRequestParser(self)
        self.parts: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        """Feed the parser."""
        self.parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        """A piece of the request's body."""
        self.parts.append(data)

    def on_message_complete(self) -> None:
        """Answer."""
        body = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        self.parts = []
        found = MODEL.search(body, 0, 400) or MODEL.search(body)
        kind, count, gap = found.groups() if found else (b"whole", None, None)
        if kind == b"burst":
            last = int(count or 1) - 1
            chunks = [chunk(number, last) for number in range(last + 1)]
            self.write(STREAM_HEAD + b"".join(chunks) + framed(END) + b"0\r\n\r\n")
        elif kind == b"paced":
            self.write(STREAM_HEAD)
            loop = asyncio.get_running_loop()
            self.tick(loop, loop.time(), 0, int(count or 1) - 1, int(gap or 10) / 1000)
        else:
            self.write(WHOLE)

    def write(self, data: bytes) -> None:
        """Write, unless the other side has left."""
        if not self.transport.is_closing():
            self.transport.write(data)  # type: ignore[attr-defined]

    def tick(self, loop: asyncio.AbstractEventLoop, start: float, number: int, last: int, gap: float) -> None:
        """Write chunk `number` and arrange for the next, on a fixed grid of times."""
        if self.transport.is_closing():
            return
        self.write(chunk(number, last))
        if number == last:
            self.write(framed(END) + b"0\r\n\r\n")
        else:
            loop.call_at(start + gap * (number + 1), self.tick, loop, start, number + 1, last, gap)


async def serve(port: int) -> None:
    """Listen until killed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Origin, "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
