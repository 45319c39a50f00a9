"""An upstream around another one: it speaks the two protocols that the inner one does not."""

from __future__ import annotations

import logging
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from metaclaw.gateway.upstream.base import Answer, Request, Upstream, UpstreamError, WireName
from metaclaw.gateway.upstream.translated.answer import Collected, collect
from metaclaw.gateway.upstream.translated.dialects import dialect, is_dialect
from metaclaw.gateway.upstream.translated.failures import Failure, client_status, read_error_bytes
from metaclaw.gateway.upstream.translated.headers import answer_headers, header, request_headers
from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.payload import Json, Malformed, decode, encode
from metaclaw.gateway.upstream.translated.stream import StreamTranslator
from metaclaw.gateway.upstream.translated.translate import read_answer, translate_request

_log = logging.getLogger(__name__)

_EVENTS = "text/event-stream"
_JSON = "application/json"
_ERROR_LIMIT = 1 << 20
_NOT_JSON = "the model's provider answered with something that is no JSON"


class Translated:
    """Wraps an upstream that speaks `target`: requests go out in it, answers come back in the client's protocol."""

    def __init__(self, inner: Upstream, target: WireName) -> None:
        dialect(target)  # refuses what is none of the three
        self.name = inner.name
        self._inner = inner
        self._target: WireName = target

    def speaks(self, wire: WireName) -> bool:
        """The protocols that are translated; the upstream's own goes to the upstream itself."""
        return is_dialect(wire) and wire != self._target

    async def send(self, request: Request) -> Answer:
        """Send the request in the upstream's protocol. Raises UpstreamError, with 400 for what cannot be translated."""
        source, target = request.wire, self._target
        body = _request_body(request)
        try:
            translated = translate_request(source, target, body)
        except UpstreamError:
            raise
        except Exception as error:
            raise _fault(error) from error
        answer = await self._inner.send(
            replace(
                request,
                wire=target,
                body=encode(translated),
                headers=request_headers(request.headers, source, target),
                query="",  # it belongs to the client's protocol (?beta=true)
                stream=translated.get("stream") is True,
            )
        )
        try:
            return await _Exchange(source, target, body, answer).translated()
        except BaseException as error:
            await answer.aclose()
            if isinstance(error, UpstreamError) or not isinstance(error, Exception):
                raise
            raise _fault(error) from error

    async def aclose(self) -> None:
        """Close the inner upstream."""
        await self._inner.aclose()


def _fault(error: Exception) -> UpstreamError:
    """A fault of ours: counted, logged, and told in plain words."""
    LOSSES.note("fault in a translation")
    _log.warning("Translating a call failed: %s", type(error).__name__, exc_info=error)
    return UpstreamError(502, "this call could not be translated for the model's provider; the log says more")


def _request_body(request: Request) -> Json:
    try:
        body = decode(request.body)
    except Malformed as error:
        raise UpstreamError(400, f"the request body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise UpstreamError(400, "the request body is no JSON object")
    return body


class _Exchange:
    """One answer on its way back."""

    def __init__(self, source: WireName, target: WireName, body: Json, answer: Answer) -> None:
        self._source = source
        self._target = target
        self._body = body
        self._answer = answer
        self._plain = _decompressor(header(answer.headers, "content-encoding"))
        self._document: Json = {}

    async def translated(self) -> Answer:
        """The answer in the client's protocol; for a stream, as soon as the upstream's status is known."""
        answer = self._answer
        if answer.status >= 400:
            raw = await self._read(_ERROR_LIMIT)
            return await self._failed(read_error_bytes(answer.status, raw))
        streamed = header(answer.headers, "content-type").lower().startswith(_EVENTS)
        wanted = self._body.get("stream") is True
        if streamed and wanted:
            translator = StreamTranslator(self._target, self._source, request=self._body)
            body = _Translation(answer, translator, self._plain)
            return self._answered(answer.status, _EVENTS, body)
        collected = await (self._collect_stream() if streamed else self._collect_json())
        if collected.failure:
            return await self._failed(collected.failure)
        if wanted:  # the upstream can't stream, or was not asked to by something between us
            return await self._whole(200, _EVENTS, self._as_stream())
        return await self._whole(200, _JSON, encode(dialect(self._source).write_answer(collected, self._body)))

    async def _collect_json(self) -> Collected:
        try:
            document = decode(await self._read())
        except Malformed:
            raise UpstreamError(502, _NOT_JSON) from None
        if not isinstance(document, dict):
            raise UpstreamError(502, _NOT_JSON)
        self._document = document
        return self._named(read_answer(self._target, self._document))

    async def _collect_stream(self) -> Collected:
        reader = StreamTranslator(self._target, self._source, request=self._body)
        return self._named(collect(reader.events(await self._read())))

    def _named(self, collected: Collected) -> Collected:
        collected.model = collected.model or self._answer.model
        return collected

    def _as_stream(self) -> bytes:
        translator = StreamTranslator(self._target, self._source, request=self._body)
        return translator.whole(self._document)

    async def _failed(self, failure: Failure) -> Answer:
        status = client_status(failure, self._source)
        return await self._whole(status, _JSON, encode(dialect(self._source).write_error(failure)))

    async def _whole(self, status: int, content_type: str, body: bytes) -> Answer:
        await self._answer.aclose()
        return self._answered(status, content_type, _once(body))

    def _answered(self, status: int, content_type: str, chunks: AsyncIterator[bytes]) -> Answer:
        answer = self._answer
        return Answer(status, answer_headers(answer.headers, content_type), chunks, answer.upstream, answer.model)

    async def _read(self, limit: int = 0) -> bytes:
        pieces: list[bytes] = []
        size = 0
        async for chunk in self._answer.chunks:
            pieces.append(self._plain(chunk))
            size += len(pieces[-1])
            if limit and size > limit:
                break
        return b"".join(pieces)


class _Translation:
    """The translated stream. Hanging up on it hangs up on the upstream, also before the first chunk."""

    def __init__(self, answer: Answer, translator: StreamTranslator, plain: Callable[[bytes], bytes]) -> None:
        self._answer = answer
        self._translator = translator
        self._plain = plain
        self._over = False
        self._broken: UpstreamError | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._over:
            try:
                chunk = self._plain(await anext(self._answer.chunks))
            except StopAsyncIteration:
                out = self._end()
            except UpstreamError as error:
                self._broken = error
                out = self._end(error.public)
            else:
                out = self._translator.feed(chunk)
            if out:
                return out
        # The client has been told in its dialect; the gateway is told, too, so that it counts the turn as failed.
        broken, self._broken = self._broken, None
        if broken:
            raise broken
        raise StopAsyncIteration

    def _end(self, error: str = "") -> bytes:
        self._over = True
        return self._translator.finish(error)

    async def aclose(self) -> None:
        """Hang up on the upstream."""
        self._over = True
        await self._answer.aclose()


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _decompressor(encoding: str) -> Callable[[bytes], bytes]:
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return bytes
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise UpstreamError(502, f"the model's provider compressed its answer ({encoding}) although asked not to")
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def plain(chunk: bytes) -> bytes:
        try:
            return inflate.decompress(chunk)
        except zlib.error:
            raise UpstreamError(502, "the model's provider sent a compressed answer that is damaged") from None

    return plain
