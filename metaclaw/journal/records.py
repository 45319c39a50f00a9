"""The values that go into the journal and come out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["main", "side"]
Status = Literal["ok", "error", "aborted"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, as the client sent it or as the upstream answered it.

    `body` is the message's own JSON, in the client's protocol, without anything MetaClaw put in.
    `digest` identifies its content whatever its rendering; `chain` identifies it with all that came before.
    """

    role: str
    body: bytes
    text: str
    digest: bytes
    chain: bytes


@dataclass(frozen=True, slots=True)
class Injection:
    """A block put into a message: `anchor` finds the message again on later requests of the session."""

    anchor: bytes
    block: str
    items: list[dict[str, Any]]  # one per recalled item: {"kind": "skill", "name", "version", "score", "tokens"}


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation: who, where, when, and `head`, the chain of all that is known of it."""

    id: str
    client_id: str = ""  # the id as the client sent it; empty when found by lineage
    claw: str = ""
    user_id: str = ""
    workspace_id: str = ""
    scope: str = ""
    protocol: str = ""
    model: str = ""
    opening: bytes = b""  # digest of the first thing the person said
    head: bytes = b""
    started_at: float = 0.0  # seconds since the epoch, as all times here
    last_at: float = 0.0
    ended_at: float | None = None
    end_reason: str = ""
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counts them; `cached` and `cache_write` are part of `prompt`."""

    prompt: int = 0
    cached: int = 0
    cache_write: int = 0
    completion: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One model call, ready to be written. Calls with one `turn_key` in one session make one turn.

    `messages` holds only what the session's journal doesn't have yet, the answer included, in order.
    A side call has no messages and no turn.
    """

    session: Session
    kind: Kind
    turn_key: bytes = b""
    side_reason: str = ""
    user_text: str = ""
    answer_text: str = ""
    messages: list[Message] = field(default_factory=list)
    injection: Injection | None = None
    recalled: list[dict[str, Any]] = field(default_factory=list)
    upstream: str = ""
    model: str = ""
    started_at: float = 0.0
    first_byte_ms: float | None = None
    duration_ms: float = 0.0
    added_ms: float = 0.0
    http_status: int = 0
    status: Status = "ok"
    final: bool = True  # False while tool calls are pending: the turn goes on
    finish_reason: str = ""
    error: str = ""
    usage: Usage | None = None
    injected_tokens: int = 0
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a person asked and what came of it, however many model calls that took."""

    id: int
    session_id: str
    number: int  # 1, 2, … within the session
    status: Literal["open", "ok", "error", "aborted"]
    user_text: str
    answer_text: str
    model: str
    started_at: float
    finished_at: float | None
    calls: int
    recalled: list[dict[str, Any]]
    usage: Usage
    error: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """Something readers wait for: `turn` (finished), `session_started`, `session_ended`, `feedback`."""

    id: int
    kind: str
    session_id: str
    turn_id: int | None
    payload: dict[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The end of a conversation: said by the client, by a hook, or found by idle time."""

    session_id: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a person said of an answer, from -1 (wrong) to 1 (right); without `turn_id` it is the newest turn's."""

    session_id: str
    score: float
    at: float
    turn_id: int | None = None
    text: str = ""
    source: str = "user"


Item = Call | SessionEnd | Feedback
