"""The root of the command line: finds the command, runs it, and turns every fault into one line."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command, get_group

from metaclaw import __version__
from metaclaw.cli.commands import COMMANDS, Command
from metaclaw.cli.output import CliError

PROGRAM = "metaclaw"


class _Root(TyperGroup):
    """The group of all commands, read from the table; a command's module is imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = load_command(COMMANDS[cmd_name])
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for panel in dict.fromkeys(command.panel for command in COMMANDS.values()):
            rows = [(command.name, command.help) for command in COMMANDS.values() if command.panel == panel]
            with formatter.section(panel):
                formatter.write_dl(rows, col_max=12)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        from typer._click.shell_completion import CompletionItem

        found = [c for c in COMMANDS.values() if c.name.startswith(incomplete) and not incomplete.startswith("-")]
        items = [CompletionItem(command.name, help=command.help) for command in found]
        return items or list(super().shell_complete(ctx, incomplete))


def load_command(command: Command) -> Any:
    """Import a command's module and make the command, with plain help like the root's."""
    module, _, name = command.target.partition(":")
    target = getattr(importlib.import_module(module), name)
    if isinstance(target, typer.Typer):
        target.rich_markup_mode = None
        target.info.help = target.info.help if isinstance(target.info.help, str) else command.help
        built: Any = get_group(target)
    else:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name=command.name)(target)
        built = get_command(app)
    built.name = command.name
    return built


app = typer.Typer(
    cls=_Root,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="MetaClaw stands between your agent and its model: it recalls skills and memories, and learns from use.",
    epilog="State lives in ~/.metaclaw; METACLAW_HOME moves it. `metaclaw COMMAND --help` says more.",
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Options of the program itself."""


def run(arguments: Sequence[str]) -> int:
    """Run the command line; the exit code. Faults become one line on stderr."""
    try:
        result = get_command(app).main(list(arguments), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) and not isinstance(result, bool) else 0
    except CliError as error:
        return _tell(str(error), error.code)
    except TyperException as error:
        return _usage(error)
    except typer.Abort:
        return _tell("stopped; nothing more was done", 1)
    except KeyboardInterrupt:
        return _tell("stopped", 130)
    except BrokenPipeError:
        # The reader has gone, as in `| head`: nothing to tell, and nothing to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # the last boundary: a user sees a line, never a traceback
        return _fault(error)


def _usage(error: TyperException) -> int:
    message = error.format_message().rstrip(".").replace("\n", " ")
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
        typer.echo(context.get_help())
        return 2
    path = context.command_path if context is not None else PROGRAM
    return _tell(f"{message}; see `{path} --help`", error.exit_code)


def _fault(error: Exception) -> int:
    if os.environ.get("METACLAW_DEBUG"):
        traceback.print_exception(error)
    if type(error).__module__.partition(".")[0].startswith("metaclaw"):
        return _tell(str(error), 1)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return _tell(f"{place}{error.strerror or error}{_advice(error)}", 1)
    first = str(error).partition("\n")[0][:200]
    return _tell(f"internal error, {type(error).__name__}: {first} (METACLAW_DEBUG=1 shows more)", 1)


def _advice(error: OSError) -> str:
    """Where a fault of the state folder is explained."""
    from metaclaw.config import home

    if error.errno == errno.ENOSPC:
        return ": make room; `metaclaw doctor` shows the disk of the state folder"
    ours = isinstance(error.filename, str) and Path(error.filename).is_relative_to(home())
    return "; `metaclaw doctor` says what to do" if ours else ""


def _tell(message: str, code: int) -> int:
    typer.echo(f"{PROGRAM}: {message}", err=True)
    return code
