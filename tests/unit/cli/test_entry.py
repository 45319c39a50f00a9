"""The root of the command line: fast, one line for every fault, exit codes 0, 1 and 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metaclaw import __version__
from metaclaw.cli import COMMANDS
from tests.unit.cli.conftest import Metaclaw

HEAVY = (
    "pydantic",
    "rich",
    "ruamel",
    "keyring",
    "litellm",
    "sqlalchemy",
    "aiohttp",
    "fastapi",
    "psutil",
    "questionary",
)


def process(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", **extra}
    return subprocess.run(
        [sys.executable, "-m", "metaclaw", *arguments],
        capture_output=True, text=True, encoding="utf-8", env=environ, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom metaclaw.cli.entry import run\nassert run(['--help']) == 0\n"
        f"print('loaded:', [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_help_names_every_command(metaclaw: Metaclaw) -> None:
    ran = metaclaw("--help")
    assert ran.code == 0
    for command in COMMANDS.values():
        assert f"  {command.name} " in ran.out


@pytest.mark.parametrize("name", [*COMMANDS])
def test_every_command_exists_and_explains_itself(name: str, metaclaw: Metaclaw) -> None:
    ran = metaclaw(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: metaclaw {name}")
    assert "\x1b" not in ran.out


def test_version(metaclaw: Metaclaw) -> None:
    assert metaclaw("version").out == metaclaw("--version").out == f"metaclaw {__version__}\n"
    assert f'"version": "{__version__}"' in metaclaw("version", "--json").out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["strt"], "metaclaw: No such command 'strt'"),
        (["version", "--jsn"], "metaclaw: No such option: --jsn"),
        (["config", "set", "mode"], "metaclaw: Missing argument 'VALUE'; see `metaclaw config set --help`"),
        (["auth", "paste-key"], "metaclaw: Missing option '--provider'; see `metaclaw auth paste-key --help`"),
        (["sessions", "list", "--limit", "x"], "metaclaw: Invalid value for '--limit'"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(arguments: list[str], line: str, metaclaw: Metaclaw) -> None:
    ran = metaclaw(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(line)
    assert ran.err.count("\n") == 1


def test_a_command_line_without_a_command_shows_help_and_fails(metaclaw: Metaclaw) -> None:
    ran = metaclaw()
    assert ran.code == 2
    assert ran.out.startswith("Usage: metaclaw")


def test_the_process_says_one_line_for_a_fault(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("proxy: [\n", encoding="utf-8")
    done = process("config", "get", "mode", METACLAW_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"metaclaw: {tmp_path / 'config.yaml'}:2:1: not YAML")
    assert done.stderr.count("\n") == 1


def test_a_state_folder_that_can_not_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = process("config", "mode", "rl", METACLAW_HOME=str(tmp_path / "file" / "home"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="a pipe's end is told otherwise on Windows")
def test_a_reader_that_leaves_early_causes_no_message(tmp_path: Path) -> None:
    command = f"'{sys.executable}' -m metaclaw config show --json; echo \"code $?\" >&2"
    done = subprocess.run(
        ["sh", "-c", f"{{ {command}; }} | :"], capture_output=True, text=True, timeout=60,
        env={**os.environ, "METACLAW_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.stderr in ("code 0\n", "code 1\n")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("metaclaw con", "config"), ("metaclaw config sh", "show"), ("metaclaw config get proxy.po", "proxy.port")],
)
def test_the_shell_completes_commands_and_keys(line: str, wanted: str, tmp_path: Path) -> None:
    given = {"_METACLAW_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = process(METACLAW_HOME=str(tmp_path), **given)
    assert wanted in done.stdout.split()


def test_no_color_and_pipes_get_plain_text(tmp_path: Path) -> None:
    done = process("config", "show", METACLAW_HOME=str(tmp_path), FORCE_COLOR="1", NO_COLOR="1")
    assert "\x1b[3" not in done.stdout
    done = process("config", "show", METACLAW_HOME=str(tmp_path))
    assert "\x1b" not in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
def test_a_full_disk_is_one_line_that_says_what_to_do() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "metaclaw", "skills", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "make room" in done.stderr
