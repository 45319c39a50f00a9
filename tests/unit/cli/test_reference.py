"""The reference in `docs/` is what the code says today."""

from __future__ import annotations

from pathlib import Path

from metaclaw.cli import COMMANDS
from metaclaw.cli.reference import commands_page, config_page
from metaclaw.config.schema import keys

DOCS = Path(__file__).parents[3] / "docs"
REMEDY = "out of date: run `python -m metaclaw.cli.reference`"


def test_the_page_of_keys_is_current() -> None:
    page = config_page()
    assert all(f"| `{name}` |" in page for name in keys())
    assert (DOCS / "config.md").read_text(encoding="utf-8") == page, REMEDY


def test_the_page_of_commands_is_current() -> None:
    page = commands_page()
    assert all(f"## metaclaw {name}\n" in page for name in COMMANDS)
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == page, REMEDY
