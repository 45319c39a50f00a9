"""Streams: server-sent events of one protocol in, of another out, as they arrive."""

from __future__ import annotations

import logging

from metaclaw.gateway.upstream.base import WireName
from metaclaw.gateway.upstream.translated.dialects import dialect
from metaclaw.gateway.upstream.translated.events import Event, Failed, Started, Stopped
from metaclaw.gateway.upstream.translated.failures import broken
from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.order import OneAtATime
from metaclaw.gateway.upstream.translated.payload import Json, Malformed, as_text, decode
from metaclaw.gateway.upstream.translated.sse import SseReader

_log = logging.getLogger(__name__)


class StreamTranslator:
    """Translates one stream from `target` (what the upstream speaks) to `source` (what the client speaks).

    Feed it chunks with any borders; it gives what can go out now, which may be nothing. It never raises: a chunk
    that cannot be read is counted and skipped, a failure of our own ends the stream as an error in the client's
    dialect, and so does a stream that ends before the answer is whole.
    """

    def __init__(self, target: WireName, source: WireName, *, request: Json) -> None:
        self._sse = SseReader()
        self._reader = dialect(target).reader()
        self._writer = dialect(source).writer(request, as_text(request.get("model")))
        self._order = OneAtATime() if self._writer.one_at_a_time else None
        self._started = False
        self.ended = False  # the client has got its last event
        self.failed = False  # and that event was an error

    def feed(self, chunk: bytes) -> bytes:
        """The client's bytes for these bytes of the upstream."""
        if self.ended:
            return b""
        try:
            return b"".join([self._say(event) for item in self._sse.feed(chunk) for event in self._read(*item)])
        except Exception as error:
            return self._broken(error)

    def finish(self, error: str = "") -> bytes:
        """The client's last bytes, when the upstream's stream is over; `error` says in a line why it broke."""
        if self.ended:
            return b""
        try:
            out = b"".join([self._say(event) for item in self._sse.end() for event in self._read(*item)])
            if self.ended:
                return out
            events = [Failed(broken(error))] if error else self._reader.end()
            return out + b"".join([self._say(event) for event in events])
        except Exception as problem:
            return self._broken(problem)

    def events(self, stream: bytes) -> list[Event]:
        """A whole stream in our words, for a client that wants one JSON document."""
        found = [event for item in (*self._sse.feed(stream), *self._sse.end()) for event in self._read(*item)]
        return found + self._reader.end()

    def whole(self, body: Json) -> bytes:
        """The stream for an upstream that answered with one JSON document instead."""
        if self.ended:
            return b""
        try:
            return b"".join([self._say(event) for event in self._reader.whole(body)])
        except Exception as error:
            return self._broken(error)

    def _read(self, name: str, data: str) -> list[Event]:
        if self._reader.finished:
            return []
        if data.startswith("[DONE]"):
            return self._reader.done()
        try:
            parsed = decode(data)
        except Malformed:
            LOSSES.note("malformed chunk")
            return []
        if isinstance(parsed, dict):
            return self._reader.event(name, parsed)
        LOSSES.note("malformed chunk")
        return []

    def _say(self, event: Event) -> bytes:
        if self.ended:
            return b""
        out = b""
        if not self._started and not isinstance(event, Failed):
            self._started = True
            if not isinstance(event, Started):
                out = self._writer.write(Started("", ""))
        elif isinstance(event, Started):
            return b""
        ordered = self._order.push(event) if self._order else [event]
        out += b"".join([self._writer.write(item) for item in ordered])
        if isinstance(event, Failed | Stopped):
            self.ended = True
            self.failed = isinstance(event, Failed)
        return out

    def _broken(self, error: Exception) -> bytes:
        # The boundary where a fault of ours must cost the user no more than this one answer.
        LOSSES.note("fault in a translation")
        _log.warning("Translating a stream failed: %s", type(error).__name__, exc_info=error)
        self.ended = self.failed = True
        try:
            return self._writer.write(Failed(broken("The model's answer could not be translated.")))
        except Exception:
            return b""
