"""An upstream that speaks the client's own protocol: bytes through, one pooled client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp

from metaclaw.gateway.upstream.base import Answer, Request, UpstreamError, WireName

_HOP_BY_HOP = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_NOT_UPSTREAM = _HOP_BY_HOP | {"host", "content-length", "accept-encoding", "expect"}
_LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))


class Connections:
    """The gateway's HTTP client: keep-alive pools, proxies from the environment honoured except for loopback."""

    def __init__(self, *, connect_timeout: float, idle_timeout: float) -> None:
        self._timeout = aiohttp.ClientTimeout(
            total=None, connect=None, sock_connect=connect_timeout, sock_read=idle_timeout
        )
        self._direct: aiohttp.ClientSession | None = None
        self._proxied: aiohttp.ClientSession | None = None

    def session(self, url: str) -> aiohttp.ClientSession:
        """The pool for a URL."""
        if urlsplit(url).hostname in _LOOPBACK:
            self._direct = self._direct or self._new(trust_env=False)
            return self._direct
        self._proxied = self._proxied or self._new(trust_env=True)
        return self._proxied

    def _new(self, *, trust_env: bool) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ttl_dns_cache=60),
            timeout=self._timeout,
            trust_env=trust_env,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
            read_bufsize=2**18,
        )

    async def aclose(self) -> None:
        """Close the pools."""
        for session in (self._direct, self._proxied):
            if session is not None:
                await session.close()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where calls of one protocol go. `credentials` authenticate; None passes the client's own through.

    `extra` headers are added where the client doesn't send them itself.
    """

    url: str
    credentials: Mapping[str, str] | None
    extra: Mapping[str, str]


class Passthrough:
    """A provider, asked in the protocols it speaks itself."""

    def __init__(self, name: str, endpoints: Mapping[WireName, Endpoint], connections: Connections) -> None:
        self.name = name
        self._endpoints = dict(endpoints)
        self._connections = connections

    def speaks(self, wire: WireName) -> bool:
        """Whether the endpoint sells this protocol."""
        return wire in self._endpoints

    async def send(self, request: Request) -> Answer:
        """Send the bytes as they are."""
        endpoint = self._endpoints[request.wire]
        url = endpoint.url
        if request.query:
            url += ("&" if "?" in url else "?") + request.query
        method = "GET" if request.wire == "models" else "POST"
        client = self._connections.session(url)
        try:
            response = await client.request(
                method, url, data=request.body or None, headers=_headers(request, endpoint), allow_redirects=False
            )
        except TimeoutError:
            raise UpstreamError(504, f"the upstream {self.name} did not answer in time", retryable=True) from None
        except (aiohttp.InvalidURL, ValueError):
            raise UpstreamError(502, f"the base URL of {self.name} is not a URL: check llm.api_base") from None
        except aiohttp.ClientError as error:
            public = f"the upstream {self.name} can't be reached ({_kind(error)}); see `metaclaw doctor`"
            raise UpstreamError(502, public, retryable=True) from None
        headers = [(k.lower(), v) for k, v in response.headers.items() if k.lower() not in _HOP_BY_HOP]
        return Answer(response.status, headers, _chunks(response, self.name), self.name, request.model)

    async def aclose(self) -> None:
        """The pool belongs to the gateway."""


def _kind(error: aiohttp.ClientError) -> str:
    """What went wrong, without the place: the exception's own text may hold the URL."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its host's name is not known"
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError):
        return "connection refused"
    return type(error).__name__


def _headers(request: Request, endpoint: Endpoint) -> dict[str, str]:
    headers = {k: v for k, v in request.headers.items() if k not in _NOT_UPSTREAM}
    if endpoint.credentials is not None:
        headers.pop("authorization", None)
        headers.pop("x-api-key", None)
        headers.update(endpoint.credentials)
    for name, value in endpoint.extra.items():
        headers.setdefault(name, value)
    # Compressed answers can't be relayed event by event, nor be read by the journal.
    headers["accept-encoding"] = "identity"
    return headers


async def _chunks(response: aiohttp.ClientResponse, name: str) -> AsyncIterator[bytes]:
    finished = False
    try:
        async for chunk in response.content.iter_any():
            yield chunk
        finished = True
    except TimeoutError:
        raise UpstreamError(504, f"the upstream {name} fell silent") from None
    except (aiohttp.ClientError, ConnectionError) as error:
        raise UpstreamError(502, f"the upstream {name} broke off ({type(error).__name__})") from None
    finally:
        if finished:
            response.release()
        else:
            response.close()


async def pause(attempt: int, jitter: float) -> None:
    """Wait ahead of retry number `attempt` (from 0); `jitter` in 0..1 spreads clients apart."""
    await asyncio.sleep(min(4.0, 0.25 * 2**attempt) * (0.5 + jitter))
