"""A person's OpenClaw on disk, with or without its program, and a state folder of ours."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from metaclaw_adapters import Endpoint, Wiring
from metaclaw_adapters.openclaw import OpenClaw

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "claws"
ENDPOINT = Endpoint("http://127.0.0.1:30000", context_window=200_000, max_tokens=8192)

# Stands for OpenClaw's program where a test needs one that fails, dawdles or dies; the real one has tests of its own.
PROGRAM = """\
#!{python}
import json, os, sys, time
from pathlib import Path

sys.path[:0] = {path!r}
from metaclaw_adapters.json5_text import read

config = Path(os.environ["HOME"], ".openclaw", "openclaw.json")
with Path(os.environ["HOME"], "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")


def merge(old, new):
    merged = dict(old) if isinstance(old, dict) else {{}}
    for key, value in new.items():
        merged[key] = merge(merged.get(key), value) if isinstance(value, dict) else value
    return merged


what = " ".join(sys.argv[1:3])
if what == "--version":
    print("OpenClaw 2026.9.6 (abcdef0)")
elif what == "config validate":
    print(json.dumps({{"valid": True, "path": str(config)}}))
elif what == "config get":
    value = read(config.read_bytes())
    for key in sys.argv[3].split("."):
        value = value[key]
    print(json.dumps(value))
elif what == "config patch":
    {behaviour}
    made = merge(read(config.read_bytes()) if config.exists() else {{}}, json.loads(sys.stdin.read()))
    made["meta"] = {{"lastTouchedVersion": "2026.9.6"}}
    config.write_text(json.dumps(made, indent=2))
    config.chmod(0o600)
"""


@dataclass
class Person:
    """Someone's home folder with OpenClaw in it."""

    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environ |= {"HOME": str(self.home), "PATH": str(self.home / "bin")}
        self.config.parent.mkdir(parents=True)

    @property
    def config(self) -> Path:
        return self.home / ".openclaw" / "openclaw.json"

    @property
    def adapter(self) -> OpenClaw:
        return OpenClaw(self.environ)

    @property
    def wiring(self) -> Wiring:
        return Wiring(self.home / "metaclaw", self.environ)

    @property
    def record(self) -> Path:
        return self.home / "metaclaw" / "claws" / "openclaw" / "manifest.json"

    def has(self, data: bytes | str, mode: int = 0o644) -> bytes:
        """Put a configuration there."""
        self.config.write_bytes(data.encode() if isinstance(data, str) else data)
        self.config.chmod(mode)
        return self.config.read_bytes()

    def install(self, behaviour: str = "pass") -> None:
        """Put a program there that does `behaviour` before each write."""
        program = self.home / "bin" / "openclaw"
        program.parent.mkdir(exist_ok=True)
        program.write_text(PROGRAM.format(python=sys.executable, path=sys.path, behaviour=behaviour))
        program.chmod(0o755)

    def calls(self) -> list[str]:
        """What the program was called with."""
        path = self.home / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def replace(self, old: str, new: str) -> None:
        """An edit by hand."""
        text = self.config.read_text(encoding="utf-8")
        assert old in text
        self.config.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "home")


@pytest.fixture
def sample() -> bytes:
    """A configuration with comments, a provider of the user's own, an old model map."""
    return (FIXTURES / "openclaw" / ".openclaw" / "openclaw.json").read_bytes()


@pytest.fixture
def limited() -> bytes:
    """A configuration with an allow list, a fallback and an agent with a model of its own."""
    return (FIXTURES / "openclaw-allowlist" / ".openclaw" / "openclaw.json").read_bytes()


posix = pytest.mark.skipif(os.name != "posix", reason="POSIX modes, links and scripts")
