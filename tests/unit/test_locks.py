"""The lock files hold what the project asks for, pinned by hash, and nothing of one machine."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = ("requirements.lock", "requirements-dev.lock", "tests/tools.lock")


def named(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def locked(name: str) -> dict[str, str]:
    """Name and version of each package in a lock file."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {found[1]: found[2] for line in lines if (found := re.match(r"([\w.-]+)==([^\s;\\]+)", line))}


def test_every_dependency_is_locked() -> None:
    base, dev = locked("requirements.lock"), locked("requirements-dev.lock")
    assert {named(one) for one in PROJECT["dependencies"]} <= base.keys(), "run `make lock`"
    assert {named(one) for one in PROJECT["optional-dependencies"]["dev"]} <= dev.keys(), "run `make lock`"
    assert base.items() <= dev.items()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_index_no_machine_and_no_package_without_hash(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"https?:|file:|--index|--find-links|(^|\s)/", text)
    assert "torch==" not in text
    entries = re.split(r"\n(?=\S)", text.strip())
    assert all("--hash=sha256:" in entry for entry in entries)
