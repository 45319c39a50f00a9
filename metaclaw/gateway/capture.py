"""Tees an answer into the journal, off the request path."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from metaclaw.gateway.canonical import chain
from metaclaw.gateway.protocols import Answer, ClientRequest, Item
from metaclaw.gateway.recall import Edits
from metaclaw.gateway.sessions import Extent, Live, as_message, fresh_messages, spoken_digests
from metaclaw.journal.records import Call, Message, Session, Status

MAX_ANSWER = 32 * 1024 * 1024  # bytes of one answer that are kept; beyond it the turn is marked as cut


@dataclass(slots=True)
class Capture:
    """One model call while it runs: what is known of it, and its answer's bytes."""

    request: ClientRequest
    live: Live | None = None  # None for a side call
    extent: Extent | None = None
    edits: Edits = field(default_factory=Edits)
    side_reason: str = ""
    side_session: str = ""
    turn_key: bytes = b""
    started_at: float = 0.0
    started: float = field(default_factory=time.perf_counter)
    sent: float = 0.0
    first_byte: float = 0.0
    upstream: str = ""
    model: str = ""
    status: int = 0
    stream: bool = False
    encoding: str = ""
    aborted: bool = False
    broken: str = ""
    chunks: list[bytes] = field(default_factory=list)
    size: int = 0
    recorded: bool = False
    said: list[Item] = field(default_factory=list)  # the answer, as it will come back in the next request

    def feed(self, chunk: bytes) -> None:
        """Keep a piece of the answer."""
        if not self.first_byte:
            self.first_byte = time.perf_counter()
        self.size += len(chunk)
        if self.size <= MAX_ANSWER:
            self.chunks.append(chunk)

    def build(self) -> Call:
        """The journal's record of this call. Runs in the journal's writer thread; never raises for bad answers."""
        answer = self._answer()
        ended = time.perf_counter()
        call = Call(
            session=self.live.record if self.live else Session(id=self.side_session),
            kind="main" if self.live else "side",
            side_reason=self.side_reason,
            upstream=self.upstream,
            model=self.model or self.request.model,
            started_at=self.started_at,
            first_byte_ms=(self.first_byte - self.started) * 1000 if self.first_byte else None,
            duration_ms=(ended - self.started) * 1000,
            added_ms=(self.sent - self.started) * 1000 if self.sent else 0.0,
            http_status=self.status,
            status=self._status(answer),
            final=not answer.pending_calls,
            finish_reason=answer.finish_reason,
            error=self.broken or answer.error,
            usage=answer.usage,
        )
        return self._main(call, answer) if self.live and self.extent else call

    def _main(self, call: Call, answer: Answer) -> Call:
        assert self.live and self.extent
        live = self.live
        messages = fresh_messages(self.request, self.extent, live)
        said, head = self._said(answer) if call.status != "error" else ([], b"")
        live.learn([*messages, *said], head)
        units = self.request.items[self.extent.person].units
        return replace(
            call,
            session=replace(live.record, last_at=self.started_at),
            turn_key=self.turn_key,
            user_text="\n".join(u.text for u in units if u.role == "user" and u.kind == "said"),
            answer_text=answer.text,
            messages=[*messages, *said],
            injection=self.edits.injection,
            recalled=list(self.edits.recalled),
            injected_tokens=self.edits.tokens,
        )

    def _said(self, answer: Answer) -> tuple[list[Message], bytes]:
        """The answer as messages that continue the conversation, and the new head."""
        assert self.extent
        head = self.extent.whole
        messages = []
        self.said = [self.request.dialect.item(raw) for raw in answer.messages]
        for item in self.said:
            head = chain(head, (u.digest for u in item.units))
            messages.append(as_message(item, head))
        return messages, head

    def _status(self, answer: Answer) -> Status:
        if self.broken or answer.error or self.status >= 400:
            return "error"
        if self.aborted or not answer.complete:
            return "aborted"
        return "ok"

    def _answer(self) -> Answer:
        data = _decoded(b"".join(self.chunks), self.encoding)
        if data is None:
            return Answer(error=f"the answer came as {self.encoding}, which can't be read here", complete=True)
        if self.status >= 400:
            text = " ".join(data[:500].decode("utf-8", "replace").split())
            return Answer(error=text or f"HTTP {self.status}", complete=True)
        if not data and self.aborted:
            return Answer()
        answer = self.request.dialect.assemble(data, stream=self.stream)
        if self.size > MAX_ANSWER:
            answer.error = f"the answer passed {MAX_ANSWER} bytes; the rest was not recorded"
        return answer


@dataclass(slots=True)
class _Outcome:
    """What became of one call in the journal's thread, for the event loop."""

    capture: Capture
    waiter: asyncio.Future[bool]
    call: Call | None = None  # None when it could not be put together
    error: BaseException | None = None


class Recorder:
    """Hands finished calls to the journal and keeps the session table in step with it."""

    def __init__(
        self,
        journal: Any,
        loop: asyncio.AbstractEventLoop,
        note: Callable[..., None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._journal = journal
        self._loop = loop
        self._note = note
        self._failed = failed
        self._outcomes: deque[_Outcome] = deque()
        self._rung = False

    def record(self, capture: Capture) -> asyncio.Future[bool]:
        """Append the call. The future is done when the journal is done with it, and says whether it is on disk."""
        outcome = _Outcome(capture, self._loop.create_future())

        def build() -> Call:
            outcome.call = capture.build()
            return outcome.call

        def written(done: Future[None]) -> None:
            outcome.error = done.exception()
            self._outcomes.append(outcome)
            self._ring()

        self._journal.append(build).add_done_callback(written)
        return outcome.waiter

    def _ring(self) -> None:
        """Wake the event loop, to which the session table belongs: once for all calls of a transaction."""
        if not self._rung:
            self._rung = True
            self._loop.call_soon_threadsafe(self._heard)

    def _heard(self) -> None:
        self._rung = False  # ahead of the look: a call that ends meanwhile rings again
        while self._outcomes:
            outcome = self._outcomes.popleft()
            try:
                self._written(outcome)
            finally:
                if not outcome.waiter.done():
                    outcome.waiter.set_result(outcome.error is None)

    def _written(self, outcome: _Outcome) -> None:
        call, capture = outcome.call, outcome.capture
        if outcome.error is not None:
            self._failed(outcome.error)
        if call is None or capture.live is None or capture.extent is None:
            return
        if outcome.error is not None:
            capture.live.forget(call.messages)
        capture.live.turn_open = call.status != "ok" or not call.final
        self._note(capture.live, [capture.live.record.head], spoken_digests(capture.said))


def _decoded(data: bytes, encoding: str) -> bytes | None:
    if encoding in ("", "identity"):
        return data
    if encoding not in ("gzip", "deflate"):
        return None
    try:
        return zlib.decompressobj(wbits=47 if encoding == "gzip" else 15).decompress(data, 4 * MAX_ANSWER)
    except zlib.error:
        return None
