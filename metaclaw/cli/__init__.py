"""The `metaclaw` command. It imports a command's module only when that command is called."""

from __future__ import annotations

import sys

from metaclaw.cli.commands import COMMANDS, Command

__all__ = ["COMMANDS", "Command", "main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0 done, 1 failed, 2 wrong usage."""
    from metaclaw.cli.entry import run

    sys.exit(run(sys.argv[1:] if arguments is None else arguments))
