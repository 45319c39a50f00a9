"""The command line, run in this process with a state folder of its own."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import keyring
import pytest
from keyring.backends.null import Keyring as NoKeyring

from metaclaw.cli.entry import run
from metaclaw.config import vault


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Metaclaw = Callable[..., Ran]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty state folder, no keyring, and none of the developer's own keys."""
    for name in [*os.environ]:
        if name.startswith("METACLAW_") or name.endswith(("_API_KEY", "_API_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("METACLAW_HOME", str(tmp_path / "home"))
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    vault._works.cache_clear()
    yield tmp_path / "home"
    keyring.set_keyring(before)


@pytest.fixture
def metaclaw(state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Metaclaw:
    """Run a command: `metaclaw("config", "show")`."""

    def call(*arguments: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = run(arguments)
        seen = capsys.readouterr()
        return Ran(code, seen.out, seen.err)

    return call
