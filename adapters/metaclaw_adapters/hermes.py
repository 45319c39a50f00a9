"""Hermes Agent: pointed at the gateway by a provider of our own and the `model` settings that choose it.

Knows: Hermes 0.19 (tried), whose `config.yaml` has its providers by name; and files from before its version 12, which
have them in a list. Hermes reads the file anew for each message. It does not start with a window below 64,000.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from .base import NO_KEY, Add, ChangeSet, Check, Edit, Endpoint, FileChange, Finding, Installation, Put, Wire
from .commands import Command
from .decisions import apply_all
from .errors import Refused
from .machine import alive, expanded, package_version, read_document, user_home
from .values import ABSENT, Json, Keys, dotted, get, put
from .yaml_writing import as_block

_OURS: Final = "metaclaw"
_BLOCK: Final[Keys] = ("providers", _OURS)
_LIST: Final[Keys] = ("custom_providers",)
_LISTED: Final = f"custom:{_OURS}"
_MODES: Final[Mapping[Wire, str]] = {
    "chat": "chat_completions",
    "messages": "anthropic_messages",
    "responses": "codex_responses",
}
_SMALLEST_WINDOW: Final = 64_000
_MAX_TOKENS: Final = 8192  # else it asks for 65,536, more than most models give
_BY_NAME_SINCE: Final = 12  # of `_config_version`
_READ_SECONDS = 60.0
_TURN_SECONDS = 300.0


class Hermes:
    """The adapter of Hermes Agent."""

    name = "hermes"
    title = "Hermes"

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._given = environ

    def detect(self) -> Installation | None:
        """Hermes is here if its program is on the PATH or its configuration file exists."""
        environ = self._environ
        home = _home(environ)
        path = home / "config.yaml"
        program = shutil.which("hermes", path=environ.get("PATH"))
        if program is None and not path.exists():
            return None
        document, blocked = read_document(path, "yaml")
        if not home.is_dir():
            blocked = "Hermes has no home yet: run `hermes setup` first"
        if environ.get("HERMES_MANAGED", "").strip() or (home / ".managed").exists():
            blocked = "Hermes's configuration is managed from outside (HERMES_MANAGED): add this there"
        profiles = sorted(found.parent.name for found in home.glob("profiles/*/config.yaml"))
        others = (f"its profiles are homes of their own, and are not changed: {', '.join(profiles)}",)
        return Installation(
            claw=self.name,
            version=package_version(program, "hermes-agent"),
            home=home,
            program=program,
            running=_runs(home / "gateway.pid"),
            documents=(document,),
            blocked=blocked,
            notes=others if profiles else (),
        )

    def plan(self, installation: Installation, endpoint: Endpoint) -> ChangeSet:
        """One provider, and the model settings that choose it; raises `Refused` where Hermes would not start."""
        document = installation.documents[0]
        window = _window(document.value, endpoint)
        if 0 < window < _SMALLEST_WINDOW:
            needed = f"Hermes does not start with a context window below {_SMALLEST_WINDOW:,}"
            raise Refused(f"{needed}, and this one is {window:,}: choose another model; nothing was changed")
        change = FileChange(
            document=document,
            edits=_edits(document.value, endpoint),
            within=document.path.parent,
            after=self._checks(installation, endpoint),
            secret=endpoint.api_key not in {"", NO_KEY},
        )
        return ChangeSet(self.name, (change,))

    def findings(self, installation: Installation, endpoint: Endpoint) -> list[Finding]:
        """Fallbacks, side tasks and subagents with a model of their own."""
        config = installation.documents[0].value
        found = [Finding("bypass", dotted(keys), f"{told} is asked directly") for keys, told in _passing(config)]
        text = "what Hermes sends does not tell its conversations apart; MetaClaw goes by their content"
        return [*found, Finding("note", "sessions", text)]

    def snippet(self, installation: Installation | None, endpoint: Endpoint) -> str:
        """The values to merge into its file; a key is named, not shown."""
        document = installation.documents[0] if installation is not None else None
        shown = apply_all({}, _edits(document.value if document is not None else {}, endpoint))
        if endpoint.api_key not in {"", NO_KEY}:
            told = "PUT HERE WHAT `metaclaw config get proxy.api_key --reveal` PRINTS"
            if get(shown, _BLOCK) is not ABSENT:
                shown = put(shown, (*_BLOCK, "api_key"), told)
            else:
                shown = put(shown, _LIST, [{**shown[_LIST[0]][0], "api_key": told}])
        path = document.path if document is not None else Path("~/.hermes/config.yaml")
        return f"# Merge this into {path}:\n{as_block(shown, '', chr(10))}"

    def headless_turn(self, installation: Installation, text: str) -> Command | None:
        """One message, answered by the program itself."""
        if installation.program is None:
            return None
        return Command((installation.program, "-z", text), env={"NO_COLOR": "1"}, timeout=_TURN_SECONDS)

    def reload(self, installation: Installation) -> Command | None:
        """Hermes reads the file anew for each message."""
        return None

    @property
    def _environ(self) -> Mapping[str, str]:
        return os.environ if self._given is None else self._given

    def _checks(self, installation: Installation, endpoint: Endpoint) -> tuple[Check, ...]:
        """Hermes itself reads our address as that of its model (0.19 has the command for it)."""
        numbers = [int(part) for part in re.findall(r"\d+", installation.version)[:2]]
        if installation.program is None or numbers < [0, 19]:
            return ()
        argv = (installation.program, "config", "get", "model", "--json")
        command = Command(argv, env={"NO_COLOR": "1", "HERMES_HOME": str(installation.home)}, timeout=_READ_SECONDS)
        base = _base(installation.documents[0].value, endpoint)
        return (Check(command, base, ("base_url",), "Hermes does not read its configuration as written"),)


def _home(environ: Mapping[str, str]) -> Path:
    """Hermes's home: the one named, or that of the profile in use, or the platform's own."""
    user = user_home(environ)
    if named := environ.get("HERMES_HOME", "").strip():
        return expanded(named, user)
    root = user / ".hermes"
    if os.name == "nt":
        local = environ.get("LOCALAPPDATA", "").strip()
        root = (Path(local) if local else user / "AppData" / "Local") / "hermes"
    try:
        profile = (root / "active_profile").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        profile = ""
    chosen = root / "profiles" / profile
    return chosen if re.fullmatch(r"[\w-]+", profile) and profile != "default" and chosen.is_dir() else root


def _edits(config: Json, endpoint: Endpoint) -> tuple[Edit, ...]:
    model, mode, base = _model(config), _mode(config, endpoint), _base(config, endpoint)
    model_id = endpoint.model_id or _text(model.get("default")) or _text(model.get("model")) or _OURS
    window = _window(config, endpoint)
    block: dict[str, Json] = {
        "name": "MetaClaw",
        "base_url": base,
        "api_key": endpoint.api_key or NO_KEY,
        "api_mode": mode,
        "default_model": model_id,
        "discover_models": False,
        "extra_headers": {"X-Metaclaw-Client": "hermes"},
        "models": {model_id: {"context_length": window} if window else {}},
    }
    listed = _uses_list(config)
    chosen: dict[str, Json] = {"default": model_id, "provider": _LISTED if listed else _OURS}
    chosen |= {"base_url": base, "api_mode": mode}
    if window:
        chosen["context_length"] = window
    kept = model.get("max_tokens")
    chosen["max_tokens"] = endpoint.max_tokens or (kept if isinstance(kept, int) and kept > 0 else _MAX_TOKENS)
    fields: tuple[Keys, ...] = (("base_url",), ("api_key",), ("api_mode",))
    provider: tuple[Edit, ...] = (Put(_BLOCK, block, owned=True, fields=fields),)
    if listed:
        entry = {**block, "name": _OURS, "model": model_id}
        del entry["default_model"]
        # Hermes may move the list to names one day; what it makes of our entry is ours too.
        provider = (Add(_LIST, entry, mark="name"), Put(_BLOCK, ABSENT, owned=True))
    if isinstance(get(config, ("model",)), str):
        return (*provider, Put(("model",), chosen))  # a name alone; it comes back as it was
    prefixes = {"provider": str(chosen["provider"])}
    edits = [Put(("model", key), value, prefix=prefixes.get(key, "")) for key, value in chosen.items()]
    return (*provider, *edits)


def _uses_list(config: Json) -> bool:
    """Does the file have its providers in a list, as before version 12, and none by name?"""
    version = get(config, ("_config_version",))
    old = not isinstance(version, int) or version < _BY_NAME_SINCE
    others = [name for name in get(config, ("providers",)) or {} if name != _OURS]
    return old and isinstance(get(config, _LIST), list) and bool(get(config, _LIST)) and not others


def _model(config: Json) -> dict[str, Json]:
    """The settings of the model in use; a name alone is its default."""
    found = get(config, ("model",))
    return found if isinstance(found, dict) else {"default": found}


def _mode(config: Json, endpoint: Endpoint) -> str:
    if endpoint.protocol:
        return _MODES[endpoint.protocol]
    model = _model(config)
    spoken = model.get("api_mode")
    if spoken in _MODES.values():
        return str(spoken)
    return "anthropic_messages" if model.get("provider") == "anthropic" else "chat_completions"


def _base(config: Json, endpoint: Endpoint) -> str:
    base = endpoint.base_url.rstrip("/")
    return base if _mode(config, endpoint) == "anthropic_messages" else f"{base}/v1"


def _window(config: Json, endpoint: Endpoint) -> int:
    """The model's window; a smaller one that the user has set is theirs, as long as Hermes starts with it."""
    declared = _model(config).get("context_length")
    if not isinstance(declared, int) or declared < _SMALLEST_WINDOW:
        return endpoint.context_window
    return min(declared, endpoint.context_window or declared)


def _passing(config: Json) -> Iterator[tuple[Keys, str]]:
    """Settings that send some requests elsewhere, as (keys, who is asked)."""
    for key in ("fallback_providers", "fallback_model"):
        found = get(config, (key,))
        for entry in found if isinstance(found, list) else [found]:
            if isinstance(entry, dict) and _foreign(entry):
                yield (key,), _told(entry)
    tasks = get(config, ("auxiliary",))
    named = [(("auxiliary", name), task) for name, task in (tasks.items() if isinstance(tasks, dict) else ())]
    for keys, entry in [*named, (("delegation",), get(config, ("delegation",)))]:
        if isinstance(entry, dict) and _foreign(entry):
            yield keys, _told(entry)


def _foreign(entry: dict[str, Json]) -> bool:
    provider = _text(entry.get("provider"))
    return bool(_text(entry.get("base_url"))) or provider not in {"", "auto", "main", _OURS, _LISTED}


def _told(entry: dict[str, Json]) -> str:
    parts = [_text(entry.get(key)) for key in ("provider", "model")]
    return "/".join(part for part in parts if part) or _text(entry.get("base_url"))


def _runs(pid_file: Path) -> bool:
    try:
        pid = get(json.loads(pid_file.read_bytes()), ("pid",))
    except (OSError, ValueError):
        return False
    return isinstance(pid, int) and alive(pid)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
