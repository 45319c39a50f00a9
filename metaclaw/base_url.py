"""What a base URL means: a host, with or without `/v1`, a path of its own, or a whole endpoint, all work.

BaseUrlError
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit, urlunsplit

if TYPE_CHECKING:
    from metaclaw.gateway.upstream.base import WireName

_SUFFIX: Mapping[WireName, str] = MappingProxyType(
    {
        "chat": "/chat/completions",
        "responses": "/responses",
        "messages": "/messages",
        "count_tokens": "/messages/count_tokens",
        "completions": "/completions",
        "embeddings": "/embeddings",
        "models": "/models",
    }
)
# The longest first, so that `/chat/completions` is not taken for `/completions`.
_WHOLE: tuple[tuple[str, WireName], ...] = tuple(
    sorted(((suffix, wire) for wire, suffix in _SUFFIX.items()), key=lambda pair: -len(pair[0]))
)
_PROTOCOL: Mapping[WireName, WireName | None] = MappingProxyType(
    {"count_tokens": "messages", "completions": "chat", "embeddings": "chat", "models": None}
)
_VERSION = re.compile(r"^v\d+([a-z]+\d*)?$")


class BaseUrlError(Exception):
    """Not an address that can be asked; the message says what to give."""


@dataclass(frozen=True, slots=True)
class BaseUrl:
    """A base URL, parsed.

    `wire`: the protocol it gives away, if any. `exact`: it came as a whole endpoint, so no version is put in.
    """

    url: SplitResult
    wire: WireName | None = None
    exact: bool = False

    def join(self, wire: WireName) -> str:
        """The whole URL for one kind of call.

        As the official SDKs do it: chat and responses follow the path that is there, and `/v1` if there is none;
        messages follow `/v1`, which is put in unless the path ends with a version.
        """
        path = self.url.path
        if not self.exact and (not path or (wire in ("messages", "count_tokens") and not _versioned(path))):
            path += "/v1"
        return urlunsplit(self.url._replace(path=path + _SUFFIX[wire]))

    def without_user(self) -> BaseUrl:
        """The same address without a user and password in it."""
        return replace(self, url=self.url._replace(netloc=self.url.netloc.rpartition("@")[2]))

    @property
    def place(self) -> tuple[str, str]:
        """Host and path without a version at its end: what tells one address from another."""
        path = self.url.path.rpartition("/")[0] if _versioned(self.url.path) else self.url.path
        return self.url.netloc.rpartition("@")[2].lower(), path


def parse(text: str) -> BaseUrl:
    """Read what a user wrote as base URL. Raises BaseUrlError."""
    text = text.strip()
    if "://" not in text:
        text = ("http://" if is_private(text) else "https://") + text
    try:
        url = urlsplit(text)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise BaseUrlError("the base URL is not an http(s) address; give for example https://api.example.com/v1")
    path = re.sub(r"/{2,}", "/", url.path).rstrip("/")
    url = url._replace(path=path, fragment="")
    for suffix, wire in _WHOLE:
        if path.endswith(suffix):
            return BaseUrl(url._replace(path=path.removesuffix(suffix)), _PROTOCOL.get(wire, wire), exact=True)
    return BaseUrl(url, "messages" if _looks_anthropic(path) else None)


def _versioned(path: str) -> bool:
    return bool(_VERSION.match(path.rpartition("/")[2]))


def _looks_anthropic(path: str) -> bool:
    parts = [part for part in path.lower().split("/") if part and not _VERSION.match(part)]
    return bool(parts) and parts[-1] == "anthropic"


def is_loopback(url: str) -> bool:
    """Whether a URL or host is this machine, which no proxy of the environment stands in front of."""
    host = _host(url)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_private(url: str) -> bool:
    """Whether a URL or host is this machine or a private network, where plain http is usual."""
    try:
        return is_loopback(url) or ipaddress.ip_address(_host(url)).is_private
    except ValueError:
        return False


def _host(url: str) -> str:
    try:
        return (urlsplit(url if "://" in url else f"//{url}").hostname or "").lower()
    except ValueError:
        return ""
