"""Measures policies on a copy of a store, in a process of its own: `python -m metaclaw_sidecar.tuning.child`."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..retrieval import Retriever
from ..retrieval.settings import RetrievalSettings
from ..store import Corpus, Database
from ..store.corpus import scopes
from .policy import Policy
from .replay import measure

_NICENESS = 15
_EMBEDDER = 60.0  # seconds the embedding model may take to open
_PATIENT = 30.0  # seconds a search may take here: nobody waits for it


def main() -> None:
    """Read `{source, folder, policies, budget, retrieval}` from standard input, write both halves' worths."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    asked = json.loads(sys.stdin.buffer.read())
    answer_to, sys.stdout = sys.stdout, sys.stderr
    copy = Path(asked["folder"]) / "copy.sqlite3"
    _copy(Path(asked["source"]), copy)
    json.dump(_measure(copy, asked), answer_to)


def _copy(source: Path, copy: Path) -> None:
    """A consistent copy; the store itself is only read."""
    os.close(os.open(copy, os.O_CREAT | os.O_WRONLY, 0o600))
    with (
        contextlib.closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as live,
        contextlib.closing(sqlite3.connect(copy)) as mine,
    ):
        live.backup(mine)


def _measure(copy: Path, asked: dict[str, Any]) -> dict[str, Any]:
    settings = replace(RetrievalSettings(**asked["retrieval"]), deadline=_PATIENT)
    policies = [policy for value in asked["policies"] if (policy := Policy.read(value)) is not None]
    database = Database(copy)
    retriever = Retriever(Corpus(database), settings)
    try:
        dense = settings.embedder != "none" and _opened(retriever, database)
        kept = [number for number, policy in enumerate(policies) if number == 0 or dense or policy.mode == "keyword"]
        measured = measure(database, retriever, [policies[number] for number in kept], int(asked["budget"]))
    finally:
        retriever.close()
        database.close()
    return {
        "dense": dense,
        "tuned_on": {kept[number]: worths for number, worths in measured.tuned_on.items()},
        "held_out": {kept[number]: worths for number, worths in measured.held_out.items()},
    }


def _opened(retriever: Retriever, database: Database) -> bool:
    """Whether there are vectors to search by, once the model had time to open and what it lacks is embedded."""
    with database.reading() as db:
        for scope_id in scopes(db):
            retriever.warm(scope_id)
    until = time.monotonic() + _EMBEDDER
    while time.monotonic() < until and not retriever.status()["problem"]:
        status = retriever.status()
        if status["dense"] and not status["loading"] and not status["embedding"]:
            return True
        time.sleep(0.1)
    return bool(retriever.status()["dense"])


if __name__ == "__main__":
    main()
