"""OpenClaw: pointed at the gateway through its own `config patch`, or through its file when the program isn't there.

Knows: OpenClaw 2026.8 and 2026.9 (and older ones as far as their validator accepts the patch). Leaves alone: sandbox
settings, plugins, other providers, whatever else the file holds.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from . import openclaw_config as config_of
from .base import (
    NO_KEY,
    Add,
    Automatic,
    ChangeSet,
    Check,
    Document,
    Edit,
    Endpoint,
    FileChange,
    Finding,
    Installation,
    Put,
    Wire,
)
from .commands import Command, run
from .decisions import changes_for
from .errors import CommandFailed, Unreadable
from .files import SymlinkEscape, real_path
from .formats import FORMATS
from .json5_text import has_comments
from .openclaw_config import ALLOW, BLOCK, PREFIX, PROVIDER
from .values import ABSENT, Json, dotted, get, put

_APIS: Final[Mapping[Wire, str]] = {
    "chat": "openai-completions",
    "messages": "anthropic-messages",
    "responses": "openai-responses",
}
_ENV: Final = {"OPENCLAW_NO_AUTO_UPDATE": "1", "NO_COLOR": "1"}
_WRITE_SECONDS = 120.0  # a write takes 4 to 10 s on a small idle machine
_READ_SECONDS = 60.0
_TURN_SECONDS = 300.0
_CONTEXT = 131_072
_MAX_TOKENS = 8192
_KEPT = ("name", "reasoning", "input", "cost", "contextWindow", "maxTokens", "compat")


class OpenClaw:
    """The adapter of OpenClaw."""

    name = "openclaw"
    title = "OpenClaw"

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._given = environ

    def detect(self) -> Installation | None:
        """OpenClaw is here if its program is on the PATH or its configuration file exists."""
        environ = self._environ
        home, path = config_of.config_path(environ, Path.home())
        program = shutil.which("openclaw", path=environ.get("PATH"))
        if program is None and not path.exists():
            return None
        version, notes = self._version(program)
        document, blocked = _read(path)
        blocked = _forbidden(environ) or blocked or _elsewhere(path, document)
        return Installation(
            claw=self.name,
            version=version or str(_text(get(document.value, ("meta", "lastTouchedVersion")))),
            home=home,
            program=program if version else None,
            running=_listens(config_of.gateway_port(document.value, environ)),
            documents=(document,),
            blocked=blocked,
            notes=notes,
        )

    def plan(self, installation: Installation, endpoint: Endpoint) -> ChangeSet:
        """One provider with one model, made the default; the allow list too, where there is one."""
        document = installation.documents[0]
        edits = _edits(installation, endpoint)
        writer = None if document.path.is_symlink() else self._writer(installation, edits)
        change = FileChange(
            document=document,
            edits=edits,
            within=document.path.parent,
            writer=writer,
            before=() if document.data is None else self._checks(installation, ()),
            after=self._checks(installation, edits),
            automatic=_automatic(document.value, edits),
            secret=endpoint.api_key not in {"", NO_KEY},
        )
        notes = []
        if writer is not None and document.data is not None and has_comments(document.data):
            notes.append(f"OpenClaw's writer drops the comments in {document.path}; undoing brings them back")
        return ChangeSet(self.name, (change,), tuple(notes))

    def findings(self, installation: Installation, endpoint: Endpoint) -> list[Finding]:
        """Fallbacks and overrides that pass the gateway by, limits that keep our model from being chosen."""
        document = installation.documents[0]
        config = document.value
        ref = PREFIX + _model_id(config, endpoint)
        found: list[Finding] = []
        if document.path.is_symlink():
            text = "is a link: OpenClaw replaces it by a file of its own at its next write"
            found.append(Finding("note", str(document.path), text))
        found += [
            Finding("bypass", "agents.defaults.model.fallbacks", f"{other} is asked directly when the gateway fails")
            for other in config_of.fallbacks(config)
        ]
        found += [
            Finding("bypass", dotted(keys), f"{other} is asked directly") for keys, other in config_of.overrides(config)
        ]
        found += [
            Finding("limit", dotted(keys), f"does not hold {ref}: `/model {ref}` is refused there")
            for keys in config_of.agents_with_limits(config, ref)
        ]
        if tuned := config_of.tuned(config, ref.removeprefix(PREFIX)):
            text = f"the params of {tuned} are not applied to {ref}: repeat them under that name if you need them"
            found.append(Finding("note", "agents.defaults.models", text))
        return found

    def snippet(self, installation: Installation | None, endpoint: Endpoint) -> str:
        """The patch, ready for `openclaw config patch`; a key is named, not shown."""
        if installation is None:
            document = Document(Path("~/.openclaw/openclaw.json"), "json5", None, {})
            installation = Installation(self.name, "", document.path.parent, None, False, (document,))
        secret = endpoint.api_key not in {"", NO_KEY}
        patch = _patch(installation.documents[0].value, _edits(installation, endpoint))
        if secret:
            patch = put(patch, (*BLOCK, "apiKey"), "PUT HERE WHAT `metaclaw config get proxy.api_key --reveal` PRINTS")
        shown = json.dumps(patch, indent=2, ensure_ascii=False)
        place = installation.documents[0].path
        return (
            f"# Merge this into {place}, or paste it as it is:\nopenclaw config patch --stdin <<'EOF'\n{shown}\nEOF\n"
        )

    def headless_turn(self, installation: Installation, text: str) -> Command | None:
        """One message to the default agent, through OpenClaw's gateway when it runs, else in the program itself."""
        if installation.program is None:
            return None
        agent = config_of.default_agent(installation.documents[0].value)
        argv = [installation.program, "agent", "--agent", agent, "--session-key", "metaclaw-check", "--message", text]
        local = [] if installation.running else ["--local"]
        return Command((*argv, "--json", *local), env=_ENV, timeout=_TURN_SECONDS)

    def reload(self, installation: Installation) -> Command | None:
        """OpenClaw watches its file, unless that is switched off; then its gateway must be restarted."""
        mode = get(installation.documents[0].value, ("gateway", "reload", "mode"))
        if mode != "off" or installation.program is None or not installation.running:
            return None
        return Command((installation.program, "gateway", "restart", "--safe"), env=_ENV, timeout=_WRITE_SECONDS)

    @property
    def _environ(self) -> Mapping[str, str]:
        return os.environ if self._given is None else self._given

    def _version(self, program: str | None) -> tuple[str, tuple[str, ...]]:
        if program is None:
            return "", ()
        try:
            answer = run(Command((program, "--version"), env=_ENV, timeout=_READ_SECONDS), self._environ)
        except CommandFailed as error:
            return "", (f"{error}; its file is edited instead",)
        match = re.search(r"\d+\.\d+\.\d+\S*", answer.out)
        if answer.code != 0 or match is None:
            return "", (f"{program} does not run ({answer.said()}); its file is edited instead",)
        return match[0], ()

    def _writer(self, installation: Installation, edits: tuple[Edit, ...]) -> Command | None:
        if installation.program is None:
            return None
        config = installation.documents[0].value
        replaced = () if get(config, BLOCK) is ABSENT else ("--replace-path", dotted(BLOCK))
        patch = json.dumps(_patch(config, edits))
        argv = (installation.program, "config", "patch", "--stdin", *replaced)
        return Command(argv, stdin=patch, env=_ENV, timeout=_WRITE_SECONDS)

    def _checks(self, installation: Installation, edits: tuple[Edit, ...]) -> tuple[Check, ...]:
        """OpenClaw finds its configuration valid, and means the same file; then: it reads our model as the default."""
        if installation.program is None:
            return ()
        path = installation.documents[0].path
        validate = Command((installation.program, "config", "validate", "--json"), env=_ENV, timeout=_READ_SECONDS)
        checks = [Check(validate, str(path), ("path",), f"OpenClaw does not accept its configuration {path}")]
        for edit in edits:
            if isinstance(edit, Put) and edit.keys != BLOCK:
                argv = (installation.program, "config", "get", dotted(edit.keys), "--json")
                why = f"OpenClaw does not read {dotted(edit.keys)} as written"
                checks.append(Check(Command(argv, env=_ENV, timeout=_READ_SECONDS), edit.value, (), why))
        return tuple(checks)


def _edits(installation: Installation, endpoint: Endpoint) -> tuple[Edit, ...]:
    config = installation.documents[0].value
    model = config_of.model_in_use(config)
    model_id = _model_id(config, endpoint)
    ref = PREFIX + model_id
    block = _block(config, model, model_id, endpoint)
    fields = (("baseUrl",), ("api",), ("apiKey",))
    edits: list[Edit] = [Put(BLOCK, block, owned=True, fields=fields), Put(model.keys, ref, prefix=PREFIX)]
    allowed = get(config, ALLOW)
    if isinstance(allowed, list):
        if allowed and (not config_of.allows(allowed, ref) or ref in allowed):
            edits.append(Add(ALLOW, ref, prefix=PREFIX))
    elif (
        installation.program is not None
        and _has_policies(installation.version)
        and (names := config_of.legacy_allowed(config))
    ):
        edits.append(Add(ALLOW, ref, seed=tuple(names), prefix=PREFIX))
    return tuple(edits)


def _block(config: Json, model: config_of.ModelInUse, model_id: str, endpoint: Endpoint) -> dict[str, Json]:
    known = declared = config_of.declared(config, model, model_id)
    ours = get(config, (*BLOCK, "models"))
    if not known and isinstance(ours, list) and ours and get(ours[0], ("id",)) == model_id:
        known = dict(ours[0])
    entry: dict[str, Json] = {"id": model_id, "name": model_id, "reasoning": False, "input": ["text", "image"]}
    entry |= {"contextWindow": _CONTEXT, "maxTokens": _MAX_TOKENS}
    entry |= {key: known[key] for key in _KEPT if key in known}
    window = endpoint.context_window
    wanted = declared.get("contextWindow")
    if isinstance(wanted, int) and 0 < wanted < window:
        window = wanted  # a smaller one is the user's choice; a larger one than the model has would only fail
    told = {"name": endpoint.model_name, "contextWindow": window, "maxTokens": endpoint.max_tokens}
    entry |= {key: value for key, value in told.items() if value}
    if endpoint.input:
        entry["input"] = list(endpoint.input)
    compat = entry.get("compat")
    flags = {"sendSessionAffinityHeaders": True, "supportsPromptCacheKey": True}
    entry["compat"] = {**(compat if isinstance(compat, dict) else {}), **flags}
    base = endpoint.base_url.rstrip("/")
    api = _APIS[endpoint.protocol] if endpoint.protocol else config_of.api_in_use(config, model)
    return {
        "baseUrl": base if api == "anthropic-messages" else f"{base}/v1",
        "apiKey": endpoint.api_key or NO_KEY,
        "api": api,
        "headers": {"X-Metaclaw-Client": "openclaw"},
        "models": [entry],
    }


def _model_id(config: Json, endpoint: Endpoint) -> str:
    return endpoint.model_id or config_of.model_in_use(config).id or PROVIDER


def _automatic(config: Json, edits: tuple[Edit, ...]) -> tuple[Automatic, ...]:
    """OpenClaw stamps its file, and turns the old model map into an allow list when it first writes it."""
    places = [Automatic(("meta",))]
    if names := config_of.legacy_allowed(config):
        refs = [edit.value for edit in edits if isinstance(edit, Put) and edit.keys != BLOCK]
        lists = ({"allow": names}, *({"allow": [*names, ref]} for ref in refs))
        places.append(Automatic(ALLOW[:-1], lists))
    return tuple(places)


def _patch(config: Json, edits: tuple[Edit, ...]) -> Json:
    patch: Json = {}
    for keys, value in changes_for(config, edits):
        patch = put(patch, keys, value)
    return patch


def _has_policies(version: str) -> bool:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3]) >= (2026, 8, 1)


def _read(path: Path) -> tuple[Document, str]:
    try:
        data = path.read_bytes() if path.exists() else None
        value = {} if data is None else FORMATS["json5"].read(data)
    except OSError as error:
        return Document(path, "json5", None, {}), f"{path} can't be read ({error.strerror}); it was left alone"
    except Unreadable as error:
        return Document(path, "json5", data, {}), f"{path} was left alone: {error}; run `openclaw doctor`"
    if not isinstance(value, dict):
        return Document(path, "json5", data, {}), f"{path} was left alone: it does not hold an object"
    return Document(path, "json5", data, value), ""


def _forbidden(environ: Mapping[str, str]) -> str:
    name = config_of.read_only(environ)
    return f"{name}=1 says that OpenClaw's configuration is managed from outside: add this there" if name else ""


def _elsewhere(path: Path, document: Document) -> str:
    try:
        real_path(path)
    except SymlinkEscape as error:
        return str(error)
    if place := config_of.included(document.value):
        return f"{place} of {path} is taken from another file by $include: add this to that file yourself"
    return ""


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.5):
            return True
    except OSError:
        return False


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
