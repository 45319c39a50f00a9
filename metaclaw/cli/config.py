"""`metaclaw config`: show and change settings. `metaclaw config KEY [VALUE]` is short for `get` and `set`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from metaclaw.cli.output import JsonFlag, fail, note, read_secret, say, show
from metaclaw.config import ConfigError, ConfigFile, Loaded, Secrets, home, load
from metaclaw.config.schema import Key, find, keys, sections

_READS_STDIN = "-"
_OWN_KEY = "proxy.api_key"


class _KeyOrCommand(TyperGroup):
    """A first word that is no command is a key."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            values = [arg for arg in args if arg != "--json"]
            args = ["set" if len(values) > 1 else "get", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_KeyOrCommand,
    no_args_is_help=True,
    help="Show and change settings. `config KEY` shows one, `config KEY VALUE` sets it.",
)


def _complete(incomplete: str) -> list[tuple[str, str]]:
    return [(name, key.description) for name, key in keys().items() if name.startswith(incomplete)]


KeyName = typer.Argument(metavar="KEY", help="A key such as `proxy.port`.", autocompletion=_complete)


@app.command("show")
def show_all(
    section: str = typer.Argument("", metavar="SECTION", help="Only this section."),
    changed: bool = typer.Option(False, "--changed", help="Only what differs from the default."),
    json: bool = JsonFlag,
) -> None:
    """Show every setting as it counts now, and where it came from."""
    if section and section not in sections():
        find(section)
    loaded = load(read_secrets=False)
    chosen = [
        key
        for name, key in keys().items()
        if (not section or name == section or name.startswith(f"{section}."))
        and (not changed or loaded.origins[name] != "default")
    ]
    for warning in loaded.warnings:
        note(f"warning: {warning}")
    if json:
        found = {key.name: {"value": value(loaded, key), **_origin(loaded, key)} for key in chosen}
        show({"path": str(loaded.path), "exists": loaded.exists, "keys": found}, as_json=True)
        return
    note(f"{loaded.path}{'' if loaded.exists else ' (not there yet)'}")
    rows = [{"key": key.name, "value": _text(value(loaded, key)), "from": _from(loaded, key)} for key in chosen]
    show(rows, as_json=False, empty="Everything is at its default.")


@app.command()
def get(
    key: str = KeyName,
    reveal: bool = typer.Option(False, "--reveal", help="Print `proxy.api_key` itself, for a client that needs it."),
    json: bool = JsonFlag,
) -> None:
    """Show one setting as it counts now.

    Of a secret, only whether it is set.
    """
    known = find(key)
    if reveal:
        _reveal(known)
        return
    loaded = load(read_secrets=False)
    found = value(loaded, known)
    if json:
        show({"key": known.name, "value": found, **_origin(loaded, known)}, as_json=True)
    else:
        say(_text(found))


def _reveal(key: Key) -> None:
    """The gateway's own key is made here and needed by clients; everybody else's secrets stay hidden."""
    if key.name != _OWN_KEY:
        fail(f"only {_OWN_KEY} can be shown", code=2)
    own = load().settings.proxy.api_key.get_secret_value()
    say(own) if own else fail(f"{_OWN_KEY} is not set: clients need none")


@app.command("set", context_settings={"ignore_unknown_options": True})
def set_(
    key: str = KeyName,
    value: str = typer.Argument(metavar="VALUE", help="The new value; `-` reads it from stdin."),
) -> None:
    """Set one setting.

    A secret goes to the system's keyring, or a file only you can read.
    """
    known = find(key)
    if known.secret:
        _set_secret(known, value)
        return
    if value == _READS_STDIN:
        value = sys.stdin.read().rstrip("\r\n")
    file = ConfigFile()
    changed = file.set(key, value)
    say(f"{known.name} = {_text(file.get(key))}{'' if changed else ' (as before)'}")
    _say_what_counts(known, changed=changed)


def _set_secret(key: Key, given: str) -> None:
    if given != _READS_STDIN:
        note("note: a secret on the command line stays in the shell's history; next time give `-` and paste it")
    where = Secrets().set(key.name, given.strip() if given != _READS_STDIN else read_secret(key.name))
    moved = ConfigFile().unset(key.name)
    say(f"{key.name} is set (kept in the {where}){'; taken out of config.yaml' if moved else ''}")
    _say_what_counts(key, changed=True)


@app.command()
def unset(key: str = KeyName) -> None:
    """Remove one setting, so that its default counts."""
    known = find(key)
    changed = ConfigFile().unset(key)
    if known.secret:
        changed = Secrets().delete(known.name) or changed
    say(f"{known.name} is {'unset' if changed else 'not set'}")
    _say_what_counts(known, changed=changed)


def _say_what_counts(key: Key, *, changed: bool) -> None:
    """Notes on a change that does not count yet, or not at all."""
    try:
        loaded = load(read_secrets=False)
    except ConfigError as error:
        note(f"note: {error}")
        return
    if loaded.origins[key.name] == "environment":
        note(f"note: {loaded.variables[key.name]} is set in the environment and wins")
    if changed:
        say_restart()


def say_restart() -> None:
    """A note that a running gateway still has the old value."""
    if (home() / "run" / "gateway.json").exists():
        note("note: a running gateway takes this up after `metaclaw restart`")


@app.command()
def path() -> None:
    """Show where the configuration file is."""
    say(str(ConfigFile().path))


@app.command()
def edit() -> None:
    """Open the file in your editor.

    It is written back only if it is sound.
    """
    from metaclaw.cli.editor import edit_file

    say("saved" if edit_file(ConfigFile()) else "nothing changed")


@app.command()
def validate(
    file: Path = typer.Argument(None, metavar="FILE", help="Another file than the one in use."), json: bool = JsonFlag
) -> None:
    """Check the file; every fault in one line, with its place."""
    checked = ConfigFile(file)
    if file is not None and not file.is_file():
        fail(f"{file}: no such file", code=2)
    problems = checked.problems()
    warnings = [] if problems else load(checked.path, read_secrets=False).warnings
    if json:
        found = {"path": checked.path, "ok": not problems, "problems": [*map(str, problems)], "warnings": warnings}
        show(found, as_json=True)
    else:
        for line in (*map(str, problems), *(f"warning: {warning}" for warning in warnings)):
            say(line)
        if not problems:
            say(f"{checked.path}: {'in order' if checked.path.exists() else 'not there; the defaults count'}")
    if problems:
        raise typer.Exit(1)


def value(loaded: Loaded, key: Key) -> Any:
    """The effective value as it may be shown."""
    if key.secret:
        given = key.name in loaded.stored or loaded.value(key.name).get_secret_value()
        return "set" if given else "not set"
    found = loaded.value(key.name)
    if key.kind == "upstreams":
        return [
            item.model_dump(exclude={"api_key"}) | {"api_key": "set" if item.api_key.get_secret_value() else "not set"}
            for item in found
        ]
    return _without_credentials(found)


def _without_credentials(found: Any) -> Any:
    """A URL may carry a password."""
    if not isinstance(found, str) or "://" not in found:
        return found
    from metaclaw.logs import redact

    return redact(found)


def _text(found: Any) -> str:
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, list) and all(isinstance(item, str) for item in found):
        return ", ".join(found)
    if isinstance(found, list):
        import json

        return json.dumps(found, ensure_ascii=False)
    return "" if found is None else str(found)


def _origin(loaded: Loaded, key: Key) -> dict[str, str]:
    variable = loaded.variables.get(key.name)
    return {"origin": loaded.origins[key.name], **({"variable": variable} if variable else {})}


def _from(loaded: Loaded, key: Key) -> str:
    variable = loaded.variables.get(key.name)
    return f"{loaded.origins[key.name]}{f' ({variable})' if variable else ''}"
