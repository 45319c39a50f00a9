"""Programs of a claw: run one, with a time limit that ends it and everything it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field

from .errors import CommandFailed

_LAST_LINES = 4


@dataclass(frozen=True)
class Command:
    """A program to run. Secrets travel in `stdin`, never in `argv`."""

    argv: tuple[str, ...]
    stdin: str | None = field(default=None, repr=False)
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 120.0  # seconds


@dataclass(frozen=True)
class Completed:
    """What a program answered."""

    code: int
    out: str
    err: str

    def said(self) -> str:
        """Its last words: the end of standard error, else of standard output."""
        lines = [line.strip() for line in (self.err.strip() or self.out.strip()).splitlines() if line.strip()]
        return " ".join(lines[-_LAST_LINES:]) or "it said nothing"


def run(command: Command, environ: Mapping[str, str] | None = None) -> Completed:
    """Run the command to its end and return what it said; raise `CommandFailed` if it can't start or end in time."""
    env = {**(os.environ if environ is None else environ), **command.env}
    try:
        process = subprocess.Popen(
            command.argv,
            stdin=subprocess.PIPE if command.stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise CommandFailed(f"{command.argv[0]} can't be started: {error.strerror or error}") from error
    try:
        out, err = process.communicate(command.stdin, timeout=command.timeout)
    except BaseException as error:
        _end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            shown = " ".join(command.argv[:3])
            raise CommandFailed(f"`{shown}` did not finish within {command.timeout:.0f} s and was stopped") from error
        raise
    return Completed(process.returncode, out, err)


def _end(process: subprocess.Popen[str]) -> None:
    """Stop the program with all that it started; a launcher's child would live on otherwise."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
    process.communicate()
