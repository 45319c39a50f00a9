"""Asks the outside world for the facts that the doctor judges. Changes nothing."""

from __future__ import annotations

import asyncio
import email.utils
import json
import os
import shutil
import socket
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

from metaclaw.base_url import is_loopback
from metaclaw.config.models import Settings
from metaclaw.supervisor.checks_upstream import Probe, VendorProgram
from metaclaw.supervisor.hosts import host_of

_SECONDS = 8.0
_LARGEST_LIST = 8 << 20
_QUICK_CHECK_BYTES = 64 << 20


def ask_upstream(settings: Settings) -> Probe | VendorProgram | None:
    """Ask the configured upstream for its model list; None when there is nothing to ask over HTTP."""
    from metaclaw.providers import PROVIDERS, ProviderError, auth_headers, endpoints, extra_headers

    llm = settings.llm
    if llm.auth_method == "oauth_token":
        name = PROVIDERS[llm.provider].vendor_cli
        return VendorProgram(name, shutil.which(name) or "") if name else None
    try:
        urls = dict(endpoints(llm))
    except ProviderError:
        return None
    url = urls.get("models")
    if not url:
        return None
    headers = auth_headers(llm, "models") | extra_headers(llm, "models", settings.openrouter)
    return asyncio.run(_probe(url, headers))


async def _probe(url: str, headers: Mapping[str, str]) -> Probe:
    import aiohttp

    host, began = host_of(url), time.monotonic()
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=not is_loopback(url)) as session,
            session.get(url, headers=headers, allow_redirects=False) as answer,
        ):
            latency = (time.monotonic() - began) * 1000
            body = await answer.content.read(_LARGEST_LIST)
            return Probe(
                host=host,
                status=answer.status,
                latency_ms=latency,
                skew_seconds=_skew(answer.headers.get("Date", "")),
                models=_model_names(body) if answer.status == 200 else (),
            )
    except TimeoutError:
        return Probe(host, error=f"no answer within {_SECONDS:.0f} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Probe(host, error=_reason(error))


def _reason(error: Exception) -> str:
    """Why it failed, in a few words and without the URL."""
    cause = getattr(error, "os_error", None) or error
    number = getattr(cause, "errno", None)
    if isinstance(number, int) and number > 0 and not isinstance(cause, socket.gaierror):
        return os.strerror(number)
    return (getattr(cause, "strerror", None) or str(cause) or type(error).__name__).partition("\n")[0][:120]


def _skew(date: str) -> float | None:
    try:
        return time.time() - email.utils.parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


def _model_names(body: bytes) -> tuple[str, ...]:
    try:
        data = json.loads(body)["data"]
        return tuple(str(item["id"]).removeprefix("models/") for item in data)
    except (ValueError, KeyError, TypeError):
        return ()


def look_at_journal(url: str, default: Path) -> tuple[str, str]:
    """What there is to say of the journal, and what is wrong with it; the file is only read."""
    if url and not url.startswith("sqlite"):
        return f"at {host_of(url)}", ""
    path = Path(url.partition("///")[2]) if url else default
    if not path.exists():
        return f"{path}: none yet, it begins with the first turn", ""
    size = path.stat().st_size
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2)
        try:
            turns = connection.execute("SELECT count(*) FROM turns").fetchone()[0]
            fault = "ok"
            if size <= _QUICK_CHECK_BYTES:
                fault = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error as error:
        return "", f"{path} can't be read ({error})"
    return (
        f"{turns} turn{'' if turns == 1 else 's'}, {size / 1e6:.1f} MB, {path}",
        "" if fault == "ok" else f"{path} is damaged: {fault}",
    )


def embedder() -> str:
    """The embedder that is installed, or ''."""
    from metaclaw.skills.embedding import MODEL, installed

    return f"{MODEL}, on this machine" if installed() else ""
