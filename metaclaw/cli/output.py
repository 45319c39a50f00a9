"""How commands speak: data on stdout, notes on stderr, JSON when asked, one line when something fails."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

JsonFlag = typer.Option(False, "--json", help="Print JSON.")


class CliError(Exception):
    """A command failed; the message is one line that says what, where and what to do."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def fail(message: str, *, code: int = 1) -> NoReturn:
    """End the command with one line on stderr: code 1 for a failure, 2 for wrong usage."""
    raise CliError(message, code)


def say(text: str = "") -> None:
    """One line of result."""
    typer.echo(text)


def note(text: str) -> None:
    """One line beside the result: on stderr, so that a pipe gets the result alone."""
    typer.echo(text, err=True)


def console() -> Console:
    """The terminal as rich sees it; plain text in a pipe and with NO_COLOR."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 200
    return Console(width=width, highlight=False, soft_wrap=False)


def show(
    data: Any, *, as_json: bool, columns: Sequence[str] = (), empty: str = "Nothing yet.", one_line: bool = False
) -> None:
    """Print a list of records as a table, one record as `name: value` lines, or either as JSON.

    `one_line` cuts the last column of a table where the line ends.
    """
    if as_json:
        say(json.dumps(plain(data), indent=2, ensure_ascii=False))
        return
    value = plain(data)
    if isinstance(value, dict):
        width = max((len(name) for name in value), default=0) + 1
        for name, item in value.items():
            say(f"{name + ':':<{width}} {cell(item)}".rstrip())
    elif value:
        table(columns or list(value[0]), [[item.get(name) for name in columns or item] for item in value], one_line)
    else:
        note(empty)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], one_line: bool = False) -> None:
    """Print a table without frames; long cells fold, or with `one_line` the last one is cut."""
    from rich.table import Table
    from rich.text import Text

    view = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        cut = one_line and name == columns[-1]
        # The other columns of such a table are short, and wrapped they would be no table.
        view.add_column(name.replace("_", " "), overflow="ellipsis" if cut else "fold", no_wrap=one_line)
    for row in rows:
        view.add_row(*(Text(cell(item)) for item in row))
    screen = console()
    if screen.is_terminal:
        screen.print(view)
        return
    with screen.capture() as caught:
        screen.print(view)
    for line in caught.get().splitlines():
        say(line.rstrip())


def cell(value: Any) -> str:
    """A value as one line of text, without control characters of its own."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False) if not _flat(value) else ", ".join(str(item) for item in value)
    return "".join(char if char.isprintable() else " " for char in str(value))


def counted(number: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _flat(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str | int | float) for item in value)


def passage(text: str) -> str:
    """A text of several lines without control characters: what others wrote never steers the terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)


def plain(value: Any) -> Any:
    """A value as JSON has it: dataclasses become objects, bytes hexadecimal."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def read_secret(prompt: str) -> str:
    """A secret from stdin when it is piped, else asked for without echo. Raises CliError when there is none."""
    text = typer.prompt(prompt, hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.read()
    if not (value := str(text).strip()):
        fail("no secret given: type it at the prompt, or pipe it into stdin", code=2)
    if "\n" in value or any(ord(char) < 32 for char in value):
        fail("a key or token is one line of text", code=2)
    return value
