"""Headers on their way between two protocols."""

from __future__ import annotations

from collections.abc import Mapping

from metaclaw.gateway.upstream.base import WireName

_VERSION = "2023-06-01"
_BODY = frozenset(("content-length", "content-encoding", "content-type", "transfer-encoding", "accept-encoding"))
# What one provider's protocol says in headers means nothing to another's.
_FAMILY = {"messages": ("anthropic-",), "chat": ("openai-",), "responses": ("openai-",)}
_SUBSCRIPTION = "sk-ant-oat"


def request_headers(headers: Mapping[str, str], source: WireName, target: WireName) -> dict[str, str]:
    """The client's headers for an upstream of another protocol; its own credentials in that protocol's place."""
    foreign = () if _FAMILY[source] == _FAMILY[target] else _FAMILY[source]
    kept = {name: value for name, value in headers.items() if name not in _BODY and not name.startswith(foreign)}
    kept["content-type"] = "application/json"
    kept["accept-encoding"] = "identity"
    key, bearer = kept.get("x-api-key", ""), kept.get("authorization", "")
    if target == "messages":
        kept.setdefault("anthropic-version", _VERSION)
        token = bearer[7:].strip() if bearer[:7].lower() == "bearer " else ""
        if token and not key and not token.startswith(_SUBSCRIPTION):
            kept["x-api-key"] = token
            del kept["authorization"]
    elif key:
        kept.setdefault("authorization", f"Bearer {key}")
        del kept["x-api-key"]
    return kept


def answer_headers(headers: list[tuple[str, str]], content_type: str) -> list[tuple[str, str]]:
    """The upstream's headers (retry-after, rate limits, request ids) with the type of the translated body."""
    kept = [(name, value) for name, value in headers if name.lower() not in _BODY]
    return [*kept, ("content-type", content_type)]


def header(headers: list[tuple[str, str]], name: str) -> str:
    """One header of an answer, or an empty string."""
    return next((value for key, value in headers if key.lower() == name), "")
