"""The result of an extraction becomes memory, in one transaction with the end of its job: once, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..extraction import Extraction, Fact
from ..records import Job, Memory, Turn
from ..store import Transaction, jobs, memories, turns
from .storing import current, reinforce, retract, store


@dataclass(slots=True)
class Applied:
    """What came of a batch."""

    added: int = 0
    reinforced: int = 0
    superseded: int = 0
    retracted: int = 0


def apply(tx: Transaction, job: Job, extraction: Extraction) -> Applied:
    """Store the facts of a job's turns that are still there, the session's summary, and the end of the job."""
    applied = Applied()
    left = {turn.turn_id: turn for turn in turns.of_job(tx.db, job.job_id)}
    for fact in extraction.facts:
        if fact.turn.turn_id in left:  # else it was forgotten while the model was reading it
            _apply_one(tx, job, fact, applied)
    if extraction.summary and left:
        _summarise(tx, job, extraction.summary, list(left.values()))
    turns.settle(tx, job.job_id, "extracted")
    jobs.finish(tx, job, applied.added)
    return applied


def keep_verbatim(tx: Transaction, job: Job) -> Applied:
    """Without a model: each turn is an episodic memory as it was said, under its own id."""
    applied = Applied()
    for turn in turns.of_job(tx.db, job.job_id):
        kept = memories.draft(
            job.scope_id, turn.text, "episodic", tx.now,
            origin="verbatim", valid_from=turn.at, memory_id=turn.turn_id, source_session_id=job.session_id,
            source_turn_start=turn.position, source_turn_end=turn.position, confidence=1.0,
        )  # fmt: skip
        memories.insert(tx, kept, turns=[turn.turn_id])
        applied.added += 1
    turns.settle(tx, job.job_id, "kept")
    jobs.finish(tx, job, applied.added)
    return applied


def _apply_one(tx: Transaction, job: Job, fact: Fact, applied: Applied) -> None:
    source = [fact.turn.turn_id]
    if fact.change == "retracts":
        known = current(tx, fact.known) if fact.known is not None else None
        if known is not None and not known.pinned:
            retract(tx, known, fact.turn.at)
            applied.retracted += 1
        return
    if fact.change == "restates" and fact.known is not None:
        known = current(tx, fact.known)
        if known is not None and known.memory_id == fact.known.memory_id:
            reinforce(tx, known, source)
            applied.reinforced += 1
            return
    drawn = memories.draft(
        job.scope_id, fact.content, fact.memory_type, tx.now,
        origin="extracted", valid_from=fact.turn.at if fact.valid_from is None else fact.valid_from,
        subject=fact.subject, source_session_id=job.session_id,
        source_turn_start=fact.turn.position, source_turn_end=fact.turn.position,
        entities=fact.entities, tags=fact.tags, importance=fact.importance, confidence=fact.confidence,
        expires_at=fact.expires_at,
    )  # fmt: skip
    stored = store(tx, drawn, turns=source, replaces=fact.known if fact.change == "replaces" else None)
    applied.added += stored.how != "reinforced"
    applied.reinforced += stored.how == "reinforced"
    applied.superseded += stored.how == "superseded"


def _summarise(tx: Transaction, job: Job, text: str, covered: Sequence[Turn]) -> None:
    """One working summary a session; a newer one is its next version."""
    names = [turn.turn_id for turn in covered]
    old = session_summary(tx, job.scope_id, job.session_id)
    if old is not None:
        memories.add_sources(tx, old.memory_id, names)
        memories.change(
            tx, old, "continued", content=text, valid_from=covered[-1].at, source_turn_end=covered[-1].position
        )
        return
    summary = memories.draft(
        job.scope_id, text, "working_summary", tx.now,
        origin="extracted", valid_from=covered[-1].at, source_session_id=job.session_id,
        source_turn_start=covered[0].position, source_turn_end=covered[-1].position,
    )  # fmt: skip
    memories.insert(tx, summary, turns=names)


def session_summary(tx: Transaction, scope_id: str, session_id: str) -> Memory | None:
    """The working summary of a session, if it has one."""
    found, _ = memories.page(
        tx.db, scope_id, memory_type="working_summary", status="active", session_id=session_id, limit=1
    )
    return found[0] if found else None
