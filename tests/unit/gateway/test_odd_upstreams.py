"""Upstreams that misbehave on the wire, as raw sockets do it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.unit.gateway.conftest import until

HELLO = [{"role": "user", "content": "hi"}]
WHOLE = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}'


class RawUpstream:
    """Reads one request on each connection and writes the bytes it was given, in pieces, then hangs up."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)
        self.requests = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer:
                self._read(peer)
                self.requests += 1
                peer.sendall(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])

    @staticmethod
    def _read(peer: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += peer.recv(65536) or b"\r\n\r\n"
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length")), 0
        )
        while len(body) < length:
            body += peer.recv(65536)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def raw(gateway: Any) -> Iterator[Callable[..., tuple[Any, RawUpstream]]]:
    servers: list[RawUpstream] = []

    def start(*answers: bytes, **llm: Any) -> tuple[Any, RawUpstream]:
        server = RawUpstream(*answers)
        servers.append(server)
        return gateway(llm={"api_base": f"http://127.0.0.1:{server.port}/v1", **llm}), server

    yield start
    for server in servers:
        server.close()


def answer(body: bytes, headers: str = "content-type: application/json", status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\n{headers}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return head.encode() + body


def events(*payloads: bytes, end: bytes = b"\n\n") -> bytes:
    body = b"".join(b"data: " + p + end for p in payloads)
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + body


@pytest.mark.parametrize(
    ("wire", "status"),
    [
        (answer(b"<html>login</html>", "content-type: text/html"), 200),
        (answer(b"", status="204 No Content"), 204),
        (answer(b"", "location: https://example.com/\r\ncontent-type: text/html", "307 Temporary Redirect"), 307),
        (answer(b'{"choices": []}'), 200),
        (answer(b"\xff\xfe not json"), 200),
        (answer(b"busy", "content-type: text/plain\r\nretry-after: 3", "529 Overloaded"), 529),
    ],
)
def test_what_the_upstream_says_is_relayed_as_it_is(raw: Any, wire: bytes, status: int) -> None:
    one, _ = raw(wire)
    reply = one.chat(HELLO)
    assert reply.status_code == status
    assert reply.content == wire.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("wire", [b"", b"HTTP/1.1 200", b"garbage\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n"])
def test_an_upstream_that_speaks_no_http_is_a_bad_gateway(raw: Any, wire: bytes) -> None:
    one, _ = raw(wire)
    reply = one.chat(HELLO)
    assert reply.status_code == 502 and "custom" in reply.json()["error"]["message"]


def test_an_answer_cut_in_the_middle_is_not_taken_for_whole(raw: Any) -> None:
    one, _ = raw(answer(WHOLE)[:-20])
    with pytest.raises(httpx.RemoteProtocolError):
        one.chat(HELLO, headers={"x-session-id": "cut"})
    until(lambda: one.turns("cut"))
    assert one.turns("cut")[0]["status"] == "error"


def test_a_stream_that_just_ends_is_not_taken_for_finished(raw: Any) -> None:
    one, _ = raw(events(b'{"choices":[{"index":0,"delta":{"content":"half"}}]}'))
    reply = one.chat(HELLO, stream=True, headers={"x-session-id": "half"})
    assert reply.text.count("data:") == 1 and "stop" not in reply.text
    until(lambda: one.turns("half"))
    assert (one.turns("half")[0]["status"], one.turns("half")[0]["answer_text"]) == ("aborted", "half")


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_events_with_any_line_end_are_relayed_and_understood(raw: Any, end: bytes) -> None:
    delta = b'{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}'
    wire = events(delta, b"[DONE]", end=end)
    one, _ = raw(wire)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    reply = one.chat(HELLO, headers={"x-session-id": "ends"}, **options)
    assert reply.content == wire.partition(b"\r\n\r\n")[2]
    until(lambda: one.turns("ends"))
    assert one.turns("ends")[0]["answer_text"] == "ok"


def test_a_pooled_connection_that_the_upstream_has_closed_costs_no_answer(raw: Any) -> None:
    kept = answer(WHOLE).replace(b"connection: close\r\n", b"")  # says nothing, and hangs up all the same
    one, server = raw(kept)
    for _ in range(5):
        assert one.chat(HELLO).status_code == 200
    assert server.requests == 5


def test_data_after_the_last_event_is_relayed(raw: Any) -> None:
    delta = b'{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}'
    wire = events(delta, b"[DONE]", b'{"vendor":"statistics"}')
    one, _ = raw(wire)
    reply = one.chat(HELLO, stream=True, stream_options={"include_usage": True})
    assert reply.content == wire.partition(b"\r\n\r\n")[2]
