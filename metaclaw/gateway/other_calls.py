"""Model calls that are no conversation: embeddings, completions, token counts, the model list."""

from __future__ import annotations

from metaclaw.gateway.identity import OWN_HEADERS, identify
from metaclaw.gateway.metrics import Metrics
from metaclaw.gateway.protocols import MESSAGES, OWN_FIELDS, Dialect, NotJson
from metaclaw.gateway.protocols.spans import dumps, members, replace_members
from metaclaw.gateway.recall import Recall
from metaclaw.gateway.relay import Relay
from metaclaw.gateway.sessions import SessionTable
from metaclaw.gateway.upstream.base import Request, UpstreamError, WireName
from metaclaw.gateway.upstream.dispatch import Dispatcher, Target
from metaclaw.gateway.wire import Receive, Scope, Send, respond
from metaclaw.tokens import count_apart

_IMAGE_TOKENS = 1600  # what Anthropic's documentation gives for the largest image that isn't scaled down


class OtherCalls:
    """Passes these calls on; none of them is recalled into or learned from."""

    def __init__(
        self, dispatcher: Dispatcher, sessions: SessionTable, recall: Recall, metrics: Metrics, default_scope: str
    ) -> None:
        self._dispatcher = dispatcher
        self._recall = recall
        self._sessions = sessions
        self._metrics = metrics
        self._default_scope = default_scope

    async def handle(
        self, scope: Scope, receive: Receive, send: Send, wire: WireName, dialect: Dialect, body: bytes
    ) -> None:
        """Pass one call on."""
        client: dict[str, str] = scope["metaclaw.headers"]
        try:
            fields = members(body)
        except NotJson as error:
            await respond(send, 400, dialect.error(400, f"the request's body is not JSON: {error}"))
            return
        if wire == "count_tokens":
            body = self._with_recalled(body, client)
            if not self._dispatcher.speaks(wire):
                await respond(send, 200, dumps({"input_tokens": await _counted(body)}))
                return

        def prepared(target: Target) -> bytes:
            edits: dict[str, bytes | None] = {k: None for k in OWN_FIELDS if k in fields}
            if target.model_id and "model" in fields:
                edits["model"] = dumps(target.model_id)
            return replace_members(body, edits) if edits else body

        outgoing = Request(
            wire=wire,
            body=b"",
            headers={k: v for k, v in client.items() if k not in OWN_HEADERS},
            query=scope.get("query_string", b"").decode("latin-1"),
        )
        self._metrics.count("other_calls", wire)
        try:
            answer = await self._dispatcher.send(outgoing, prepared)
        except UpstreamError as error:
            await respond(send, error.status, dialect.error(error.status, error.public))
            return
        try:
            await Relay(send, answer, seen=lambda chunk: None, settle=_nothing).run()
        finally:
            await answer.aclose()

    def _with_recalled(self, body: bytes, client: dict[str, str]) -> bytes:
        """The body as the next model call would send it: with the session's recalled blocks in their places."""
        try:
            request = MESSAGES.read(body)
            live = self._sessions.get(identify(client, request, self._default_scope).session_id)
            edits = self._recall.replayed(request, live) if live else {}
            return MESSAGES.edit(request, edits, {})
        except Exception:
            self._metrics.count("prepare_failed")
            return body


async def _nothing() -> None:
    return None


async def _counted(body: bytes) -> int:
    """Tokens of system prompt, tools and messages, where no upstream counts them."""
    fields = members(body)
    texts = [fields[name].decode("utf-8", "replace") for name in ("system", "tools", "messages") if name in fields]
    images = sum(text.count('"type":"image"') for text in texts)
    return sum(await count_apart([_without_data(text) for text in texts])) + images * _IMAGE_TOKENS


def _without_data(text: str) -> str:
    """The text without base64 payloads, which are not read as text by any model."""
    pieces = text.split('"data":"')
    return pieces[0] + "".join(piece.partition('"')[2] for piece in pieces[1:])
