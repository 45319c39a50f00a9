"""litellm: imported on first use, in a thread of its own, quiet and offline; and what its errors mean.

LibraryError
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import logging
import os
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

_T = TypeVar("_T")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_KEY = re.compile(r"\b(?:sk|key|ya29)[-._][\w.-]{6,}|\bAIza[\w-]{20,}|\bBearer\s+\S+", re.IGNORECASE)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# litellm gives up on a stream with this many equal chunks; tables and padding have more.
_NEVER = sys.maxsize


class LibraryError(Exception):
    """litellm is not installed, or can't be imported."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What an upstream said through litellm.

    `status` is the upstream's own (529 stays 529); 0 when it could not be reached, 504 when it stayed silent.
    `message` names no URL and no key.
    """

    status: int
    message: str
    retry_after: str = ""
    kind: str = ""

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed a little later."""
        return self.status in (0, 408, 429) or self.status >= 500


class _Worker:
    """A thread with an event loop of its own, where all of litellm runs: its import takes seconds, some of its
    calls look for credentials synchronously, and each of its chunks costs more than the gateway's whole turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="litellm", daemon=True).start()
            return self._loop


_worker = _Worker()


async def run(work: Callable[[Any], Awaitable[_T]]) -> _T:
    """Do something with the litellm module, in its own thread; the first call imports it there.

    Cancelling this cancels the work. Raises LibraryError when litellm can't be imported.
    """

    async def there() -> _T:
        return await work(_import())

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(there(), _worker.loop()))


async def warm() -> None:
    """Import litellm now, so that the first call need not wait for it."""

    async def nothing(_: Any) -> None: ...

    await run(nothing)


def _import() -> Any:
    loaded = sys.modules.get("litellm")
    if loaded is not None and getattr(loaded, "_metaclaw_ready", False):
        return loaded
    _prepare(os.environ)
    was_collecting = gc.isenabled()
    gc.disable()  # the import builds thousands of models that live for good; looking for garbage costs a sixth of it
    try:
        module: Any = importlib.import_module("litellm")
    except ImportError as error:
        raise LibraryError(f"litellm can't be imported ({error}): reinstall MetaClaw") from error
    finally:
        gc.freeze()  # else the next full collection looks through all of them, and the event loop waits for it
        if was_collecting:
            gc.enable()
    _quiet(module)
    return module


def _prepare(environ: MutableMapping[str, str]) -> None:
    """Before the import: no network, no `.env` of the working folder, no proxy in front of this machine."""
    environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    environ["LITELLM_MODE"] = "PRODUCTION"
    listed = ",".join((environ.get("no_proxy", ""), environ.get("NO_PROXY", ""))).split(",")
    hosts = dict.fromkeys([*(host.strip() for host in listed if host.strip()), *_LOOPBACK])
    environ["no_proxy"] = environ["NO_PROXY"] = ",".join(hosts)


def _quiet(module: Any) -> None:
    module.telemetry = False
    module.suppress_debug_info = True
    module.turn_off_message_logging = True
    module.num_retries = 0
    module.REPEATED_STREAMING_CHUNK_LIMIT = _NEVER
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    module._metaclaw_ready = True


def failure(error: BaseException) -> Failure:
    """What went wrong in a litellm call, in our words."""
    name = type(error).__name__
    chain = list(_chain(error))
    if any("Timeout" in type(cause).__name__ or isinstance(cause, TimeoutError) for cause in chain):
        return Failure(504, "the upstream did not answer in time", kind="timeout")
    if any(type(cause).__name__ in ("APIConnectionError", "ConnectError", "ClientConnectorError") for cause in chain):
        return Failure(0, "the upstream can't be reached", kind="unreachable")
    if "ImportError" in name or any(isinstance(cause, ImportError) for cause in chain):
        return Failure(503, _missing_package(chain), kind="missing_package")
    headers = _headers(chain)
    return Failure(_status(chain), _message(error), headers.get("retry-after", ""), kind=_kind(name))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _status(chain: list[BaseException]) -> int:
    """The upstream's own status, which litellm keeps in the exception below its own."""
    codes = [code for cause in chain if isinstance(code := getattr(cause, "status_code", None), int) and code >= 400]
    return codes[1] if len(codes) > 1 and codes[0] == 500 else codes[0] if codes else 502


def _headers(chain: list[BaseException]) -> Mapping[str, str]:
    for cause in chain:
        for source in (cause, getattr(cause, "response", None)):
            for name in ("litellm_response_headers", "headers"):
                found = getattr(source, name, None)
                if found and "retry-after" in found:
                    return {"retry-after": str(found["retry-after"])}
    return {}


def _message(error: BaseException) -> str:
    """The provider's sentence, out of litellm's wrapping."""
    text = str(getattr(error, "message", "") or error)
    start = text.find("{")
    if start >= 0:
        try:
            body, _ = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            body = None
        if isinstance(body, dict):
            inner = body.get("error", body)
            said = inner.get("message") if isinstance(inner, dict) else inner
            if isinstance(said, str) and said:
                return public(said)
    text = re.sub(r"(litellm\.)?\w*(Error|Exception)\s*[:-]\s*", "", text)
    return public(text.split(" Handle with `litellm.")[0]) or "the upstream refused the call"


def public(text: str) -> str:
    """One line for a client: no URL, no key, not endless."""
    return re.sub(r"\s+", " ", _KEY.sub("…", _URL.sub("the upstream", text))).strip()[:500]


def _missing_package(chain: list[BaseException]) -> str:
    wanted = " ".join(str(cause) for cause in chain)
    if "boto" in wanted:
        return "Amazon Bedrock needs boto3: pip install 'metaclaw[bedrock]'"
    match = re.search(r"No module named '([\w.]+)'", wanted)
    name = match[1].split(".")[0] if match else "a package that is not installed"
    return f"this provider needs {name}: install it beside MetaClaw"


def _kind(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Error")).lower()
