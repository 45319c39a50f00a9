"""The stages of a learned skill, who may move it from one to the next, and the log of all moves.

proposed → trial → active → retired, and rejected; `theirs` once a person has changed or deleted it. Skills that a
person wrote, and built-in ones, have no stage: they are simply there. Every stage has a way out by command.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from metaclaw.skills.errors import Refused
from metaclaw_adapters.files import private_dir

Stage = Literal["proposed", "trial", "active", "retired", "rejected", "theirs"]
Actor = Literal["person", "evolver", "trial"]
LOG_FILE = "events.jsonl"

_PERSON: frozenset[Actor] = frozenset(("person",))
_EVOLVER: frozenset[Actor] = frozenset(("evolver",))
_VERDICT: frozenset[Actor] = frozenset(("person", "trial"))
# From a stage ("" is none: a name that is new, or was learned before there were stages) to others, and by whom.
MOVES: Mapping[str, Mapping[Stage, frozenset[Actor]]] = {
    "": {"proposed": _EVOLVER, "trial": _EVOLVER, "active": _VERDICT, "retired": _VERDICT},
    # An amendment of what is still being tried, or waits, is tried, or waits, in its place.
    "proposed": {"proposed": _EVOLVER, "trial": _PERSON, "active": _PERSON, "rejected": _PERSON, "theirs": _PERSON},
    "trial": {"trial": _EVOLVER, "proposed": _EVOLVER, "active": _VERDICT, "rejected": _VERDICT, "theirs": _PERSON},
    "active": {"retired": _VERDICT, "trial": _EVOLVER, "proposed": _EVOLVER, "theirs": _PERSON},
    "retired": {"active": _PERSON, "trial": _PERSON, "rejected": _PERSON, "theirs": _PERSON},
    # What was rejected may be proposed anew; where it was an amendment, the version before it is active again.
    "rejected": {"proposed": _EVOLVER, "trial": _EVOLVER, "active": _VERDICT, "theirs": _PERSON},
    "theirs": {"proposed": _EVOLVER, "trial": _EVOLVER},
}


@dataclass(frozen=True, slots=True)
class Move:
    """One line of the log. `version` is the SHA-256 of the SKILL.md that moved, `at` seconds since the epoch."""

    at: float
    name: str
    version: str
    stage: Stage
    by: Actor
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a skill stands now, since when and why."""

    stage: Stage
    version: str
    since: float
    by: Actor
    reason: str


def moved(standing: Standing | None, move: Move) -> Standing:
    """The standing after a move. Raises Refused for one that isn't allowed."""
    now = standing.stage if standing is not None else ""
    if move.by not in MOVES[now].get(move.stage, frozenset()):
        ways = ", ".join(stage for stage, actors in MOVES[now].items() if move.by in actors) or "nothing"
        raise Refused(f"{move.name} is {now or 'without a stage'}: it can become {ways}, not {move.stage}")
    return Standing(move.stage, move.version, move.at, move.by, move.reason)


def replay(moves: Iterable[Move]) -> dict[str, Standing]:
    """The standings that a log leads to, by name."""
    standings: dict[str, Standing] = {}
    for move in moves:
        standings[move.name] = moved(standings.get(move.name), move)
    return standings


class MoveLog:
    """The log on disk, one JSON object a line; lines are only ever added."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_FILE

    def append(self, moves: Iterable[Move]) -> None:
        """Add moves; on disk when this returns. A line that was cut off by a crash is ended first."""
        data = b"".join(
            json.dumps(asdict(move), ensure_ascii=False).encode("utf-8", "replace") + b"\n" for move in moves
        )
        private_dir(self.path.parent)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(handle, "r+b", closefd=True) as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":
                    data = b"\n" + data
            file.seek(0, os.SEEK_END)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> list[Move]:
        """All moves, oldest first; a line that can't be read is left out."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        except FileNotFoundError:
            return []
        return [move for line in lines if line and (move := _move(line)) is not None]


def _move(line: str) -> Move | None:
    try:
        value = json.loads(line)
        move = Move(**value)
    except (ValueError, TypeError):
        return None
    return move if move.stage in get_args(Stage) and move.by in get_args(Actor) else None
