"""The values of the memory service: memories, turns, jobs, receipts."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

MemoryType = Literal["episodic", "semantic", "preference", "project_state", "working_summary", "procedural_observation"]
Status = Literal["active", "superseded", "archived"]
Origin = Literal["verbatim", "extracted", "stored", "imported"]
TurnState = Literal["buffered", "claimed", "extracted", "kept", "failed", "forgotten"]
JobState = Literal["waiting", "running", "done", "failed"]
MEMORY_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as it stands; its earlier forms are versions. Times are seconds since the epoch, UTC."""

    memory_id: str
    scope_id: str
    memory_type: MemoryType
    content: str
    created_at: float
    updated_at: float
    valid_from: float
    """When the fact became true or was said."""
    summary: str = ""
    subject: str = ""
    """Who or what it is about, "user" for the person; a fact replaces only facts of the same subject."""
    source_session_id: str = ""
    source_turn_start: int | None = None
    source_turn_end: int | None = None
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.7
    access_count: int = 0
    reinforcement_score: float = 0.0
    status: Status = "active"
    superseded_by: str = ""
    superseded_at: float | None = None
    last_accessed_at: float | None = None
    expires_at: float | None = None
    pinned: bool = False
    origin: Origin = "stored"
    version: int = 1


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange as it was told to us, cleaned of what was recalled into it and of secrets."""

    turn_id: str
    scope_id: str
    session_id: str
    position: int
    prompt: str
    response: str
    at: float
    state: TurnState

    @property
    def text(self) -> str:
        """Both sides as one searchable text."""
        return "\n".join(part for part in (self.prompt, self.response) if part)


@dataclass(frozen=True, slots=True)
class Job:
    """One extraction: some turns of one session, once."""

    job_id: int
    scope_id: str
    session_id: str
    state: JobState
    attempts: int
    final: bool
    error: str
    created_at: float
    finished_at: float | None
    added: int


@dataclass(frozen=True, slots=True)
class Buffered:
    """What became of a turn that was handed in."""

    turn_id: str
    duplicate: bool
    waiting: int
    job_id: int | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of what was deleted. It holds ids and counts, no text."""

    receipt_id: str
    at: float
    scope_id: str
    memories: tuple[str, ...] = ()
    versions: int = 0
    turns: int = 0
    vectors: int = 0
    jobs: int = 0
    kept_predecessors: tuple[str, ...] = field(default=())
    """Older facts that the forgotten one had replaced; they stay in the history unless asked for too."""


def new_id(kind: Literal["mem", "turn", "rcpt", "run"]) -> str:
    """A fresh id, short enough to stand in a recalled block."""
    return f"{kind}_{secrets.token_hex(7)}"


def iso(at: float | None) -> str | None:
    """A time as the API writes it."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(value: str | float | int | None) -> float | None:
    """A time as a caller writes it: seconds, or ISO 8601 (UTC where it names no zone). Raises ValueError."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    text = value.strip()
    if not text:
        return None
    when = datetime.fromisoformat(text)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def as_json(record: Memory | Turn | Job | Receipt) -> dict[str, Any]:
    """A record as the API shows it: times in ISO 8601."""
    shown = asdict(record)
    for name, value in shown.items():
        if name in _TIMES:
            shown[name] = iso(value)
        elif isinstance(value, tuple):
            shown[name] = list(value)
    return shown


_TIMES = frozenset(
    ("at", "created_at", "updated_at", "valid_from", "superseded_at", "last_accessed_at", "expires_at", "finished_at")
)
