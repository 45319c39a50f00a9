"""The keys of the configuration, as the models declare them: names, types, defaults, variables."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from metaclaw.config.models import Section, Settings
from metaclaw.config.problems import ConfigError, Problem, unknown_key

# Names of earlier versions, still read; writing uses the new name.
OLD_NAMES = {
    "rl.tinker_api_key": "rl.api_key",
    "rl.tinker_base_url": "rl.base_url",
    "configure_openclaw": "configure_claws",
    "memory.dir": "memory.store_path",
    "memory.max_injected_units": "memory.top_k",
    "memory.max_injected_tokens": "memory.max_tokens",
}
# Keys of earlier versions that mean nothing now; read with a warning.
RETIRED = (
    "memory.use_embeddings",
    "memory.embedding_mode",
    "memory.embedding_model",
    "memory.embedding_model_path",
    "memory.policy_path",
    "memory.telemetry_path",
    "memory.review_stale_after_hours",
    "memory.ignore_turn_type",
    "memory.manual_trigger",
)

Kind = Literal["text", "secret", "bool", "int", "float", "choice", "list", "upstreams"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key: `llm.api_key`, what it holds, and the environment variable that overrides it."""

    name: str
    kind: Kind
    default: Any
    description: str
    choices: tuple[str, ...] = ()

    @property
    def secret(self) -> bool:
        """Whether its value is never shown."""
        return self.kind == "secret"

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return variable(self.name)


def variable(name: str) -> str:
    """`llm.api_key` → `METACLAW_LLM_API_KEY`."""
    return "METACLAW_" + name.replace(".", "_").upper()


@cache
def keys() -> dict[str, Key]:
    """All keys by dotted name, in the order of the models."""
    return {key.name: key for key in _walk(Settings, "")}


@cache
def sections() -> dict[str, str]:
    """The sections by dotted name, with what each is about."""
    return dict(_sections(Settings, ""))


def find(name: str) -> Key:
    """The key of that name, old names included. Raises ConfigError with the nearest known one."""
    name = OLD_NAMES.get(name, name)
    known = keys()
    if name in known:
        return known[name]
    if name in sections():
        inside = ", ".join(key.removeprefix(f"{name}.") for key in known if key.startswith(f"{name}."))
        raise ConfigError(Problem(f"is a section; name one of its keys: {inside}", key=name))
    raise ConfigError(Problem(unknown_key(name, [*known]), key=name))


def is_section(annotation: Any) -> bool:
    """Whether a field is a group of keys."""
    return isinstance(annotation, type) and issubclass(annotation, Section)


def _walk(model: type[Section], prefix: str) -> Iterator[Key]:
    for name, field in model.model_fields.items():
        if is_section(field.annotation):
            yield from _walk(typing.cast(type[Section], field.annotation), f"{prefix}{name}.")
        else:
            yield _key(f"{prefix}{name}", field)


def _sections(model: type[Section], prefix: str) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        if is_section(field.annotation):
            section = typing.cast(type[Section], field.annotation)
            yield f"{prefix}{name}", (section.__doc__ or "").strip()
            yield from _sections(section, f"{prefix}{name}.")


def _key(name: str, field: FieldInfo) -> Key:
    kind, choices = _kind(field.annotation)
    default = "" if kind == "secret" else field.get_default(call_default_factory=True)
    return Key(name, kind, default, field.description or "", choices)


def _kind(annotation: Any) -> tuple[Kind, tuple[str, ...]]:
    plain: dict[Any, Kind] = {str: "text", SecretStr: "secret", bool: "bool", int: "int", float: "float"}
    if annotation in plain:
        return plain[annotation], ()
    if get_origin(annotation) is Literal:
        return "choice", get_args(annotation)
    if get_origin(annotation) in (list, types.GenericAlias):
        return ("upstreams" if is_section(get_args(annotation)[0]) else "list"), ()
    raise TypeError(f"a key of type {annotation} has no rule here")
