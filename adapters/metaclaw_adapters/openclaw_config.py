"""OpenClaw's configuration, found and read as OpenClaw does: where it is, which model is in use, what overrides it.

Source: OpenClaw 2026.9.6, its documentation and its own answers to `config file`, `config validate` and `config patch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .values import ABSENT, Json, Keys, get

PROVIDER: Final = "metaclaw"
PREFIX: Final = "metaclaw/"
DEFAULTS: Final[Keys] = ("agents", "defaults")
MODEL: Final[Keys] = (*DEFAULTS, "model")
ALLOW: Final[Keys] = (*DEFAULTS, "modelPolicy", "allow")
BLOCK: Final[Keys] = ("models", "providers", PROVIDER)
_GATEWAY_PORT = 18789
_NAMES = ("openclaw.json", "clawdbot.json")
_FOLDERS = (".openclaw", ".clawdbot")
_SPOKEN = ("openai-completions", "anthropic-messages", "openai-responses")
_BUILT_IN_APIS = {"anthropic": "anthropic-messages", "openai": "openai-responses"}
_OVERRIDES: tuple[Keys, ...] = (
    (*DEFAULTS, "subagents", "model"),
    (*DEFAULTS, "heartbeat", "model"),
    ("agents", "entries", "*", "model"),
    ("agents", "entries", "*", "subagents", "model"),
    ("agents", "entries", "*", "heartbeat", "model"),
    ("agents", "list", "*", "model"),
    ("channels", "modelByChannel", "*", "*"),
    ("hooks", "mappings", "*", "model"),
    ("hooks", "gmail", "model"),
)


@dataclass(frozen=True)
class ModelInUse:
    """The model that the user's agent answers with by default, before or after wiring."""

    keys: Keys  # where the reference stands
    ref: str  # provider/id, aliases resolved; empty if none is set
    id: str  # without the provider; empty if unknown


def config_path(environ: Mapping[str, str], account_home: Path) -> tuple[Path, Path]:
    """(state folder, configuration file), by OpenClaw's own order of precedence."""
    home = _home(environ, account_home)
    override = environ.get("OPENCLAW_STATE_DIR", "").strip()
    folders = [home / name for name in _FOLDERS]
    state = _expand(override, home) if override else next((f for f in folders if f.exists()), folders[0])
    explicit = environ.get("OPENCLAW_CONFIG_PATH", "").strip()
    if explicit:
        return state, _expand(explicit, home)
    places = [state, *folders] if override else folders
    existing = (folder / name for folder in places for name in _NAMES if (folder / name).exists())
    return state, next(existing, state / _NAMES[0])


def read_only(environ: Mapping[str, str]) -> str:
    """The variable by which this host forbids changes of the configuration; empty if none does."""
    names = ("OPENCLAW_CONFIG_READONLY", "OPENCLAW_NIX_MODE")
    return next((name for name in names if environ.get(name) == "1"), "")


def included(config: Json) -> str:
    """Where a part of the configuration that we would have to write comes from another file; empty if nowhere."""
    for keys in (BLOCK, (*MODEL, "primary"), ALLOW):
        for depth in range(len(keys) + 1):
            if get(config, (*keys[:depth], "$include")) is not ABSENT:
                return ".".join(keys[:depth]) or "its top level"
    return ""


def model_in_use(config: Json) -> ModelInUse:
    """The default model: `agents.defaults.model` is a string or an object, and may be an alias."""
    found = get(config, MODEL)
    keys = MODEL if isinstance(found, str) else (*MODEL, "primary")
    ref = found if isinstance(found, str) else get(config, keys)
    if not isinstance(ref, str) or "${" in ref:
        return ModelInUse(keys, "", "")
    for name, settings in _items(get(config, (*DEFAULTS, "models"))):
        if get(settings, ("alias",)) == ref:
            ref = name
            break
    return ModelInUse(keys, ref, ref.partition("/")[2])


def api_in_use(config: Json, model: ModelInUse) -> str:
    """The wire protocol the default model is spoken to in, in OpenClaw's words."""
    provider = model.ref.partition("/")[0]
    api = get(config, ("models", "providers", provider, "api"))
    return api if api in _SPOKEN else _BUILT_IN_APIS.get(provider, "openai-completions")


def declared(config: Json, model: ModelInUse, model_id: str) -> dict[str, Json]:
    """What the user's own providers say of a model: the provider in use first, then any other; never our block."""
    providers = get(config, ("models", "providers"))
    first = model.ref.partition("/")[0]
    for name, provider in sorted(_items(providers), key=lambda item: item[0] != first):
        models = get(provider, ("models",))
        for entry in models if name != PROVIDER and isinstance(models, list) else []:
            if get(entry, ("id",)) == model_id:
                return dict(entry)
    return {}


def legacy_allowed(config: Json) -> list[str]:
    """References that OpenClaw will turn into an allow list at its next write; empty if it won't."""
    done = get(config, ("meta", "migrations", "modelPolicyAllowlist"))
    names = [name for name, _ in _items(get(config, (*DEFAULTS, "models")))]
    if done is True or get(config, (*DEFAULTS, "modelPolicy")) is not ABSENT or not all("/" in name for name in names):
        return []
    return names


def gateway_port(config: Json, environ: Mapping[str, str]) -> int:
    """The port of OpenClaw's gateway."""
    port = environ.get("OPENCLAW_GATEWAY_PORT", "").strip()
    if port.isdigit():
        return int(port)
    found = get(config, ("gateway", "port"))
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else _GATEWAY_PORT


def default_agent(config: Json) -> str:
    """The agent that answers when none is named."""
    entries = dict(_items(get(config, ("agents", "entries"))))
    marked = [name for name, entry in entries.items() if get(entry, ("default",)) is True]
    return marked[0] if marked else "main" if "main" in entries or not entries else next(iter(entries))


def fallbacks(config: Json) -> list[str]:
    """Models that OpenClaw asks by itself when the default one fails."""
    found = get(config, (*MODEL, "fallbacks"))
    refs = found if isinstance(found, list) else []
    return [ref for ref in refs if isinstance(ref, str) and not ref.startswith(PREFIX)]


def tuned(config: Json, model_id: str) -> str:
    """A reference of the user's own to this model that has `params`; empty if none has."""
    for ref, settings in _items(get(config, (*DEFAULTS, "models"))):
        if ref.partition("/")[2] == model_id and not ref.startswith(PREFIX) and get(settings, ("params",)):
            return ref
    return ""


def overrides(config: Json) -> Iterator[tuple[Keys, str]]:
    """Places that choose a model of their own, as (keys, reference), our own model left out."""
    for pattern in _OVERRIDES:
        for keys, found in _match(config, pattern):
            for ref in (found, get(found, ("primary",))):
                if isinstance(ref, str) and ref and not ref.startswith(PREFIX):
                    yield keys, ref


def agents_with_limits(config: Json, ref: str) -> Iterator[Keys]:
    """Agents whose own allow list doesn't hold our model."""
    for keys, found in _match(config, ("agents", "entries", "*", "modelPolicy", "allow")):
        if isinstance(found, list) and found and not allows(found, ref):
            yield keys


def allows(items: list[Json], ref: str) -> bool:
    """Does an allow list, which may end in wildcards, let this model through?"""
    patterns = [item for item in items if isinstance(item, str)]
    return any(item == ref or (item.endswith("/*") and ref.startswith(item[:-1])) for item in patterns)


def _match(tree: Json, pattern: Keys, keys: Keys = ()) -> Iterator[tuple[Keys, Json]]:
    if not pattern:
        yield keys, tree
        return
    children: Iterable[tuple[object, Json]] = enumerate(tree) if isinstance(tree, list) else _items(tree)
    for key, value in children:
        if pattern[0] in ("*", key):
            yield from _match(value, pattern[1:], (*keys, str(key)))


def _items(tree: Json) -> Iterator[tuple[str, Json]]:
    yield from tree.items() if isinstance(tree, dict) else ()


def _home(environ: Mapping[str, str], account_home: Path) -> Path:
    named = [environ.get(name, "").strip() for name in ("HOME", "USERPROFILE")]
    user = Path(next((name for name in named if name not in {"", "undefined", "null"}), str(account_home)))
    explicit = environ.get("OPENCLAW_HOME", "").strip()
    return _expand(explicit, user) if explicit not in {"", "undefined", "null"} else user


def _expand(text: str, home: Path) -> Path:
    if text == "~" or text.startswith(("~/", "~\\")):
        return home / text[2:]
    return Path(text).absolute()
