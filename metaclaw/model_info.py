"""What a model and its provider say of themselves: the live model list, the context window, a test call.

ModelInfoError
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from metaclaw import base_url, model_table
from metaclaw.helper_llm import HelperError, HelperLlm
from metaclaw.litellm_library import public
from metaclaw.providers import (
    ProviderError,
    auth_headers,
    body_defaults,
    endpoints,
    extra_headers,
    provider_of,
    routed_model,
)

if TYPE_CHECKING:
    from metaclaw.config.models import Fallback, Llm, Openrouter, Settings
    from metaclaw.gateway.upstream.base import WireName

_MOST_BYTES = 32 * 2**20
# Where lists put the window, the one in effect before the greatest possible.
_WINDOW_FIELDS = (
    "loaded_context_length", "context_length", "context_window", "max_model_len", "max_context_length",
    "max_context_window", "context_size", "max_input_tokens", "inputTokenLimit", "input_token_limit", "n_ctx",
    "n_ctx_train",
)  # fmt: skip
_WINDOW_PLACES = ("", "meta", "top_provider", "limits", "limit", "capabilities", "model_info")
_ASK = "Reply with the word OK."


class ModelInfoError(Exception):
    """The provider gave no list; the message says what was asked and what came back."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model on offer; `context_window` is 0 when the list doesn't say."""

    id: str
    context_window: int = 0


@dataclass(frozen=True, slots=True)
class CallReport:
    """A live call: how long it took, or why it failed. `tried` are the addresses asked, without keys or queries."""

    ok: bool
    latency_ms: float = 0.0
    context_window: int = 0
    model: str = ""
    status: int = 0
    error: str = ""
    tried: tuple[str, ...] = ()


async def list_models(llm: Llm | Fallback, *, timeout: float = 5.0) -> list[Model]:
    """The provider's live model list, in its order. Raises ModelInfoError."""
    try:
        url = dict(endpoints(llm)).get("models")
        name = provider_of(llm).name
    except ProviderError as error:
        raise ModelInfoError(str(error)) from None
    if url is None:
        raise ModelInfoError(f"{name} has no model list that can be asked for")
    headers = extra_headers(llm, "models") | auth_headers(llm, "models")
    if name == "gemini" and "/openai/" in url:  # Gemini's own list says the windows, the OpenAI-like one doesn't
        url, headers = url.replace("/openai/", "/") + "?pageSize=1000", _gemini_key(llm)
    elif name == "anthropic":
        url += "?limit=1000"
    elif name == "lmstudio":
        native = await _quietly(_get(_beside(url, "/api/v0/models"), headers, timeout))
        if models := _models(native):
            return models
    models = _models(await _get(url, headers, timeout))
    if not models:
        raise ModelInfoError(f"{_shown(url)} answered without a model list")
    return models


async def context_window(settings: Settings, *, timeout: float = 3.0) -> int:
    """Tokens the configured model reads at once: configuration, else the upstream, else the model table, else 0."""
    return settings.context_window or await window_of(settings.llm, timeout=timeout)


async def window_of(llm: Llm | Fallback, *, timeout: float = 3.0) -> int:
    """The same for any upstream, without the configuration's own word on it."""
    if not llm.model_id:
        return 0
    if getattr(llm, "auth_method", "api_key") != "oauth_token":
        try:
            async with asyncio.timeout(timeout):
                if found := await _live_window(llm, timeout):
                    return found
        except (ModelInfoError, ProviderError, TimeoutError):
            pass  # nobody there, or it doesn't say: the table may know
    return await asyncio.to_thread(model_table.window, llm.provider, llm.model_id)


async def _live_window(llm: Llm | Fallback, timeout: float) -> int:
    if provider_of(llm).name == "ollama" and (found := await _ollama_window(llm, timeout)):
        return found
    wanted = llm.model_id.lower()
    for model in await list_models(llm, timeout=timeout):
        if model.id.lower() == wanted:
            return model.context_window
    return 0


async def _ollama_window(llm: Llm | Fallback, timeout: float) -> int:
    url = dict(endpoints(llm))["models"]
    shown = await _quietly(_send("POST", _beside(url, "/api/show"), {}, {"model": llm.model_id}, timeout))
    if not isinstance(shown, dict):
        return 0
    if match := re.search(r"^\s*num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.MULTILINE):
        return int(match[1])
    info = shown.get("model_info")
    lengths = (value for name, value in info.items() if name.endswith(".context_length")) if info else ()
    return next((value for value in lengths if isinstance(value, int)), 0)


async def live_test_call(llm: Llm, openrouter: Openrouter | None = None, *, timeout: float = 30.0) -> CallReport:
    """Ask the model for one word. Never raises: a failure is told in the result."""
    try:
        found = endpoints(llm)
    except ProviderError as error:
        return CallReport(False, error=str(error))
    began = time.perf_counter()
    if llm.auth_method == "oauth_token" or not found:
        result = await _by_helper(llm, openrouter, timeout, routed=not found)
    else:
        result = await _by_wire(llm, openrouter, found[0], timeout)
    if not result.ok:
        return result
    took = (time.perf_counter() - began) * 1000
    return CallReport(True, took, await window_of(llm), llm.model_id, result.status, tried=result.tried)


async def _by_helper(llm: Llm, openrouter: Openrouter | None, timeout: float, *, routed: bool) -> CallReport:
    tried = (routed_model(llm) if routed and llm.auth_method != "oauth_token" else f"{llm.provider} by subscription",)
    helper = HelperLlm(llm, openrouter=openrouter, timeout=timeout, attempts=1)
    try:
        await helper.complete([{"role": "user", "content": _ASK}], max_tokens=64, purpose="test")
    except HelperError as error:
        # Cut off or silent after thinking: it answers, which is what was asked.
        return CallReport(error.reason in ("truncated", "empty"), status=error.status, error=str(error), tried=tried)
    return CallReport(True, status=200, tried=tried)


async def _by_wire(llm: Llm, openrouter: Openrouter | None, at: tuple[WireName, str], timeout: float) -> CallReport:
    wire, url = at
    headers = extra_headers(llm, wire, openrouter) | auth_headers(llm, wire)
    body = _test_body(wire, llm) | body_defaults(llm, openrouter)
    result = await _ask(url, headers, body, timeout)
    if result.status not in (404, 405):
        return result
    # The path may be wrong by a version: say where it would have worked, or what was tried.
    other = _other_version(url)
    second = await _ask(other, headers, body, timeout)
    tried = (*result.tried, *second.tried)
    if second.ok:
        where = _shown(other).rpartition("/v1/")[0] + "/v1" if "/v1/" in other else _shown(other)
        return CallReport(
            False, status=result.status, tried=tried, error=f"set llm.api_base to {where}: there it answers"
        )
    return CallReport(False, status=result.status, tried=tried, error=f"{result.error} (tried {' and '.join(tried)})")


def _test_body(wire: WireName, llm: Llm) -> dict[str, Any]:
    if wire == "responses":
        return {"model": llm.model_id, "input": _ASK, "max_output_tokens": 64}
    # OpenAI's own models take the newer name only; elsewhere the older one is the common one.
    limit = "max_completion_tokens" if provider_of(llm).name in ("openai", "openai-codex") else "max_tokens"
    return {"model": llm.model_id, "messages": [{"role": "user", "content": _ASK}], limit: 64}


async def _ask(url: str, headers: Mapping[str, str], body: Mapping[str, Any], timeout: float) -> CallReport:
    tried = (_shown(url),)
    try:
        answer = await _send("POST", url, headers, body, timeout)
    except _Refused as refused:
        return CallReport(False, status=refused.status, error=str(refused), tried=tried)
    except ModelInfoError as error:
        return CallReport(False, error=str(error), tried=tried)
    if not isinstance(answer, dict) or not any(name in answer for name in ("choices", "content", "output")):
        return CallReport(False, status=200, error=f"{tried[0]} answered, but not as a model does", tried=tried)
    return CallReport(True, status=200, tried=tried)


class _Refused(ModelInfoError):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def _get(url: str, headers: Mapping[str, str], timeout: float) -> Any:
    return await _send("GET", url, headers, None, timeout)


async def _quietly(call: Any) -> Any:
    try:
        return await call
    except ModelInfoError:
        return None


async def _send(
    method: str, url: str, headers: Mapping[str, str], body: Mapping[str, Any] | None, timeout: float
) -> Any:
    """One JSON call. Raises ModelInfoError, with the address but never a key."""
    limit = aiohttp.ClientTimeout(total=timeout)
    shown = _shown(url)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit, trust_env=not base_url.is_loopback(url)) as session,
            session.request(method, url, headers=dict(headers), json=body, allow_redirects=False) as response,
        ):
            raw = bytearray()
            async for chunk in response.content.iter_chunked(2**16):
                raw += chunk
                if len(raw) > _MOST_BYTES:
                    raise ModelInfoError(f"{shown} answers without end")
    except TimeoutError:
        raise ModelInfoError(f"{shown} did not answer within {timeout:g} s") from None
    except (aiohttp.ClientError, ValueError, OSError) as error:
        raise ModelInfoError(f"{shown} can't be reached ({type(error).__name__})") from None
    try:
        data = await asyncio.to_thread(json.loads, raw)
    except ValueError:
        data = None
    if response.status >= 300:
        raise _Refused(response.status, f"{shown} answered {response.status}{_said(data)}")
    return data


def _said(data: Any) -> str:
    inner = data.get("error", data) if isinstance(data, dict) else None
    text = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    return f": {public(text)}" if isinstance(text, str) and text else ""


def _models(data: Any) -> list[Model]:
    if isinstance(data, dict):
        data = data.get("data") or data.get("models")
    entries: Iterable[Any] = data if isinstance(data, list) else ()
    found = []
    for entry in entries:
        name = (entry.get("id") or entry.get("name")) if isinstance(entry, dict) else None
        if isinstance(name, str) and name:
            found.append(Model(name.removeprefix("models/"), _window(entry)))
    return found


def _window(entry: Mapping[str, Any]) -> int:
    places = [entry if place == "" else entry.get(place) for place in _WINDOW_PLACES]
    known = [place for place in places if isinstance(place, dict)]
    for field in _WINDOW_FIELDS:
        for place in known:
            value = place.get(field)
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                return int(value)
    return 0


def _gemini_key(llm: Llm | Fallback) -> dict[str, str]:
    key = llm.api_key.get_secret_value()
    return {"x-goog-api-key": key} if key else {}


def _beside(url: str, path: str) -> str:
    """Another path on the same server."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _other_version(url: str) -> str:
    """The same call with a version where there was none, or without the one there was."""
    parts = urlsplit(url)
    suffix = next(end for end in ("/chat/completions", "/responses", "/messages") if parts.path.endswith(end))
    base = parts.path.removesuffix(suffix)
    changed = base.removesuffix("/v1") if base.endswith("/v1") else f"{base}/v1"
    return urlunsplit(parts._replace(path=changed + suffix))


def _shown(url: str) -> str:
    """An address that may be shown: without user, key or query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
