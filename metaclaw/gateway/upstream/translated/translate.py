"""Whole documents: requests, JSON answers, errors."""

from __future__ import annotations

from metaclaw.gateway.upstream.base import WireName
from metaclaw.gateway.upstream.translated.answer import Collected, collect
from metaclaw.gateway.upstream.translated.dialects import dialect
from metaclaw.gateway.upstream.translated.failures import client_status, read_error_bytes
from metaclaw.gateway.upstream.translated.payload import Json, encode


def translate_request(source: WireName, target: WireName, body: Json) -> Json:
    """A client's request in `source` as the upstream that speaks `target` wants it.

    Pure: `body` is not changed. Raises Untranslatable where the target cannot do what the request needs.
    """
    return dialect(target).write_request(dialect(source).read_request(body))


def read_answer(target: WireName, body: Json, *, model: str = "") -> Collected:
    """An upstream's JSON answer in our words; `failure` is set where it is an error after all."""
    answer = collect(dialect(target).reader().whole(body))
    answer.model = model or answer.model
    return answer


def translate_answer(
    target: WireName, source: WireName, body: Json, *, model: str, request: Json | None = None
) -> Json:
    """An upstream's JSON answer in `target` as the client that speaks `source` expects it.

    `model` is the name the client is told (empty: the upstream's own); `request` is the client's, for the names of
    its tools and for what responses repeats of it. A body that is an error comes back as the client's error object.
    """
    answer = read_answer(target, body, model=model)
    if answer.failure:
        return dialect(source).write_error(answer.failure)
    return dialect(source).write_answer(answer, request or {})


def translate_error(status: int, body: bytes, source: WireName) -> bytes:
    """An upstream's error body, in whatever form, as the client that speaks `source` expects it."""
    return encode(dialect(source).write_error(read_error_bytes(status, body)))


def translate_status(status: int, body: bytes, source: WireName) -> int:
    """The status to go with that body."""
    return client_status(read_error_bytes(status, body), source)
