"""One model call from door to door: identify, recall, send, relay, capture."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Protocol

from metaclaw.gateway.capture import Capture, Recorder
from metaclaw.gateway.classify import newest_person, side_reason
from metaclaw.gateway.identity import OWN_HEADERS, Identity, identify
from metaclaw.gateway.metrics import Metrics
from metaclaw.gateway.protocols import OWN_FIELDS, ClientRequest, Dialect, NotJson
from metaclaw.gateway.protocols.spans import dumps, members, replace_members
from metaclaw.gateway.recall import Recall
from metaclaw.gateway.relay import Relay
from metaclaw.gateway.sessions import Extent, Live, SessionTable, measure
from metaclaw.gateway.trim import oldest_turns
from metaclaw.gateway.upstream.base import Answer, Request, UpstreamError
from metaclaw.gateway.upstream.dispatch import Dispatcher, Target
from metaclaw.gateway.wire import Receive, Scope, Send, respond
from metaclaw.journal.records import Injection, Session
from metaclaw.tokens import count

_log = logging.getLogger(__name__)
_WITHOUT_OWN: dict[str, bytes | None] = dict.fromkeys(OWN_FIELDS)


class JournalReads(Protocol):
    """What a conversation is read back with."""

    def session(self, session_id: str) -> Session | None: ...
    def chains(self, session_id: str) -> list[bytes]: ...
    def injections(self, session_id: str) -> list[Injection]: ...
    def find_by_chain(self, chains: list[bytes]) -> list[tuple[bytes, Session]]: ...


class Turns:
    """Answers the model calls of the three dialects."""

    def __init__(
        self,
        *,
        dispatcher: Dispatcher,
        recall: Recall,
        sessions: SessionTable,
        recorder: Recorder,
        journal: JournalReads,
        metrics: Metrics,
        default_scope: str,
        commit_wait: float,
        max_tokens: int,
        end_session: Callable[[str, str], Future[None]],
        answered: Callable[[str, int], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._dispatcher = dispatcher
        self._recall = recall
        self._sessions = sessions
        self._recorder = recorder
        self._journal = journal
        self._metrics = metrics
        self._default_scope = default_scope
        self._commit_wait = commit_wait
        self._max_tokens = max_tokens
        self._end_session = end_session
        self._answered = answered
        self._clock = clock

    async def handle(self, scope: Scope, receive: Receive, send: Send, dialect: Dialect, body: bytes) -> None:
        """Answer one call. A client that leaves ends the call at the upstream too."""
        try:
            request = dialect.read(body)
        except NotJson as error:
            await respond(send, 400, dialect.error(400, f"the request's body is not JSON: {error}"))
            return
        client_headers: dict[str, str] = scope["metaclaw.headers"]
        capture, identity = await self._prepare(request, client_headers)
        outgoing = Request(
            wire=dialect.wire,
            body=b"",
            headers={k: v for k, v in client_headers.items() if k not in OWN_HEADERS},
            query=scope.get("query_string", b"").decode("latin-1"),
            stream=request.stream,
            model=request.model,
        )
        task = asyncio.current_task()
        assert task is not None

        def left(watch: asyncio.Task[None]) -> None:
            if not watch.cancelled():
                capture.aborted = True
                task.cancel()

        watch = asyncio.ensure_future(_left(receive))
        watch.add_done_callback(left)
        try:
            await self._answer(send, request, outgoing, capture, identity)
        except asyncio.CancelledError:
            if not capture.aborted:
                raise
            task.uncancel()
            self._metrics.count("client_left")
        finally:
            watch.remove_done_callback(left)
            watch.cancel()

    async def _prepare(self, request: ClientRequest, client_headers: dict[str, str]) -> tuple[Capture, Identity]:
        """Find the conversation and what to recall; trouble here leaves a request that is simply passed on."""
        capture = Capture(request, started_at=self._clock())
        identity = Identity()
        try:
            identity = identify(client_headers, request, self._default_scope)
            if identity.turn_type == "side":
                capture.side_reason, capture.side_session = "declared", identity.session_id
                self._metrics.count("side_calls", capture.side_reason)
                return capture, identity
            known = self._sessions.get(identity.session_id) if identity.session_id else None
            reason = side_reason(request, session_uses_tools=known is not None and known.uses_tools)
            if identity.turn_type == "main":
                reason = ""
            person = newest_person(request)
            if reason or person is None:
                capture.side_reason = reason or "no_person"
                capture.side_session = identity.session_id
                self._metrics.count("side_calls", capture.side_reason)
                return capture, identity
            extent = measure(request, person)
            live = known or await self._conversation(request, identity, extent)
            self._enter(capture, request, live, extent)
            capture.edits = await self._recall.edit(request, live, extent)
            if self._max_tokens:
                capture.edits.left_out = await asyncio.to_thread(oldest_turns, request, self._max_tokens, count)
            self._metrics.count("main_calls")
        except Exception:
            self._metrics.count("prepare_failed")
            _log.exception("the request could not be prepared; it is passed on as it came")
        return capture, identity

    def _enter(self, capture: Capture, request: ClientRequest, live: Live, extent: Extent) -> None:
        said = b"".join(u.digest for u in request.items[extent.person].units if u.role == "user")
        if not (live.turn_open and live.turn_person == said):
            # A retry, and a turn whose history was compacted under way, go on under the key they began with.
            live.turn_key, live.turn_person = extent.chains[extent.person], said
        live.turn_open = True
        live.asked = extent.whole
        live.uses_tools = live.uses_tools or request.has_tools
        live.in_flight += 1
        capture.live, capture.extent, capture.turn_key = live, extent, live.turn_key
        self._sessions.note(live, [extent.whole])

    async def _conversation(self, request: ClientRequest, identity: Identity, extent: Extent) -> Live:
        """The conversation a main turn belongs to: in RAM, in the journal, or new."""
        spoken = any(u.role == "assistant" for item in request.items for u in item.units)
        if identity.session_id and not spoken:
            # Nothing was answered in it yet: what the journal might know of the id has no bearing on this request.
            return self._sessions.open(request, identity, extent)
        if identity.session_id:
            record = await asyncio.to_thread(self._journal.session, identity.session_id)
            return await self._read_back(record) if record else self._sessions.open(request, identity, extent)
        live = self._sessions.find(request, extent)
        if live is None and spoken:
            found = await asyncio.to_thread(self._journal.find_by_chain, list(dict.fromkeys(extent.chains))[-32:])
            newest = [(chain, record) for chain, record in found if chain == record.head]
            if newest:
                return await self._read_back(newest[-1][1])
        return live or self._sessions.open(request, identity, extent)

    async def _read_back(self, record: Session) -> Live:
        chains, injections = await asyncio.to_thread(
            lambda: (self._journal.chains(record.id), self._journal.injections(record.id))
        )
        return self._sessions.adopt(record, chains, injections)

    async def _answer(
        self, send: Send, request: ClientRequest, outgoing: Request, capture: Capture, identity: Identity
    ) -> None:
        dialect = request.dialect
        wants_usage = _wants_usage(request)
        started = False
        answer: Answer | None = None

        async def settle() -> None:
            await self._settle(capture, identity)

        try:
            capture.sent = time.perf_counter()
            answer = await self._dispatcher.send(outgoing, lambda target: self._body(request, capture, target))
            capture.status, capture.upstream, capture.model = answer.status, answer.upstream, answer.model
            kind = dict(answer.headers).get("content-type", "")
            capture.stream = kind.startswith("text/event-stream")
            capture.encoding = dict(answer.headers).get("content-encoding", "")
            self._answered(answer.upstream, answer.status)
            if answer.status >= 400:
                _log.warning("%s answered a model call with %d", answer.upstream, answer.status)
            started = True
            await Relay(
                send,
                answer,
                seen=capture.feed,
                settle=settle,
                done_marks=dialect.done_marks,
                hide_usage=capture.stream and not wants_usage,
                extra_headers=_session_header(capture),
            ).run()
        except UpstreamError as error:
            self._metrics.count("upstream_failed")
            capture.broken = error.public
            capture.status = capture.status or error.status
            if not started:
                _log.warning("a model call was not answered: %s", error.public)
                await respond(send, error.status, dialect.error(error.status, error.public), _session_header(capture))
            else:
                _log.warning("%s in the middle of an answer", error.public)
        finally:
            if answer is not None:
                await answer.aclose()
            self._record(capture, identity)
            if capture.live is not None:
                capture.live.in_flight -= 1

    async def _settle(self, capture: Capture, identity: Identity) -> None:
        """Wait, within limits, until the turn is on disk."""
        written = self._record(capture, identity)
        if written is None or capture.live is None or not self._commit_wait:
            return
        try:
            async with asyncio.timeout(self._commit_wait):
                if not await written:
                    self._metrics.count("commit_failed")
        except TimeoutError:
            self._metrics.count("commit_late")

    def _record(self, capture: Capture, identity: Identity) -> asyncio.Future[bool] | None:
        if capture.recorded:
            return None
        capture.recorded = True
        try:
            written = self._recorder.record(capture)
            if identity.done and capture.live is not None:
                return asyncio.ensure_future(_both(written, self._end_session(capture.live.id, "done")))
            return written
        except Exception:
            self._metrics.count("record_failed")
            _log.exception("a call could not be handed to the journal")
            return None

    def _body(self, request: ClientRequest, capture: Capture, target: Target) -> bytes:
        """The bytes for one target: the client's own, with what is put in and taken out."""
        fields: dict[str, bytes | None] = {k: None for k in _WITHOUT_OWN if k in request.fields}
        fields.update({k: None for k in target.drop_fields if k in request.fields})
        fields.update({k: dumps(v) for k, v in target.defaults.items() if k not in request.fields})
        if target.model_id and target.model_id != request.model:
            fields["model"] = dumps(target.model_id)
        if request.dialect.wire == "chat" and request.stream and "stream_options" not in target.drop_fields:
            fields.update(_ask_usage(request))
        try:
            edits = capture.edits
            return request.dialect.edit(request, edits.items, {**fields, **edits.fields}, edits.left_out)
        except Exception:
            self._metrics.count("edit_failed")
            _log.exception("recalled text could not be put in; the turn goes on without it")
            return request.dialect.edit(request, {}, fields)


def _session_header(capture: Capture) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"x-session-id", capture.live.id.encode("latin-1", "replace")),) if capture.live else ()


def _wants_usage(request: ClientRequest) -> bool:
    """Whether the client asked for the usage event; only chat completions leave the choice."""
    if request.dialect.wire != "chat" or not request.stream:
        return True
    options = request.fields.get("stream_options", b"")
    return options.lstrip()[:1] == b"{" and members(options).get("include_usage", b"").strip() == b"true"


def _ask_usage(request: ClientRequest) -> dict[str, bytes]:
    if _wants_usage(request):
        return {}
    options: Any = request.fields.get("stream_options", b"")
    base = options if options.lstrip()[:1] == b"{" else b"{}"
    return {"stream_options": replace_members(base, {"include_usage": b"true"})}


async def _both(written: asyncio.Future[bool], ended: Future[None]) -> bool:
    """Whether a call and the end of its session are both on disk."""
    try:
        await asyncio.wrap_future(ended)
    except Exception:
        return False  # the journal has said why
    return await written


async def _left(receive: Receive) -> None:
    """Returns when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


Handler = Callable[[Scope, Receive, Send], Awaitable[None]]
