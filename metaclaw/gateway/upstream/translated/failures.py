"""Errors of a provider, read from any dialect and told in the caller's, so that agents back off or compact."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from metaclaw.gateway.upstream.translated.payload import Json, Malformed, as_dict, as_text, decode

Kind = Literal[
    "invalid",
    "authentication",
    "billing",
    "permission",
    "not_found",
    "too_large",
    "rate_limit",
    "server",
    "overloaded",
    "timeout",
    "overflow",
]


@dataclass(frozen=True, slots=True)
class Failure:
    """One error: what kind, with which status, in whose words."""

    kind: Kind
    status: int
    message: str
    code: str = ""
    param: str = ""


_BY_STATUS: dict[int, Kind] = {
    400: "invalid",
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    422: "invalid",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_BY_WORD: dict[str, Kind] = {
    "invalid_request_error": "invalid",
    "invalid_prompt": "invalid",
    "authentication_error": "authentication",
    "invalid_api_key": "authentication",
    "billing_error": "billing",
    "insufficient_quota": "billing",
    "permission_error": "permission",
    "permission_denied": "permission",
    "not_found_error": "not_found",
    "model_not_found": "not_found",
    "request_too_large": "too_large",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "api_error": "server",
    "server_error": "server",
    "internal_server_error": "server",
    "overloaded_error": "overloaded",
    "overloaded": "overloaded",
    "server_is_overloaded": "overloaded",
    "engine_overloaded_error": "overloaded",
    "slow_down": "overloaded",
    "timeout_error": "timeout",
}
_STATUS: dict[Kind, int] = {
    "invalid": 400,
    "authentication": 401,
    "billing": 402,
    "permission": 403,
    "not_found": 404,
    "too_large": 413,
    "rate_limit": 429,
    "server": 500,
    "overloaded": 529,
    "timeout": 504,
    "overflow": 400,
}
_MESSAGES_TYPE: dict[Kind, str] = {
    "invalid": "invalid_request_error",
    "authentication": "authentication_error",
    "billing": "billing_error",
    "permission": "permission_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "rate_limit": "rate_limit_error",
    "server": "api_error",
    "overloaded": "overloaded_error",
    "timeout": "timeout_error",
    "overflow": "invalid_request_error",
}
_OPENAI_TYPE_AND_CODE: dict[Kind, tuple[str, str | None]] = {
    "invalid": ("invalid_request_error", None),
    "authentication": ("invalid_request_error", "invalid_api_key"),
    "billing": ("insufficient_quota", "insufficient_quota"),
    "permission": ("permission_error", "permission_denied"),
    "not_found": ("invalid_request_error", "not_found"),
    "too_large": ("invalid_request_error", "request_too_large"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "server": ("server_error", "server_error"),
    "overloaded": ("server_error", "server_is_overloaded"),
    "timeout": ("server_error", "timeout"),
    "overflow": ("invalid_request_error", "context_length_exceeded"),
}

# How providers say that the prompt does not fit the context window.
_OVERFLOW = re.compile(
    r"prompt is too long|context[_ ]length[_ ]exceeded|maximum context length|exceed[^.]{0,40}\bcontext"
    r"|context (?:window|size|limit)[^.]{0,40}exceed|input is too long|input length .{0,40}exceed"
    r"|exceeded model token limit|range of input length|exceed_context_size|reduce the length of the messages"
    r"|larger than the (?:maximum )?context|too many tokens in (?:the )?prompt|model_context_window_exceeded",
    re.IGNORECASE,
)
_HAD_OVER_MAX = re.compile(r"(\d[\d,]*) tokens? > (\d[\d,]*)")
_MAX_THEN_HAD = re.compile(
    r"context (?:length|size|window)\D{0,40}?(\d[\d,]*).{0,60}?(?:resulted in|requested) (\d[\d,]*)", re.S
)
_TEXT_LIMIT = 2_000


def is_overflow(message: str, code: str) -> bool:
    """Whether a provider says that the prompt is too long for the model."""
    return code == "context_length_exceeded" or bool(_OVERFLOW.search(message))


def read_error(status: int, body: Json) -> Failure:
    """An error object of any dialect. `status` 0: it came inside a stream."""
    error = body.get("error", body)
    if isinstance(error, str):
        error = {"message": error}
    error = as_dict(error)
    detail = body.get("detail")
    message = as_text(error.get("message")) or as_text(detail) or as_text(body.get("message"))
    code = error.get("code")
    if not status and isinstance(code, int) and 400 <= code <= 599:
        status = code
    word = code if isinstance(code, str) else ""
    kind_name = as_text(error.get("type"))
    param = as_text(error.get("param"))
    return _classified(status, message, word, kind_name, param)


def read_error_bytes(status: int, body: bytes) -> Failure:
    """An error answer of any form: JSON of any dialect, plain text, or a proxy's HTML page."""
    try:
        parsed = decode(body)
    except Malformed:
        parsed = None
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    if isinstance(parsed, dict):
        return read_error(status, parsed)
    text = parsed if isinstance(parsed, str) else body[:_TEXT_LIMIT].decode("utf-8", "replace").strip()
    if "<html" in text.lower() or "<!doctype" in text.lower():
        text = ""
    return _classified(status, text[:_TEXT_LIMIT], "", "", "")


def _classified(status: int, message: str, code: str, kind_name: str, param: str) -> Failure:
    kind = _BY_WORD.get(code) or _BY_STATUS.get(status) or _BY_WORD.get(kind_name) or "server"
    if status in (0, 400) and kind == "invalid":
        kind = _BY_WORD.get(kind_name, kind)
    if kind not in ("rate_limit", "authentication", "billing") and is_overflow(f"{kind_name} {message}", code):
        kind = "overflow"
    status = status if 400 <= status <= 599 else _STATUS[kind]
    if not message:
        message = f"The model's provider answered with status {status} and no explanation."
    return Failure(kind, status, message, code, param)


def broken(message: str = "The model's answer broke off before it was complete.") -> Failure:
    """A stream that ended too early."""
    return Failure("server", 502, message)


def _overflow_message(failure: Failure, *, messages: bool) -> str:
    had = limit = ""
    if found := _HAD_OVER_MAX.search(failure.message):
        had, limit = found.groups()
    elif found := _MAX_THEN_HAD.search(failure.message):
        limit, had = found.groups()
    had, limit = had.replace(",", ""), limit.replace(",", "")
    if messages:
        if had:
            return f"prompt is too long: {had} tokens > {limit} maximum"
        known = failure.message.lower().startswith("prompt is too long")
        return failure.message if known else f"prompt is too long: {failure.message}"
    if had:
        return (
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in {had} tokens."
            " Please reduce the length of the messages."
        )
    known = "maximum context length" in failure.message
    return failure.message if known else f"{failure.message} (maximum context length exceeded)"


def messages_error(failure: Failure) -> Json:
    """Anthropic's error object."""
    message = _overflow_message(failure, messages=True) if failure.kind == "overflow" else failure.message
    return {"type": "error", "error": {"type": _MESSAGES_TYPE[failure.kind], "message": message}}


def openai_error(failure: Failure) -> Json:
    """OpenAI's error object, the same for chat completions and responses."""
    kind, code = _OPENAI_TYPE_AND_CODE[failure.kind]
    if failure.kind == "overflow":
        message = _overflow_message(failure, messages=False)
    else:
        message, code = failure.message, code or failure.code or None
    return {"error": {"message": message, "type": kind, "param": failure.param or None, "code": code}}


def client_status(failure: Failure, source: str) -> int:
    """The status the client is told: Anthropic says 529 for what others call 503, and both say 400 for overflow."""
    if failure.kind == "overflow":
        return 400
    if failure.kind == "overloaded" and failure.status in (503, 529):
        return 529 if source == "messages" else 503
    return failure.status
