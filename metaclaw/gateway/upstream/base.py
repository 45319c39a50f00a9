"""What the gateway asks of an upstream, and what it gets back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

WireName = Literal["chat", "messages", "responses", "completions", "embeddings", "count_tokens", "models"]


class UpstreamError(Exception):
    """The upstream could not be asked at all.

    `status` is what the client is told (502 unreachable, 504 silent, 503 not configured, 400 can't be translated);
    `public` is one line without the upstream's URL or key.
    """

    def __init__(self, status: int, public: str, *, retryable: bool = False) -> None:
        super().__init__(public)
        self.status = status
        self.public = public
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class Request:
    """One model call on its way out, in the wire protocol `wire`."""

    wire: WireName
    body: bytes
    headers: Mapping[str, str]  # the client's, lower case, hop-by-hop and MetaClaw's own already removed
    query: str = ""
    stream: bool = False
    model: str = ""


@dataclass(slots=True)
class Answer:
    """The upstream's answer: status and headers at once, the body as it arrives.

    `chunks` raises UpstreamError if the upstream breaks in the middle. `aclose` hangs up on the upstream;
    call it exactly once, also after the last chunk.
    """

    status: int
    headers: list[tuple[str, str]]
    chunks: AsyncIterator[bytes]
    upstream: str = ""
    model: str = ""

    async def aclose(self) -> None:
        """Hang up."""
        close = getattr(self.chunks, "aclose", None)
        if close is not None:
            await close()


class Upstream(Protocol):
    """Something that answers model calls in some wire protocols."""

    name: str

    def speaks(self, wire: WireName) -> bool:
        """Whether a request in this protocol can be sent as it is."""
        ...

    async def send(self, request: Request) -> Answer:
        """Send; return when status and headers are known. Raises UpstreamError."""
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...
