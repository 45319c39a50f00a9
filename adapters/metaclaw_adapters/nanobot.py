"""nanobot: pointed at the gateway by a provider and a model preset of our own, beside the user's.

Knows: nanobot 0.3 (tried with 0.3.5), which reads `config.json` strictly and watches it while its gateway runs. The
user's providers, models and presets stay as they are; one value, the active preset, chooses ours.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .base import NO_KEY, ChangeSet, Check, Edit, Endpoint, FileChange, Finding, Installation, Put
from .commands import Command
from .decisions import apply_all
from .machine import listens, package_version, read_document, user_home
from .values import ABSENT, Json, Keys, dotted, get, put

_OURS: Final = "metaclaw"
_DEFAULTS: Final[Keys] = ("agents", "defaults")
_BLOCK: Final[Keys] = ("providers", _OURS)
_PORT: Final = 18_790
_ENV: Final = {"NO_COLOR": "1"}
_READ_SECONDS = 60.0
_TURN_SECONDS = 300.0
# What a preset may take over from the model in use, as (in the file, when the file says nothing).
_MODEL: Final = "anthropic/claude-opus-4-5"
_SAMPLING: Final = ("maxTokens", "temperature", "reasoningEffort")


class Nanobot:
    """The adapter of nanobot."""

    name = "nanobot"
    title = "nanobot"

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._given = environ

    def detect(self) -> Installation | None:
        """nanobot is here if its program is on the PATH or its configuration file exists."""
        environ = os.environ if self._given is None else self._given
        path = user_home(environ) / ".nanobot" / "config.json"
        program = shutil.which("nanobot", path=environ.get("PATH"))
        if program is None and not path.exists():
            return None
        document, blocked = read_document(path, "json5")
        if document.data is None and not blocked:
            blocked = "nanobot has no configuration yet: run `nanobot onboard` first"
        port = get(document.value, ("gateway", "port"))
        return Installation(
            claw=self.name,
            version=package_version(program, "nanobot-ai"),
            home=path.parent,
            program=program,
            running=listens(port if isinstance(port, int) and 0 < port < 65_536 else _PORT),
            documents=(document,),
            blocked=blocked,
        )

    def plan(self, installation: Installation, endpoint: Endpoint) -> ChangeSet:
        """A provider, a preset with one model, and the preset made the active one."""
        document = installation.documents[0]
        change = FileChange(
            document=document,
            edits=_edits(document.value, endpoint),
            within=document.path.parent,
            before=self._checks(installation, "nanobot does not accept its configuration"),
            after=self._checks(installation, "nanobot does not accept the change"),
            secret=endpoint.api_key not in {"", NO_KEY},
        )
        return ChangeSet(self.name, (change,))

    def findings(self, installation: Installation, endpoint: Endpoint) -> list[Finding]:
        """Fallbacks, and the memory job's own model, that pass the gateway by."""
        config = installation.documents[0].value
        found = [
            Finding("bypass", dotted(_spelt(config, (*_DEFAULTS, "fallbackModels"))), f"{name} is asked directly")
            for name in _fallbacks(config)
        ]
        for key in ("modelOverride", "model_override", "model"):
            name = get(config, (*_DEFAULTS, "dream", key))
            if isinstance(name, str) and name and _provider_of(config, name) != _OURS:
                where = dotted((*_DEFAULTS, "dream", key))
                found.append(Finding("bypass", where, f"the memory job asks preset {name} directly"))
                break
        text = "what nanobot sends does not tell its conversations apart; MetaClaw goes by their content"
        return [*found, Finding("note", "sessions", text)]

    def snippet(self, installation: Installation | None, endpoint: Endpoint) -> str:
        """The values to merge into its file; a key is named, not shown."""
        config = installation.documents[0].value if installation is not None else {}
        path = installation.documents[0].path if installation is not None else Path("~/.nanobot/config.json")
        shown = apply_all({}, _edits(config, endpoint))
        if endpoint.api_key not in {"", NO_KEY}:
            shown = put(shown, (*_BLOCK, "apiKey"), "PUT HERE WHAT `metaclaw config get proxy.api_key --reveal` PRINTS")
        return f"# Merge this into {path}:\n{json.dumps(shown, indent=2, ensure_ascii=False)}\n"

    def headless_turn(self, installation: Installation, text: str) -> Command | None:
        """One message, in a conversation of its own."""
        if installation.program is None:
            return None
        argv = (installation.program, "agent", "--message", text, "--session", "cli:metaclaw-check", "--no-markdown")
        return Command(argv, env=_ENV, timeout=_TURN_SECONDS)

    def reload(self, installation: Installation) -> Command | None:
        """Its gateway watches the file, and the command line reads it at each start."""
        return None

    def _checks(self, installation: Installation, why: str) -> tuple[Check, ...]:
        """nanobot reads its configuration whole, and ends with 1 where it finds anything wrong."""
        if installation.program is None:
            return ()
        command = Command((installation.program, "status"), env=_ENV, timeout=_READ_SECONDS)
        return (Check(command, why=why),)


def _edits(config: Json, endpoint: Endpoint) -> tuple[Edit, ...]:
    block = {
        "displayName": "MetaClaw",
        "apiKey": endpoint.api_key or NO_KEY,
        "apiBase": f"{endpoint.base_url.rstrip('/')}/v1",
        "extraHeaders": {"X-Metaclaw-Client": "nanobot"},
    }
    presets = (*_spelt(config, ("modelPresets",)), _OURS)
    return (
        Put(_BLOCK, block, owned=True, fields=(("apiBase",), ("apiKey",))),
        Put(presets, _preset(config, endpoint), owned=True, fields=(("model",), ("provider",))),
        Put(_spelt(config, (*_DEFAULTS, "modelPreset")), _OURS, prefix=_OURS),
    )


def _preset(config: Json, endpoint: Endpoint) -> dict[str, Json]:
    """The model in use, by its name and with its settings, but asked through our provider."""
    active = _active(config)
    preset: dict[str, Json] = {"provider": _OURS, "model": endpoint.model_id or active.get("model") or _MODEL}
    preset |= {key: active[key] for key in _SAMPLING if key in active}
    window, chosen = endpoint.context_window, active.get("contextWindowTokens")
    if isinstance(chosen, int) and (window == 0 or 0 < chosen < window):
        window = chosen  # a smaller one is the user's choice; a larger one than the model has would only fail
    if window:
        preset["contextWindowTokens"] = window
    if endpoint.max_tokens:
        preset["maxTokens"] = endpoint.max_tokens
    return preset


def _active(config: Json) -> dict[str, Json]:
    """The settings of the model in use: those of the active preset, else of `agents.defaults`, in camel case."""
    name = get(config, _spelt(config, (*_DEFAULTS, "modelPreset")))
    presets = get(config, _spelt(config, ("modelPresets",)))
    found = get(presets, (name,)) if isinstance(name, str) else ABSENT
    chosen = found if isinstance(found, dict) else get(config, _DEFAULTS)
    return {_camel(key): value for key, value in chosen.items()} if isinstance(chosen, dict) else {}


def _provider_of(config: Json, preset: str) -> str:
    found = get(config, (*_spelt(config, ("modelPresets",)), preset, "provider"))
    return found if isinstance(found, str) else ""


def _fallbacks(config: Json) -> list[str]:
    """Models that are asked when the active one fails, and not through us."""
    found = get(config, _spelt(config, (*_DEFAULTS, "fallbackModels")))
    names = []
    for item in found if isinstance(found, list) else []:
        provider = _provider_of(config, item) if isinstance(item, str) else get(item, ("provider",))
        if provider != _OURS:
            names.append(str(item if isinstance(item, str) else get(item, ("model",))))
    return names


def _spelt(config: Json, keys: Keys) -> Keys:
    """nanobot takes a key in camel or snake case: as the file has it, so that none stands there twice."""
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in keys[-1])
    return (*keys[:-1], snake) if get(config, (*keys[:-1], snake)) is not ABSENT else keys


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)
