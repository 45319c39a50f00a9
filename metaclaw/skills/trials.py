"""Whether learned skills earn their place: outcomes with and without them, read from the journal, and what follows."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaclaw.skills.errors import SkillError
from metaclaw.skills.lifecycle import Move, Stage
from metaclaw.skills.outcomes import outcome
from metaclaw.skills.sequential import Arm, Evidence
from metaclaw.skills.state import STATE_FOLDER
from metaclaw_adapters.files import private_dir, write_atomic

if TYPE_CHECKING:
    from metaclaw.config.models import Evolve
    from metaclaw.journal import Event, Journal, Turn
    from metaclaw.skills.library import Library
    from metaclaw.skills.skill import Skill

READER = "skills.trials"
_BATCH = 100
_MOST_TURNS = 500
_SHORT = 12  # characters of a digest in the journal
_log = logging.getLogger(__name__)


def assigned(session_id: str, name: str, version: str, share: float) -> bool:
    """Whether this session gets the skill: the same answer for the whole session, and again after a restart."""
    mark = hashlib.blake2b(f"{session_id}\0{name}\0{version[:_SHORT]}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(mark.digest(), "big") < share * 2**64


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one version of a skill. `recalled` counts turns, `tokens` what they cost in all."""

    evidence: Evidence = field(default_factory=Evidence)
    recalled: int = 0
    tokens: int = 0
    last_used: float = 0.0
    sessions: int = 0


@dataclass(slots=True)
class Records:
    """All of it, by `name@version`, and how far the journal was read."""

    through: int = 0
    by_version: dict[str, Record] = field(default_factory=dict)

    def of(self, skill: Skill) -> Record:
        """The record of a skill as it is now."""
        return self.by_version.get(_key(skill.name, skill.digest), Record())


class RecordStore:
    """`.metaclaw/trials.json` in the skill folder, replaced as a whole."""

    def __init__(self, user_dir: Path) -> None:
        self._path = user_dir / STATE_FOLDER / "trials.json"

    def load(self) -> Records:
        """What is stored; nothing when there is nothing, or it can't be read."""
        try:
            value: Any = json.loads(self._path.read_bytes())
            found = {str(key): _record(item) for key, item in value["records"].items()}
            return Records(int(value["through"]), found)
        except FileNotFoundError:
            return Records()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning("%s can't be read and is begun anew: %s", self._path, error)
            return Records()

    def save(self, records: Records) -> None:
        """Store it; on disk when this returns."""
        private_dir(self._path.parent)
        value = {"through": records.through, "records": {k: asdict(v) for k, v in records.by_version.items()}}
        write_atomic(self._path, json.dumps(value).encode())


class Trials:
    """Reads ended sessions, adds their outcomes, and moves skills on: promoted, turned down, retired, or left open."""

    def __init__(
        self, library: Library, journal: Journal, settings: Evolve, now: Callable[[], float] = time.time
    ) -> None:
        self.library = library
        self._journal = journal
        self._settings = settings
        self._now = now
        self._store = RecordStore(library.user_dir)

    async def run_once(self) -> list[Move]:
        """Deal with what ended since the last time; what came of it."""
        records = await asyncio.to_thread(self._store.load)
        with ExitStack() as stack:
            reading = await asyncio.to_thread(
                stack.enter_context, self._journal.reading(READER, kinds=("session_ended",), limit=_BATCH)
            )
            for event in reading:
                if event.id > records.through:  # else it was counted by a process that died before it could say so
                    await asyncio.to_thread(self._count, records, event)
                await asyncio.to_thread(reading.done, event)
        return await asyncio.to_thread(self._judge, records)

    def _count(self, records: Records, event: Event) -> None:
        turns = self._journal.turns(event.session_id, limit=_MOST_TURNS)
        feedback = self._journal.feedback(event.session_id)
        seen: set[str] = set()
        for number, turn in enumerate(turns):
            following = turns[number + 1] if number + 1 < len(turns) else None
            for item in _learned_items(turn):
                key = _key(str(item["name"]), str(item["version"]))
                record = _used(records.by_version.get(key, Record()), item, turn)
                good = outcome(turn, following, feedback) if key not in seen else None
                if good is not None:  # one outcome a session: its turns are not independent of each other
                    seen.add(key)
                    grown = record.evidence.add(treated=item["arm"] == "treated", good=good)
                    record = replace(record, evidence=grown, sessions=record.sessions + 1)
                records.by_version[key] = record
        records.through = event.id
        self._store.save(records)

    def _judge(self, records: Records) -> list[Move]:
        self.library.reload()
        moves = []
        for skill in self.library.skills():
            if skill.source != "learned" or skill.stage not in ("trial", "active"):
                continue
            move = self._verdict(skill, records.of(skill).evidence)
            if move is None:
                continue
            try:
                self.library.decide(skill.name, move)
            except SkillError as error:
                _log.warning("%s stays as it is: %s", skill.name, error)
                continue
            _log.info("%s is %s: %s", skill.name, move.stage, move.reason)
            moves.append(move)
        return moves

    def _verdict(self, skill: Skill, evidence: Evidence) -> Move | None:
        limits = self._settings
        verdict = evidence.verdict(error_rate=limits.error_rate, least=limits.least_outcomes)
        told = f"good in {_told(evidence.treated)} with it, {_told(evidence.control)} without"
        enough = min(evidence.treated.total, evidence.control.total) >= limits.most_outcomes
        if skill.stage == "trial":
            if verdict == "better":
                return self._move(skill, "active", f"it helps: {told}", evidence)
            if verdict == "worse":
                return self._move(skill, "rejected", f"it hurts: {told}", evidence)
            return self._move(skill, "rejected", f"no effect was seen: {told}", evidence) if enough else None
        return self._move(skill, "retired", f"it hurts: {told}", evidence) if verdict == "worse" else None

    def _move(self, skill: Skill, stage: Stage, reason: str, evidence: Evidence) -> Move:
        return Move(self._now(), skill.name, skill.digest, stage, "trial", reason, asdict(evidence))


def _learned_items(turn: Turn) -> Iterator[dict[str, Any]]:
    """The skills of a turn that are under test, with the arm the session was in."""
    return (item for item in turn.recalled if item.get("kind") == "skill" and item.get("arm") in ("treated", "control"))


def _used(record: Record, item: dict[str, Any], turn: Turn) -> Record:
    if item["arm"] != "treated":
        return record
    tokens = record.tokens + int(item.get("tokens", 0))
    return replace(
        record, recalled=record.recalled + 1, tokens=tokens, last_used=max(record.last_used, turn.started_at)
    )


def _key(name: str, version: str) -> str:
    return f"{name}@{version[:_SHORT]}"


def _told(arm: Arm) -> str:
    return f"{arm.good} of {arm.total}"


def _record(value: dict[str, Any]) -> Record:
    evidence = dict(value["evidence"])
    for name in ("treated", "control", "waiting_treated", "waiting_control"):
        evidence[name] = Arm(**evidence[name])
    return Record(**{**value, "evidence": Evidence(**evidence)})
