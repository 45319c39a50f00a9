"""Skills and folders of skills for these tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metaclaw.skills import Document, Library, Skill
from metaclaw.skills.format import write
from metaclaw.skills.lifecycle import Move, Stage

FLAKY: dict[str, Any] = {
    "name": "flaky-tests",
    "description": "Finds why tests fail now and then. Use when a pytest test is flaky or intermittent.",
    "body": "# Flaky tests\n\n1. Run the test fifty times, alone and in its suite.\n2. Look for shared state.",
    "category": "coding",
}
MINUTES: dict[str, Any] = {
    "name": "meeting-minutes",
    "description": "Turns notes of a meeting into minutes: decisions, owners, dates. Use after a meeting or a call.",
    "body": "# Minutes\n\n- Decisions first, each with the person who owns it.\n- Open questions at the end.",
    "category": "communication",
}
SQL: dict[str, Any] = {
    "name": "slow-queries",
    "description": "Speeds up a slow SQL query. Use when a database query takes long or scans whole tables.",
    "body": "# Slow queries\n\n1. Read the plan with EXPLAIN ANALYZE.\n2. Add the index the plan asks for.",
    "category": "coding",
}
BACKUP: dict[str, Any] = {
    "name": "backup-before-edit",
    "description": "Keeps a copy of every file that is about to be changed. Use before editing somebody's files.",
    "body": "# Copies\n\nCopy the file beside itself with the date in its name before changing it.",
    "category": "common_mistakes",
}
ALL = (FLAKY, MINUTES, SQL, BACKUP)


def document(base: dict[str, Any] = FLAKY, **changes: Any) -> Document:
    """One of the skills above, changed."""
    return Document(**{**base, **changes})


def put(folder: Path, doc: Document) -> Path:
    """Write a skill into a folder as a person would."""
    path = folder / doc.name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(write(doc))
    return path


def put_raw(folder: Path, name: str, data: bytes | str) -> Path:
    """Write whatever into a skill's file."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def propose(library: Library, doc: Document, message: str = "Learn", stage: Stage = "trial") -> Skill:
    """Write a skill as the evolver does."""
    return library.propose(doc, Move(1.0, doc.name, "", stage, "evolver", "the person said so"), message)
