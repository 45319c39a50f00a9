"""The log: one rotating file only its owner can read, with keys, tokens and credentials taken out of every line."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from metaclaw.config.models import Log
from metaclaw_adapters.files import PRIVATE_FILE, private_dir

_BYTES = 5 << 20
_FILES = 5
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_HIDDEN = "[hidden]"
_SHORTEST_SECRET = 8

_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<=://)[^\s/@'\"]*:[^\s/@'\"]+(?=@)",  # scheme://user:password@host
        r"(?i)\b(?<=bearer )[\w.~+/=\-]{8,}",
        r"(?i)(?<=authorization: basic )[\w+/=]{8,}",
        r"(?i)(?<=[?&])((?:api[_-]?|access[_-]?)?(?:key|token|secret|password|sig|signature))=[^&\s'\"]+",
        r"(?i)\b((?:x-)?(?:api[_-]?key|goog-api-key|metaclaw-(?:key|token))|(?:access|oauth|refresh)_token|password|secret)"
        r"(['\"]?\s*[:=]\s*['\"]?)[^\s'\",;}&]{6,}",
        r"\b(?:sk|rk|pk|key|tml|ark)-[\w\-]{12,}",
        r"\beyJ[\w\-]{8,}\.[\w\-]{8,}\.[\w\-]*",  # JSON web token
        r"\bAIza[\w\-]{30,}",
        r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|hf_|ya29\.)[\w\-]{10,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    )
)
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), 127)}


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without anything that looks like a key, a token or a password, and without these `secrets`."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(_keep_name, text)
    return text


def _keep_name(match: re.Match[str]) -> str:
    """`key=VALUE` keeps its name: what was hidden is worth knowing."""
    groups = match.groups()
    if not groups:
        return _HIDDEN
    return f"{groups[0]}{groups[1] if len(groups) > 1 else '='}{_HIDDEN}"


class RedactingFormatter(logging.Formatter):
    """Formats a record, traceback included, and then hides what is secret in it."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(_FORMAT)
        self._secrets = tuple(sorted((s for s in secrets if len(s) >= _SHORTEST_SECRET), key=len, reverse=True))

    def format(self, record: logging.LogRecord) -> str:
        """The line as it is written; control characters are shown, not sent to a terminal."""
        return redact(super().format(record), self._secrets).translate(_CONTROLS)


class _PrivateFile(RotatingFileHandler):
    """A rotating file whose every generation is its owner's alone."""

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE_FILE)
        if os.name == "posix":
            os.fchmod(handle, PRIVATE_FILE)
        return os.fdopen(handle, "a", encoding="utf-8", errors="backslashreplace")


def file_of(log: Log, folder: Path) -> Path | None:
    """The log file these settings name, `folder` being the state folder; None for the terminal."""
    if log.file == "-":
        return None
    return Path(log.file).expanduser().absolute() if log.file else folder / "logs" / "metaclaw.log"


def configure(log: Log, folder: Path, *, secrets: Iterable[str] = ()) -> None:
    """Send this process's log where the settings say. Calling it again replaces what was configured.

    `secrets` are hidden wherever they appear, whatever they look like.
    """
    path = file_of(log, folder)
    if path is None:
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
    else:
        if not path.parent.exists():
            private_dir(path.parent)
        handler = _PrivateFile(path, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8")
    handler.setFormatter(RedactingFormatter(secrets))
    root = logging.getLogger()
    for old in [*root.handlers]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(log.level.upper())
    # These tell every request, with its URL.
    for name in ("httpx", "httpcore", "aiohttp.access", "uvicorn.access", "LiteLLM", "alembic"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
