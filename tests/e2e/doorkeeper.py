"""Stands before MetaClaw's gateway and writes down who knocks with which headers; everything is passed on."""

from __future__ import annotations

import http.client
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


@dataclass(slots=True)
class Knock:
    """One request, before MetaClaw took its own headers out."""

    method: str
    path: str
    headers: dict[str, str]
    body: str
    status: int = 0

    def header(self, name: str) -> str:
        """A header's value, or nothing."""
        return self.headers.get(name.lower(), "")


@dataclass
class Doorkeeper:
    """The server, in a thread of its own: `with Doorkeeper(gateway_url) as door: door.url`."""

    target: str
    knocks: list[Knock] = field(default_factory=list)
    open: bool = True  # closed: every connection ends without an answer

    def __enter__(self) -> Self:
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                door.answer(self)

            do_POST = do_PATCH = do_DELETE = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def model_calls(self) -> list[Knock]:
        """The knocks that wanted an answer of the model."""
        return [knock for knock in self.knocks if knock.path.endswith("/chat/completions")]

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Pass one request on, piece by piece."""
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in request.headers.items()}
        knock = Knock(request.command, request.path, headers, body.decode("utf-8", "replace"))
        self.knocks.append(knock)
        request.close_connection = True
        if not self.open:
            return
        target = urlsplit(self.target)
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=120)
        kept = {name: value for name, value in headers.items() if name not in _HOP}
        connection.request(request.command, request.path, body or None, kept)
        answer = connection.getresponse()
        knock.status = answer.status
        request.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP:
                request.send_header(name, value)
        request.send_header("connection", "close")
        request.end_headers()
        while piece := answer.read1(65536):
            request.wfile.write(piece)
            request.wfile.flush()
        connection.close()
