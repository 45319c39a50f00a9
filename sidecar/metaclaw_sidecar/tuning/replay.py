"""What a policy would have been worth: earlier turns told again to a copy of the store.

A turn's worth is how much of what was then answered, and was not in the question, the recalled texts would have told
beforehand (words weighted by how rare they are), less the price of their tokens. Only what was known by then counts,
and only from other sessions. Answers were given with the recall of their time, so this favours what was in force.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import token_count
from ..records import Memory, Turn
from ..rendering import line
from ..retrieval import Mode, Retriever
from ..retrieval.tokens import query_terms
from ..store import Database, corpus, memories, turns
from .policy import Policy

MOST_TURNS = 300
_DEPTH = 40
_PRICE = 0.1  # of a whole budget of tokens
_COMMON = 0.2  # share of texts beyond which a word tells nothing
_OPINION = 0.25  # what a person's word on a recalled memory weighs


@dataclass(frozen=True, slots=True)
class Piece:
    """One text that was found for a turn."""

    score: float
    words: frozenset[str]
    tokens: int
    opinion: float


@dataclass(slots=True)
class Measured:
    """Policy → its worth on each turn, in two halves of sessions."""

    tuned_on: dict[int, list[float]] = field(default_factory=dict)
    held_out: dict[int, list[float]] = field(default_factory=dict)


def measure(
    database: Database, retriever: Retriever, policies: Sequence[Policy], budget: int, most: int = MOST_TURNS
) -> Measured:
    """The worth of each policy on the newest turns."""
    measured = Measured(
        {number: [] for number in range(len(policies))}, {number: [] for number in range(len(policies))}
    )
    with database.reading() as db:
        scope_ids = corpus.scopes(db)
        told = [turn for scope_id in scope_ids for turn in turns.every(db, scope_id) if turn.prompt and turn.response]
    rare = _rarities(told)
    for turn in sorted(told, key=lambda one: one.at)[-most:]:
        wanted = {
            word: weight
            for word in set(query_terms(turn.response)) - set(query_terms(turn.prompt))
            if (weight := rare.get(word, 0.0)) > 0
        }
        found = {mode: _pieces(database, retriever, turn, mode) for mode in {policy.mode for policy in policies}}
        half = measured.held_out if is_held_out(turn) else measured.tuned_on
        for number, policy in enumerate(policies):
            half[number].append(worth(found[policy.mode], wanted, policy, budget))
    return measured


def worth(found: Sequence[Piece], wanted: dict[str, float], policy: Policy, budget: int) -> float:
    """Of what a policy would have said unasked."""
    said: list[Piece] = []
    spent = 0
    for piece in found:
        if len(said) < policy.top_k and piece.score >= policy.recall_score and spent + piece.tokens <= budget:
            said.append(piece)
            spent += piece.tokens
    words = frozenset[str]().union(*(piece.words for piece in said))
    total = sum(wanted.values())
    told = sum(weight for word, weight in wanted.items() if word in words) / total if total else 0.0
    return told + sum(piece.opinion for piece in said) - _PRICE * spent / max(budget, 1)


def is_held_out(turn: Turn) -> bool:
    """Two of five sessions are kept for the judgement."""
    name = f"{turn.scope_id}\0{turn.session_id}".encode("utf-8", "replace")
    return hashlib.blake2b(name, digest_size=1).digest()[0] % 5 < 2


def _rarities(told: Sequence[Turn]) -> dict[str, float]:
    """Word → weight, of words that at least two turns have in common; very common ones weigh nothing."""
    counts: Counter[str] = Counter()
    for turn in told:
        counts.update(set(query_terms(turn.text)))
    most = max(len(told) * _COMMON, 2)
    return {word: math.log(len(told) / count) for word, count in counts.items() if 2 <= count <= most}


def _pieces(database: Database, retriever: Retriever, turn: Turn, mode: Mode) -> list[Piece]:
    hits = retriever.search(turn.prompt, turn.scope_id, _DEPTH, mode, now=turn.at, min_score=0.05)
    with database.reading() as db:
        held = memories.many(db, turn.scope_id, [hit.id for hit in hits])
        raw = turns.many(db, turn.scope_id, [hit.id for hit in hits if hit.id not in held])
        opinions = {row[0]: float(row[1]) for row in db.execute(_OPINIONS, (turn.scope_id,))}
    found = []
    for hit in hits:
        item = held.get(hit.id) or raw.get(hit.id)
        if item is not None and _known_by_then(item, turn):
            text = item.text if isinstance(item, Turn) else item.content
            opinion = _OPINION * opinions.get(hit.id, 0.0)
            found.append(Piece(hit.score, frozenset(query_terms(text)), token_count.count(line(item)), opinion))
    return found


def _known_by_then(item: Memory | Turn, turn: Turn) -> bool:
    if isinstance(item, Turn):
        return item.at < turn.at and item.session_id != turn.session_id
    return item.created_at < turn.at and item.source_session_id != turn.session_id


_OPINIONS = (
    "SELECT f.memory_id, avg(2 * f.useful - 1) FROM feedback f JOIN memories m USING (memory_id)"
    " WHERE m.scope_id = ? GROUP BY f.memory_id"
)
