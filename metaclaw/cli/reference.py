"""Writes `docs/config.md` and `docs/commands.md` from the code: `python -m metaclaw.cli.reference [FOLDER]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

from metaclaw.cli.commands import COMMANDS
from metaclaw.cli.entry import PROGRAM, app
from metaclaw.config.models import Fallback
from metaclaw.config.schema import OLD_NAMES, RETIRED, Key, keys, sections

_WIDTH = 100
_MADE = "<!-- Made by `python -m metaclaw.cli.reference`; edit the code instead. -->\n"

_CONFIG_HEAD = """# Configuration

`~/.metaclaw/config.yaml`, in YAML 1.2. Every key is optional. `metaclaw config KEY VALUE` sets one and leaves the rest
of the file as it is, `metaclaw config show` prints what counts and where it came from, `metaclaw config validate`
checks the file. `METACLAW_HOME` moves the whole state folder; `~/.metaclaw` in a path means that folder.

Any key can be set by a variable: `METACLAW_` and the key in capitals with `_` for `.`, so `METACLAW_PROXY_PORT` for
`proxy.port`. A list is written with commas. An empty variable counts as unset.

What counts, first to last: the `METACLAW_` variable; the file; a stored secret; for `llm.api_key` the provider's own
variable (such as `OPENAI_API_KEY`) and for `rl.api_key` and `rl.base_url` those of the training service
(`TINKER_API_KEY`, `TINKER_BASE_URL`, also `MINT_` and `WEAVER_`); the default. When nothing at all is said about the
upstream, the first provider whose variable is set answers.

Secrets are best stored with `metaclaw config llm.api_key -` or `metaclaw auth`: they go to the system's keyring where
one works, else to `secrets.json`, which only you can read. `PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring` keeps
them out of the keyring. A key written in `config.yaml` works too. Text is text: `api_key: 0012345` keeps its zeros,
`sleep_start: 23:00` needs no quotes.
"""
_COMMANDS_HEAD = """# Commands

Exit codes: 0 done, 1 failed, 2 wrong usage (130 after Ctrl-C). Results go to stdout, notes and errors to stderr, each
error in one line. `--json` on every command that shows data. `NO_COLOR` turns colour off; a pipe gets none. `metaclaw
--install-completion` completes commands and keys in your shell. `METACLAW_DEBUG=1` adds the traceback to an error.
"""


def config_page() -> str:
    """The reference of every key."""
    return "\n".join([_MADE, _CONFIG_HEAD, *_key_tables(), *_old_keys()])


def _key_tables() -> Iterator[str]:
    yield "## Top level\n"
    yield from _table([key for key in keys().values() if "." not in key.name])
    for section, about in sections().items():
        inside = [key for key in keys().values() if key.name.rpartition(".")[0] == section]
        yield f"## {section}\n\n{about}\n"
        yield from _table(inside)


def _table(rows: list[Key]) -> Iterator[str]:
    yield "| key | type | default | meaning |\n|---|---|---|---|"
    for key in rows:
        yield f"| `{key.name}` | {_type(key)} | {_default(key)} | {key.description.replace('|', '/')} |"
    yield ""


def _type(key: Key) -> str:
    names = {
        "int": "whole number",
        "float": "number",
        "bool": "true or false",
        "list": "list of text",
        "upstreams": "list of " + ", ".join(f"`{name}`" for name in Fallback.model_fields),
    }
    if key.kind == "choice":
        return ", ".join(f"`{choice}`" for choice in key.choices)
    return names.get(key.kind, key.kind)


def _default(key: Key) -> str:
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    return f"`{key.default}`" if key.default not in ("", []) else ""


def _old_keys() -> Iterator[str]:
    yield "## Names of earlier versions\n"
    yield "Still read: " + ", ".join(f"`{old}` for `{new}`" for old, new in OLD_NAMES.items()) + "; mode `madmax` for"
    yield "`auto`. Without effect: " + ", ".join(f"`{name}`" for name in RETIRED) + ".\n"


def commands_page() -> str:
    """The reference of every command, as its `--help` prints it."""
    root = get_command(app)
    parts = [_MADE, _COMMANDS_HEAD]
    with root.make_context(PROGRAM, [], resilient_parsing=True, terminal_width=_WIDTH) as context:
        for name in COMMANDS:
            parts += _command(root.get_command(context, name), name, context, 2)  # type: ignore[attr-defined]
    return "\n".join(parts)


def _command(command: Any, name: str, parent: Any, depth: int) -> Iterator[str]:
    with command.make_context(name, [], parent=parent, resilient_parsing=True, terminal_width=_WIDTH) as context:
        path = f"{parent.command_path} {name}"
        yield f"{'#' * depth} {path}\n\n```\n{context.get_help().rstrip()}\n```\n"
        if isinstance(command, TyperGroup):
            for inner in command.list_commands(context):
                yield from _command(command.get_command(context, inner), inner, context, depth + 1)


def main(folder: Path) -> None:
    """Write both pages."""
    folder.mkdir(exist_ok=True)
    (folder / "config.md").write_text(config_page(), encoding="utf-8", newline="\n")
    (folder / "commands.md").write_text(commands_page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs"))
