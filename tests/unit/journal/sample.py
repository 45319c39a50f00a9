"""Conversations to put into a journal."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from metaclaw.journal import Call, Injection, Message, Session, Usage

START = 1_790_000_000.0


def digest(text: str) -> bytes:
    """What a canonicaliser would make of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass
class Talk:
    """One conversation, and a clock that moves on with each call."""

    id: str = "talk"
    at: float = START
    chain: bytes = b""
    turn: int = 0
    said: list[Message] = field(default_factory=list)

    def message(self, role: str, text: str) -> Message:
        """The next message of the conversation."""
        self.chain = digest(f"{self.chain.hex()} {role} {text}")
        body = json.dumps({"role": role, "content": text}).encode()
        self.said.append(Message(role, body, text, digest(text), self.chain))
        return self.said[-1]

    def session(self, **changes: Any) -> Session:
        """The session as the gateway knows it now."""
        values: dict[str, Any] = {
            "id": self.id,
            "claw": "openclaw",
            "protocol": "chat",
            "model": "kimi-k2",
            "opening": digest("hello"),
            "head": self.chain,
            "started_at": START,
        }
        return Session(**(values | changes))

    def call(self, *texts: tuple[str, str], new_turn: bool = True, **changes: Any) -> Call:
        """A model call that adds these messages; the first user text and the last answer are the turn's."""
        self.turn += new_turn
        self.at += 10
        messages = [self.message(role, text) for role, text in texts]
        values: dict[str, Any] = {
            "session": self.session(),
            "kind": "main",
            "turn_key": digest(f"{self.id} {self.turn}"),
            "user_text": next((text for role, text in texts if role == "user"), ""),
            "answer_text": next((text for role, text in reversed(texts) if role == "assistant"), ""),
            "messages": messages,
            "upstream": "moonshot",
            "model": "kimi-k2",
            "started_at": self.at,
            "duration_ms": 1500.0,
            "http_status": 200,
            "finish_reason": "stop",
            "usage": Usage(prompt=100, cached=60, cache_write=10, completion=20),
            "request_id": f"req-{self.id}-{self.at}",
        }
        return Call(**(values | changes))

    def exchange(self, text: str = "How do I rename a branch?", **changes: Any) -> Call:
        """One whole turn: a question and its answer."""
        return self.call(("user", text), ("assistant", f"About {text}: so."), **changes)

    def failed(self, text: str, **changes: Any) -> Call:
        """A turn whose upstream answered 503."""
        values: dict[str, Any] = {"status": "error", "http_status": 503, "error": "overloaded", "usage": None}
        return self.call(("user", text), **(values | changes))


def injection(talk: Talk, block: str = "<recalled>Use git branch -m.</recalled>") -> Injection:
    """A block put into the newest message of a conversation."""
    return Injection(talk.chain, block, [{"kind": "skill", "name": "git", "version": "1", "score": 0.7, "tokens": 9}])
