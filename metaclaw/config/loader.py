"""The effective configuration: defaults, file, environment and stored secrets, and where each value came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metaclaw.config.check import check_keys, rename_old, validate
from metaclaw.config.document import Document, parse_document, read_document
from metaclaw.config.models import Settings
from metaclaw.config.paths import home
from metaclaw.config.problems import ConfigError, Problem, nearest
from metaclaw.config.schema import OLD_NAMES, Key, keys, sections, variable
from metaclaw.config.secrets import Secrets

# Variables of the training services, by backend.
_TRAINING = {"tinker": "TINKER", "mint": "MINT", "weaver": "WEAVER"}


@dataclass(frozen=True)
class Loaded:
    """The configuration as it counts now.

    `origins`: dotted key -> "default", "file", "environment", "keyring" or "secrets file"; `variables`: the variable
    behind each value from the environment; `stored`: the name in `Secrets` behind each stored one; `warnings`: one
    line each, for the user.
    """

    settings: Settings
    path: Path
    exists: bool
    origins: dict[str, str]
    variables: dict[str, str] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def value(self, name: str) -> Any:
        """The effective value of a key."""
        found: Any = self.settings
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def secret_values(self) -> list[str]:
        """Every secret in use, for whoever has to keep them out of a log."""
        found = [self.value(key.name) for key in keys().values() if key.secret]
        found += [fallback.api_key for fallback in self.settings.llm.fallbacks]
        return [secret.get_secret_value() for secret in found if secret.get_secret_value()]


def load(path: Path | None = None, environ: Mapping[str, str] | None = None, *, read_secrets: bool = True) -> Loaded:
    """Read the configuration. Raises ConfigError.

    With `read_secrets=False` stored secrets are left where they are: `origins` knows of them, `settings` doesn't.
    """
    environ = os.environ if environ is None else environ
    path = path if path is not None else home(environ) / "config.yaml"
    return resolve(read_document(path), path, environ, read_secrets=read_secrets)


def resolve(document: Document, path: Path, environ: Mapping[str, str], *, read_secrets: bool = True) -> Loaded:
    """The effective configuration when `path` says what `document` says. Raises ConfigError."""
    warnings = rename_old(document)
    problems = check_keys(document)
    layers = _Layers(document, environ, Secrets(environ=environ), read_secrets)
    layers.add_environment()
    layers.add_secrets()
    settings = validate(layers.values, set(layers.stored), layers.problem, problems)
    notes = (*warnings, *layers.warnings, *_readable_by_others(path, layers), *_unknown_variables(environ))
    return Loaded(settings, path, path.exists(), layers.origins, layers.variables, layers.stored, notes)


def _readable_by_others(path: Path, layers: _Layers) -> list[str]:
    """A warning when a file with keys in it is open to other users."""
    holds_keys = any(key.secret and layers.origins[key.name] == "file" for key in keys().values())
    if os.name != "posix" or not holds_keys or not path.exists() or not path.stat().st_mode & 0o077:
        return []
    return [f"{path}: holds keys and other users may read it; chmod 600 closes it"]


def _unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Warnings for variables that look like ours and aren't, such as METACLAW_PROXY_PROT."""
    known = {key.variable for key in keys().values()} | {variable(old) for old in OLD_NAMES}
    starts = tuple(f"{variable(section)}_" for section in sections())
    strange = [name for name in environ if name.startswith(starts) and name not in known]
    return [f"{name}: unknown variable, without effect; did you mean {nearest(name, [*known])}?" for name in strange]


class _Layers:
    """The values of file, environment and secrets, laid over each other."""

    def __init__(self, document: Document, environ: Mapping[str, str], secrets: Secrets, read_secrets: bool) -> None:
        self.document = document
        self.environ = environ
        self.secrets = secrets
        self.read_secrets = read_secrets
        self.values = document.values
        self.origins = {name: "file" if self.get(name) is not None else "default" for name in keys()}
        self.variables: dict[str, str] = {}
        self.warnings: list[str] = []
        self.stored: dict[str, str] = {}

    def get(self, name: str) -> Any:
        """The value so far, or None."""
        place: Any = self.values
        for part in name.split("."):
            place = place.get(part) if isinstance(place, dict) else None
        return place

    def put(self, name: str, value: Any, origin: str, source: str = "") -> None:
        """Lay a value over what was there."""
        place = self.values
        *path, last = name.split(".")
        for part in path:
            inner = place.get(part)
            place[part] = place = inner if isinstance(inner, dict) else {}
        place[last] = value
        self.origins[name] = origin
        if source:
            self.variables[name] = source

    def problem(self, key: str, text: str) -> Problem:
        """A fault of a key, where its value came from."""
        name = key
        while name and name not in self.origins:
            name = name.rpartition(".")[0]
        if name in self.variables:
            return Problem(text, key=key, source=self.variables[name])
        return self.document.problem(key, text)

    def add_environment(self) -> None:
        """`METACLAW_…` variables, and those of the training services where the file is silent."""
        for key in keys().values():
            for name in (variable(old) for old, new in OLD_NAMES.items() if new == key.name):
                self._from_variable(key, name)
            self._from_variable(key, key.variable)
        backend = self.get("rl.backend") or "auto"
        for name, prefix in _TRAINING.items():
            if backend in ("auto", name) and self.environ.get(f"{prefix}_API_KEY") and not self.get("rl.api_key"):
                self.put("rl.api_key", self.environ[f"{prefix}_API_KEY"], "environment", f"{prefix}_API_KEY")
                if (base := self.environ.get(f"{prefix}_BASE_URL")) and not self.get("rl.base_url"):
                    self.put("rl.base_url", base, "environment", f"{prefix}_BASE_URL")

    def _from_variable(self, key: Key, name: str) -> None:
        text = self.environ.get(name, "").strip()
        if not text:
            return
        value: Any = text
        if key.kind == "upstreams":
            value = parse_document(f"value: {text}", name).values.get("value")
        self.put(key.name, value, "environment", name)

    def add_secrets(self) -> None:
        """Stored secrets where nothing above gave one, then the provider's own variable."""
        names = self.secrets.names()
        for key in keys().values():
            if key.secret and not self.get(key.name) and key.name in names:
                self._from_store(key.name, key.name, names[key.name])
        self._choose_provider(names)
        provider = self.get("llm.provider") or "custom"
        for key_name, kind in (("llm.api_key", "key"), ("llm.oauth_token", "token")):
            if not self.get(key_name) and key_name not in self.stored and f"{provider}:{kind}" in names:
                self._from_store(key_name, f"{provider}:{kind}", names[f"{provider}:{kind}"])
        if not self.get("llm.api_key") and "llm.api_key" not in self.stored:
            self._from_provider_variable("llm.api_key", provider)
        self._complete_fallbacks(names)

    def _from_store(self, key: str, name: str, where: str) -> None:
        self.origins[key] = where
        self.stored[key] = name
        if not self.read_secrets:
            return
        try:
            value = self.secrets.get(name)
        except ConfigError as error:
            if key == "proxy.api_key":  # without it the gateway would let everybody in
                raise
            self.warnings.append(str(error))
            value = None
        if value:
            self.put(key, value, where)
        else:
            self.origins[key] = "default"
            del self.stored[key]

    def _choose_provider(self, names: Mapping[str, str]) -> None:
        """With nothing said about the upstream, the provider whose key is in the environment answers."""
        said = ("llm.provider", "llm.api_base", "llm.api_key", "llm.auth_method")
        if any(self.get(name) for name in said) or "llm.api_key" in self.stored:
            return
        from metaclaw.providers import PROVIDERS

        for provider, info in PROVIDERS.items():
            for name in info.key_env:
                if self.environ.get(name, "").strip():
                    self.put("llm.provider", provider, "environment", name)
                    return

    def _provider_key(self, provider: str) -> tuple[str, str]:
        from metaclaw.providers import PROVIDERS

        info = PROVIDERS.get(provider)
        for name in info.key_env if info else ():
            if value := self.environ.get(name, "").strip():
                return name, value
        return "", ""

    def _from_provider_variable(self, key: str, provider: str) -> None:
        name, value = self._provider_key(provider)
        if value and (self.get("llm.auth_method") or "api_key") == "api_key":
            self.put(key, value, "environment", name)

    def _complete_fallbacks(self, names: Mapping[str, str]) -> None:
        """A fallback without a key gets its provider's: stored, or from the environment."""
        fallbacks = self.get("llm.fallbacks")
        for item in fallbacks if isinstance(fallbacks, list) and self.read_secrets else []:
            if not isinstance(item, dict) or item.get("api_key"):
                continue
            provider = item.get("provider", "custom")
            stored = self.secrets.get(f"{provider}:key") if f"{provider}:key" in names else None
            if value := stored or self._provider_key(provider)[1]:
                item["api_key"] = value
