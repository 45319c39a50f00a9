"""Small questions to a process on this machine, asked without any proxy."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any

TOKEN_HEADER = "X-MetaClaw-Token"  # noqa: S105 (a header's name)
_UNSPECIFIED = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 (read, not bound)
_LARGEST_ANSWER = 1 << 20


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, and the JSON object that came with it; empty when it was none."""

    status: int
    body: dict[str, Any]


def reachable_host(host: str) -> str:
    """The address to dial for a process that listens on `host`."""
    name = host.strip("[]")
    return _UNSPECIFIED.get(name, name)


def base_url(host: str, port: int) -> str:
    """The URL a client on this machine uses."""
    name = reachable_host(host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def ask(host: str, port: int, path: str, *, method: str = "GET", token: str = "", timeout: float = 2.0) -> Reply | None:
    """Ask once; None when nobody answers HTTP there."""
    connection = http.client.HTTPConnection(reachable_host(host), port, timeout=timeout)
    headers = {"Accept": "application/json"}
    if token:
        headers[TOKEN_HEADER] = token
    if method != "GET":
        headers["Content-Type"] = "application/json"
    try:
        connection.request(method, path, body=b"{}" if method != "GET" else None, headers=headers)
        answer = connection.getresponse()
        return Reply(answer.status, _object(answer.read(_LARGEST_ANSWER)))
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
