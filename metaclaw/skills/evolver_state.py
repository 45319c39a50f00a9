"""What the evolver must not forget when it is killed: what is decided but not written, what waits, what is done.

One file, replaced as a whole: `.metaclaw/evolver.json` in the skill folder. A decision is stored before the first
skill of it is written, so that it is carried out once, whenever the process dies.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from metaclaw.skills.lifecycle import Stage
from metaclaw.skills.state import STATE_FOLDER
from metaclaw_adapters.files import private_dir, write_atomic

_log = logging.getLogger(__name__)
_SESSIONS = 2000
_LOG_LINES = 2000


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the evolver's log."""

    key: str  # the decision it belongs to
    at: float
    session_id: str
    turns: tuple[int, ...]
    outcome: str  # added | amended | declined | nothing | skipped | waiting
    skill: str = ""
    reason: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A skill file to be written: its bytes as text, and the digest of what it may take the place of."""

    name: str
    text: str
    base: str
    message: str
    entry: Entry
    stage: Stage = "trial"  # `proposed` where a person has to say yes first


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a stretch of a session, before any of it is done."""

    key: str
    session_id: str
    through: int
    changes: tuple[Change, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A stretch of a session whose model call failed."""

    through: int
    attempts: int
    not_before: float
    reason: str


@dataclass(slots=True)
class Progress:
    """All of it. `learned` maps a session to the number of its last turn that was dealt with."""

    learned: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, Waiting] = field(default_factory=dict)
    decision: Decision | None = None
    spent: dict[str, int] = field(default_factory=dict)  # tokens, by day (UTC); only the newest day is kept


class EvolverState:
    """Reads and writes the evolver's progress and its log."""

    def __init__(self, user_dir: Path) -> None:
        self._folder = user_dir / STATE_FOLDER
        self._path = self._folder / "evolver.json"
        self._log_path = self._folder / "evolver.log.jsonl"

    def load(self) -> Progress:
        """The stored progress; a new one when there is none or it can't be read."""
        try:
            value: Any = json.loads(self._path.read_bytes())
            return Progress(
                learned={str(key): int(number) for key, number in value["learned"].items()},
                waiting={str(key): Waiting(**item) for key, item in value["waiting"].items()},
                decision=_decision(value["decision"]) if value["decision"] else None,
                spent={str(day): int(tokens) for day, tokens in value.get("spent", {}).items()},
            )
        except FileNotFoundError:
            return Progress()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning("%s can't be read and is begun anew: %s", self._path, error)
            return Progress()

    def save(self, progress: Progress) -> None:
        """Store the progress; on disk when this returns."""
        while len(progress.learned) > _SESSIONS:
            del progress.learned[next(iter(progress.learned))]
        value = {
            "learned": progress.learned,
            "waiting": {key: asdict(item) for key, item in progress.waiting.items()},
            "decision": asdict(progress.decision) if progress.decision else None,
            "spent": progress.spent,
        }
        private_dir(self._folder)
        write_atomic(self._path, json.dumps(value).encode())

    def log(self, entries: tuple[Entry, ...]) -> None:
        """Append to the log; entries of a decision that is in it already are left out."""
        present = {(entry.key, entry.skill, entry.outcome, entry.reason) for entry in self.entries(_LOG_LINES)}
        new = [e for e in entries if (e.key, e.skill, e.outcome, e.reason) not in present]
        if not new:
            return
        lines = self._lines() + [json.dumps(asdict(entry), ensure_ascii=False) for entry in new]
        private_dir(self._folder)
        write_atomic(self._log_path, ("\n".join(lines[-_LOG_LINES:]) + "\n").encode("utf-8", "replace"))

    def entries(self, limit: int = 50) -> list[Entry]:
        """The newest entries of the log, newest first."""
        found: list[Entry] = []
        for line in reversed(self._lines()):
            try:
                found.append(_entry(json.loads(line)))
            except (ValueError, TypeError, KeyError):
                continue
            if len(found) >= limit:
                break
        return found

    def _lines(self) -> list[str]:
        try:
            return [line for line in self._log_path.read_text(encoding="utf-8").split("\n") if line]
        except (FileNotFoundError, UnicodeDecodeError):
            return []


def _entry(value: dict[str, Any]) -> Entry:
    return Entry(**{**value, "turns": tuple(value["turns"])})


def _decision(value: dict[str, Any]) -> Decision:
    return Decision(
        key=value["key"],
        session_id=value["session_id"],
        through=int(value["through"]),
        changes=tuple(Change(**{**change, "entry": _entry(change["entry"])}) for change in value["changes"]),
        entries=tuple(_entry(entry) for entry in value["entries"]),
    )
