"""Edit the configuration in the user's own editor, on a copy."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import typer

from metaclaw.cli.output import fail, note
from metaclaw.config import ConfigFile
from metaclaw_adapters.files import private_dir


def edit_file(file: ConfigFile) -> bool:
    """Let the user edit; whether the file changed. What is not sound is never written."""
    before = file.path.read_bytes() if file.path.exists() else b""
    folder = private_dir(file.path.parent) if not file.path.parent.exists() else file.path.parent
    handle, name = tempfile.mkstemp(prefix="config-", suffix=".yaml", dir=folder)
    copy = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(before)
        while True:
            open_editor(copy)
            text = _text(copy)
            if text.encode() == before:
                return False
            problems = file.problems(text)
            if not problems:
                return file.replace(text)
            for problem in problems:
                note(str(problem))
            if not (sys.stdin.isatty() and typer.confirm("Edit again?", default=True, err=True)):
                fail(f"not saved: {file.path} is as it was")
    finally:
        copy.unlink(missing_ok=True)


def _text(copy: Path) -> str:
    try:
        return copy.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        fail("not saved: the edited text is not UTF-8")


def open_editor(path: Path) -> None:
    """Let the user edit a file. Ends the command when the editor fails."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _default_editor()
    words = shlex.split(command, posix=os.name != "nt")
    try:
        code = subprocess.run([*words, str(path)], check=False).returncode
    except OSError as error:
        fail(f"the editor {words[0]} can't be started ({error.strerror}); set EDITOR")
    if code:
        fail(f"not saved: the editor {words[0]} ended with code {code}")


def _default_editor() -> str:
    if not sys.stdin.isatty():  # these need a terminal, and without one they wait for ever
        fail("there is no terminal for an editor: set EDITOR, or give the text on the command line (--help)", code=2)
    found = next((name for name in ("nano", "vi", "notepad") if shutil.which(name)), "")
    return found or fail("no editor found; set EDITOR")
