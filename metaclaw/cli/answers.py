"""What setup was told, and what follows from it: pure functions from answers and present settings to changes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metaclaw.config import Settings

_SECRET = re.compile(r"""(\b\w*(?:api_key|token)["']?\s*:\s*)(?!["']{2})[^\s,}][^,}]*""")


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers given; None (or '' for secrets) means not answered, and leaves what is there."""

    claws: tuple[str, ...] | None = None
    auth: str | None = None
    provider: str | None = None
    model: str | None = None
    api_base: str | None = None
    protocol: str | None = None
    key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    mode: str | None = None
    port: int | None = None
    memory: bool | None = None
    rl: bool | None = None
    rl_backend: str | None = None
    rl_model: str | None = None
    rl_key: str = field(default="", repr=False)

    def given(self) -> bool:
        """Whether anything was answered."""
        return self != Answers()


@dataclass(frozen=True, slots=True)
class Changes:
    """What setup will do: keys to set and to remove in config.yaml, secrets to keep and to forget."""

    values: dict[str, Any]
    removed: tuple[str, ...]
    secrets: dict[str, str] = field(repr=False)
    forgotten: tuple[str, ...] = ()


def changes(answers: Answers, now: Settings, *, stored: Mapping[str, str], new_key: str) -> Changes:
    """Everything that follows from the answers.

    `stored` names the secrets that are kept; `new_key` is a key for a gateway that is set up for the first time.
    """
    values: dict[str, Any] = {}
    removed: list[str] = []
    provider = answers.provider or now.llm.provider
    moved = provider != now.llm.provider
    if answers.claws is not None:
        values |= _claws(answers.claws)
        removed += [] if len(answers.claws) > 1 else ["claws"]
    values |= {
        key: value
        for key, value in {
            "llm.auth_method": answers.auth,
            "llm.provider": answers.provider,
            "llm.api_base": answers.api_base,
            "llm.protocol": answers.protocol,
            "llm.model_id": answers.model,
            "proxy.port": answers.port,
            "memory.enabled": answers.memory,
            "rl.enabled": answers.rl,
            "rl.backend": answers.rl_backend,
            "rl.model": answers.rl_model,
            "mode": answers.mode or _mode(answers.rl, now.mode),
        }.items()
        if value is not None
    }
    if moved:
        # What belongs to the old provider would send requests, or its key, to the wrong place.
        removed += [key for key in ("llm.api_base", "llm.protocol") if key not in values]
        if "llm.model_id" not in values and (hint := _hint(provider)) and answers.auth != "passthrough":
            values["llm.model_id"] = hint
    secrets, forgotten = _secrets(answers, now, provider, moved, stored, new_key)
    if moved or answers.key:
        removed.append("llm.api_key")
    if moved or answers.token:
        removed.append("llm.oauth_token")
    return Changes(values, tuple(removed), secrets, forgotten)


def _claws(names: tuple[str, ...]) -> dict[str, Any]:
    if len(names) > 1:
        return {"claws": list(names), "claw_type": names[0]}
    return {"claw_type": names[0] if names else "none"}


def _mode(rl: bool | None, now: str) -> str | None:
    """Training needs a mode that trains, and without training `skills_only` says what is so."""
    if rl is None or (rl and now != "skills_only"):
        return None
    return "auto" if rl else "skills_only"


def _hint(provider: str) -> str:
    from metaclaw.providers import PROVIDERS

    return PROVIDERS[provider].model_hint


def _secrets(
    answers: Answers, now: Settings, provider: str, moved: bool, stored: Mapping[str, str], new_key: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """A key is kept under its provider's name, so that it never goes to another provider."""
    secrets: dict[str, str] = {}
    if answers.key:
        secrets[f"{provider}:key"] = answers.key
    if answers.token:
        secrets[f"{provider}:token"] = answers.token
    if answers.rl_key:
        secrets["rl.api_key"] = answers.rl_key
    if new_key and not now.proxy.api_key.get_secret_value():
        secrets["proxy.api_key"] = new_key
    replaced = {"llm.api_key": moved or answers.key, "llm.oauth_token": moved or answers.token}
    return secrets, tuple(name for name, gone in replaced.items() if gone and name in stored)


def new_text(path: Path, planned: Changes) -> tuple[str, str]:
    """The configuration file as it is and as it will be. Raises ConfigError."""
    from metaclaw.config.check import typed
    from metaclaw.config.document import parse_document, read_document
    from metaclaw.config.edit import with_value, without
    from metaclaw.config.schema import find

    document = read_document(path)
    before = document.text
    for name in planned.removed:
        document = parse_document(without(document, name), document.source)
    for name, value in planned.values.items():
        document = parse_document(with_value(document, name, typed(find(name), value)), document.source)
    return before, document.text


def diff(path: Path, before: str, after: str) -> list[str]:
    """The change of a file, as a unified diff with the lines that hold secrets hidden."""
    lines = difflib.unified_diff(
        _shown(before), _shown(after), str(path), f"{path} (new)" if before else f"{path} (new file)", lineterm="", n=2
    )
    return list(lines)


def _shown(text: str) -> list[str]:
    return [_SECRET.sub(r"\1…", line) for line in text.splitlines()]
