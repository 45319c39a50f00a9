"""Works out the rows of one transaction, from its items and from what the journal holds of them already.

Pure: it touches no database. `Known` is what it was told, `Plan` what is to be written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from .records import Call, Feedback, Item, Session, SessionEnd, Usage

Row = dict[str, Any]
_NO_USAGE = Usage()
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(slots=True)
class SessionState:
    """What matters of a session while its rows are worked out; `value` is set once a call says more of it."""

    turns: int = 0
    last_at: float = 0.0
    ended_at: float | None = None
    end_reason: str = ""
    started_at: float = 0.0  # only for a new one
    value: Session | None = None
    ended_here: bool = False


@dataclass(slots=True)
class Known:
    """What the journal held when the transaction began."""

    turn: int  # the newest ids given out
    event: int
    sessions: dict[str, SessionState] = field(default_factory=dict)
    turns: dict[tuple[str, bytes], Row] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)  # session -> id of its newest turn, where feedback needs it
    latest: dict[str, Row] = field(default_factory=dict)  # session -> its newest turn, where that may be left behind


def clean(text: str) -> str:
    """Text that every database takes: no NUL, no half of a surrogate pair."""
    if text.isascii() and "\0" not in text:
        return text
    text = text.replace("\0", _REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def encode(value: Any) -> str:
    """JSON text for a column."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean_all(value)).decode()


def _clean_all(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_clean_all(key): _clean_all(item) for key, item in value.items()}
    return [_clean_all(item) for item in value] if isinstance(value, (list, tuple)) else value


class Plan:
    """The rows of one transaction, by statement. Items are added in the order in which they came."""

    def __init__(self, known: Known) -> None:
        self.turn, self.event = known.turn, known.event
        self._known_turn = known.turn
        self._sessions = known.sessions
        self._turns = known.turns
        self._newest = known.newest
        self._latest = known.latest
        self._fresh: list[Row] = []
        self._touched: dict[int, Row] = {}
        self.messages: list[Row] = []
        self.calls: list[Row] = []
        self.injections: dict[tuple[str, bytes], Row] = {}
        self.events: list[Row] = []

    def add(self, item: Item) -> None:
        """Take one more item into the transaction."""
        if isinstance(item, Call):
            if item.kind == "main":
                self._main(item)
            else:
                known = item.session.id in self._sessions
                self.calls.append(_call_row(item, item.session.id if known else None, None))
        elif isinstance(item, SessionEnd):
            self._end(item)
        else:
            self._feedback(item)

    def session_rows(self) -> list[Row]:
        """Sessions to insert or to bring up to date."""
        rows = ((s.value, s) for s in self._sessions.values())
        return [_session_row(value, state) for value, state in rows if value is not None]

    def end_rows(self) -> list[Row]:
        """Sessions of which only the end is new."""
        return [
            {"row": id, "ended_at": s.ended_at, "end_reason": s.end_reason}
            for id, s in self._sessions.items()
            if s.ended_here and s.value is None
        ]

    def new_turns(self) -> list[Row]:
        """Turns to insert."""
        return self._fresh

    def changed_turns(self) -> list[Row]:
        """Turns to update."""
        return list(self._touched.values())

    def _main(self, call: Call) -> None:
        end = call.started_at + call.duration_ms / 1000
        session = self._session(call, end)
        turn = self._turn(call, session)
        _extend(turn, call, end)
        id, session_id = turn["id"], call.session.id
        for m in call.messages:
            self.messages.append(
                {
                    "session_id": session_id,
                    "turn_id": id,
                    "role": m.role,
                    "body": m.body,
                    "text": clean(m.text),
                    "digest": m.digest,
                    "chain": m.chain,
                }
            )
        self.calls.append(_call_row(call, session_id, id))
        if call.injection is not None:
            anchor = call.injection.anchor
            self.injections[session_id, anchor] = {
                "session_id": session_id,
                "anchor": anchor,
                "turn_id": id,
                "block": clean(call.injection.block),
                "items": encode(call.injection.items),
            }
        if _must_report(turn):
            turn["reported"] = turn["status"]
            self._event("turn", session_id, id, end, {"status": turn["status"], "number": turn["number"]})

    def _session(self, call: Call, end: float) -> SessionState:
        """The state of a call's session; a new one is announced, an ended one revived."""
        value = call.session
        state = self._sessions.get(value.id)
        if state is None:
            state = self._sessions[value.id] = SessionState(started_at=value.started_at or call.started_at)
            payload = {"claw": value.claw, "protocol": value.protocol, "model": value.model, "scope": value.scope}
            self._event("session_started", value.id, None, state.started_at, payload)
        state.value = value
        state.ended_at, state.end_reason = None, ""
        state.last_at = max(state.last_at, end)
        return state

    def _turn(self, call: Call, session: SessionState) -> Row:
        key = (call.session.id, call.turn_key)
        turn = self._turns.get(key)
        if turn is None:
            self._leave(call.session.id, call.started_at)
            self.turn += 1
            session.turns += 1
            turn = self._turns[key] = _turn_row(call, self.turn, session.turns)
            self._fresh.append(turn)
            self._newest[call.session.id] = self.turn
            self._latest[call.session.id] = turn
        elif turn["id"] <= self._known_turn:
            self._touched[turn["id"]] = turn
        return turn

    def _leave(self, session_id: str, at: float) -> None:
        """The session goes on, or ends, without an end of its newest turn: readers hear of that turn all the same."""
        turn = self._latest.get(session_id)
        if turn is None or turn["reported"] or turn["status"] not in ("open", "aborted"):
            return
        turn["status"] = turn["reported"] = "aborted"
        turn["finished_at"] = turn["finished_at"] or at
        if turn["id"] <= self._known_turn:
            self._touched[turn["id"]] = turn
        self._event("turn", session_id, turn["id"], at, {"status": "aborted", "number": turn["number"]})

    def _end(self, item: SessionEnd) -> None:
        state = self._sessions.get(item.session_id)
        if state is None or state.ended_at is not None:
            return
        self._leave(item.session_id, item.at)
        state.ended_at, state.end_reason, state.ended_here = item.at, clean(item.reason), True
        self._event("session_ended", item.session_id, None, item.at, {"reason": item.reason, "turns": state.turns})

    def _feedback(self, item: Feedback) -> None:
        turn = self._newest.get(item.session_id) if item.turn_id is None else item.turn_id
        payload = {"score": item.score, "text": item.text, "source": item.source}
        self._event("feedback", item.session_id, turn, item.at, payload)

    def _event(self, kind: str, session_id: str, turn_id: int | None, at: float, payload: Row) -> None:
        self.event += 1
        self.events.append(
            {
                "id": self.event,
                "kind": kind,
                "session_id": session_id,
                "turn_id": turn_id,
                "payload": encode(payload),
                "at": at,
            }
        )


def _must_report(turn: Row) -> bool:
    """Readers hear of a turn once when it is done, and once more if it came out well after all."""
    status, reported = turn["status"], turn["reported"]
    return status in ("ok", "error") and (not reported or (reported != "ok" and status == "ok"))


def _extend(turn: Row, call: Call, end: float) -> None:
    """Let one more model call have its effect on its turn."""
    usage = call.usage or _NO_USAGE
    done = call.final or call.status == "aborted"
    turn["status"] = call.status if done else "open"
    turn["finished_at"] = end if done else None
    turn["calls"] += 1
    turn["prompt"] += usage.prompt
    turn["cached"] += usage.cached
    turn["cache_write"] += usage.cache_write
    turn["completion"] += usage.completion
    turn["error"] = clean(call.error)
    if call.answer_text or call.status == "ok":
        turn["answer_text"] = clean(call.answer_text)
    if call.model:
        turn["model"] = call.model
    if call.user_text and not turn["user_text"]:
        turn["user_text"] = clean(call.user_text)
    if call.recalled:
        turn["recalled"] = _united(turn["recalled"], call.recalled)


def _united(known: str, more: list[dict[str, Any]]) -> str:
    """The items recalled in a turn, each once, as JSON."""
    if known == "[]":
        return encode(more)
    items: list[dict[str, Any]] = msgspec.json.decode(known)
    return encode(items + [item for item in more if item not in items])


def _session_row(value: Session, state: SessionState) -> Row:
    return {
        "id": value.id,
        "client_id": clean(value.client_id),
        "claw": value.claw,
        "user_id": clean(value.user_id),
        "workspace_id": clean(value.workspace_id),
        "scope": clean(value.scope),
        "protocol": value.protocol,
        "model": clean(value.model),
        "opening": value.opening,
        "head": value.head,
        "started_at": state.started_at,
        "last_at": state.last_at,
        "ended_at": state.ended_at,
        "end_reason": state.end_reason,
        "turns": state.turns,
    }


def _turn_row(call: Call, id: int, number: int) -> Row:
    return {
        "id": id,
        "session_id": call.session.id,
        "key": call.turn_key,
        "number": number,
        "status": "open",
        "reported": "",
        "user_text": "",
        "answer_text": "",
        "model": "",
        "started_at": call.started_at,
        "finished_at": None,
        "calls": 0,
        "recalled": "[]",
        "prompt": 0,
        "cached": 0,
        "cache_write": 0,
        "completion": 0,
        "error": "",
    }


def _call_row(call: Call, session_id: str | None, turn_id: int | None) -> Row:
    usage = call.usage or _NO_USAGE
    return {
        "session_id": session_id,
        "turn_id": turn_id,
        "kind": call.kind,
        "side_reason": clean(call.side_reason),
        "upstream": call.upstream,
        "model": clean(call.model),
        "started_at": call.started_at,
        "first_byte_ms": call.first_byte_ms,
        "duration_ms": call.duration_ms,
        "added_ms": call.added_ms,
        "http_status": call.http_status,
        "status": call.status,
        "final": call.final,
        "finish_reason": clean(call.finish_reason),
        "error": clean(call.error),
        "prompt": usage.prompt,
        "cached": usage.cached,
        "cache_write": usage.cache_write,
        "completion": usage.completion,
        "injected_tokens": call.injected_tokens,
        "request_id": clean(call.request_id),
    }
