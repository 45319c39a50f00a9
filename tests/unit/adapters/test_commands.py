"""A claw's program is run with a limit, and leaves nothing behind when it is stopped."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from metaclaw_adapters import Command, CommandFailed, run
from tests.unit.adapters.conftest import posix


def python(text: str, **options: object) -> Command:
    return Command((sys.executable, "-c", text), **options)  # type: ignore[arg-type]


def test_it_is_given_its_input_and_its_environment_and_answers() -> None:
    text = "import os, sys; print(sys.stdin.read(), os.environ['MARK']); print('no', file=sys.stderr); sys.exit(3)"
    answer = run(python(text, stdin="päth", env={"MARK": "x", "PYTHONUTF8": "1"}))
    assert (answer.code, answer.out.strip(), answer.said()) == (3, "päth x", "no")


def test_its_last_words_are_from_standard_output_when_there_are_no_others() -> None:
    assert run(python("print('one'); print('two')")).said() == "one two"
    assert run(python("pass")).said() == "it said nothing"


def test_a_program_that_is_not_there_is_one_clear_line() -> None:
    with pytest.raises(CommandFailed, match="can't be started"):
        run(Command(("/nowhere/openclaw", "--version")))


def test_its_input_is_not_shown() -> None:
    assert "sk-secret" not in repr(python("pass", stdin="sk-secret"))


@posix
def test_a_program_that_takes_too_long_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    child = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    text = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with pytest.raises(CommandFailed, match="did not finish within 5 s"):
        run(python(text, timeout=5))
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while _alive(pid):
        assert time.monotonic() < deadline, "its child still runs"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").is_dir() else True
    except (ProcessLookupError, FileNotFoundError):
        return False
