"""The evolver: reads finished sessions in the journal and lets the library learn from them, each exactly once."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from metaclaw.skills.errors import SkillError
from metaclaw.skills.evolver_prompt import messages as prompt
from metaclaw.skills.evolver_state import Change, Decision, Entry, EvolverState, Progress, Waiting
from metaclaw.skills.format import read, write
from metaclaw.skills.lifecycle import Move, Stage
from metaclaw.skills.proposals import Accepted, Declined, judge, read_answer, schema
from metaclaw.skills.transcript import Transcript, transcript

if TYPE_CHECKING:
    from metaclaw.config.models import Settings
    from metaclaw.journal import Event, Journal
    from metaclaw.skills.library import Library

_log = logging.getLogger(__name__)
READER = "skills.evolver"
_KINDS = ("turn", "session_ended")
_BATCH = 100
_MOST_TURNS = 200
_ANSWER_TOKENS = 4000
_FIRST_WAIT = 60.0
_LONGEST_WAIT = 6 * 3600.0
_SETTINGS_WAIT = 300.0  # a key may be set at any time, and to look costs nothing
_QUOTE = 200
_DAY = 86_400
# Failures of a model that did answer, and how many of them are enough.
_ANSWERED = frozenset({"invalid", "truncated", "refused", "empty"})
_MOST_ANSWERS = 3


class Reply(Protocol):
    """What the model answered."""

    @property
    def parsed(self) -> Any:
        """The answer as JSON; None when it was none."""

    @property
    def model(self) -> str:
        """Who answered."""

    @property
    def usage(self) -> Mapping[str, int]:
        """Tokens of the call: prompt, completion."""


class Llm(Protocol):
    """The helper model."""

    async def complete(
        self, messages: list[dict[str, Any]], *, schema: dict[str, Any] | None, max_tokens: int, purpose: str
    ) -> Reply:
        """One structured answer; raises when there is none."""


class Evolver:
    """Learns from sessions that ended, and from long ones every N turns. `run_once` is called now and then.

    Nothing it does is needed for an answer: a failing model makes a session wait, with growing pauses, and never
    another one.
    """

    def __init__(
        self, library: Library, journal: Journal, llm: Llm, settings: Settings, now: Callable[[], float] = time.time
    ) -> None:
        self.library = library
        self.failures = 0  # model calls that failed, for the metrics
        self._journal = journal
        self._llm = llm
        self._every = settings.skills.evolution_every_n_turns
        self._budget = settings.skills.evolve.daily_token_budget
        self._now = now
        self._state = EvolverState(library.user_dir)
        self._busy = asyncio.Lock()

    async def run_once(self) -> list[Entry]:
        """Deal with what is due; what came of it."""
        async with self._busy:
            progress = await asyncio.to_thread(self._state.load)
            outcomes = await self._finish(progress)
            for session_id, waiting in list(progress.waiting.items()):
                if waiting.not_before <= self._now():
                    outcomes += await self._learn(progress, session_id, waiting.through)
            with ExitStack() as stack:
                reading = await asyncio.to_thread(
                    stack.enter_context, self._journal.reading(READER, kinds=_KINDS, limit=_BATCH)
                )
                for event in reading:
                    outcomes += await self._on_event(progress, event)
                    await asyncio.to_thread(reading.done, event)
            return outcomes

    async def _on_event(self, progress: Progress, event: Event) -> list[Entry]:
        through = await asyncio.to_thread(self._due, progress, event)
        waiting = progress.waiting.get(event.session_id)
        if through <= progress.learned.get(event.session_id, 0):
            return []
        if waiting is not None:
            # It waits for the model as it is: it will wait for these turns too.
            progress.waiting[event.session_id] = replace(waiting, through=max(waiting.through, through))
            await asyncio.to_thread(self._state.save, progress)
            return []
        return await self._learn(progress, event.session_id, through)

    def _due(self, progress: Progress, event: Event) -> int:
        """The number of the last turn to learn from on this event; 0 for none."""
        done = progress.learned.get(event.session_id, 0)
        if event.kind == "session_ended":
            session = self._journal.session(event.session_id)
            return session.turns if session is not None else 0
        number = int(event.payload.get("number", 0))
        # The newest turn stays out while the session goes on: the person has not answered it yet.
        return number - 1 if self._every and number - 1 - done >= self._every else 0

    async def _learn(self, progress: Progress, session_id: str, through: int) -> list[Entry]:
        session = await asyncio.to_thread(self._transcript, progress, session_id, through)
        if not session.has_substance():
            decision = self._decision(session, through, "", [], [Declined("", "too little was said to learn from")])
        else:
            decided = await self._ask(progress, session, through)
            if decided is None:
                return [self._entry(session, through, "waiting", reason=progress.waiting[session_id].reason)]
            decision = decided
        progress.decision = decision
        await asyncio.to_thread(self._state.save, progress)
        return await self._finish(progress)

    async def _ask(self, progress: Progress, session: Transcript, through: int) -> Decision | None:
        """The decision on a session; None when that failed and the session waits."""
        try:
            skills = self.library.skills()
            documents = {skill.name: self.library.document(skill.name) for skill in skills}
            request = await asyncio.to_thread(prompt, session, skills, documents)
            if self._spent_today(progress) >= self._budget:
                await self._until_tomorrow(progress, session, through)
                return None
            reply = await self._llm.complete(request, schema=schema(), max_tokens=_ANSWER_TOKENS, purpose="evolver")
            progress.spent = {
                self._day(): self._spent_today(progress)
                + reply.usage.get("prompt", 0)
                + reply.usage.get("completion", 0)
            }
            return await asyncio.to_thread(self._decide, session, through, reply, documents)
        except Exception as error:  # whatever fails here, the session waits; no other one does, and nothing is lost
            self.failures += 1
            said = f"{type(error).__name__}: {error}"[:300]
            before = progress.waiting.get(session.session_id)
            reason = str(getattr(error, "reason", ""))
            if reason in _ANSWERED and before is not None and before.attempts + 1 >= _MOST_ANSWERS:
                # The model was there and gave no usable answer, again: to go on asking only costs money.
                return self._decision(session, through, "", [], [Declined("", f"no usable answer: {said}")])
            self._postpone(progress, session.session_id, through, said, reason)
            await asyncio.to_thread(self._state.save, progress)
            return None

    async def _until_tomorrow(self, progress: Progress, session: Transcript, through: int) -> None:
        """Today's tokens are spent: the session waits, and this is no failure."""
        tomorrow = (math.floor(self._now() / _DAY) + 1) * _DAY
        reason = f"the {self._budget} tokens of the day are spent (skills.evolve.daily_token_budget)"
        before = progress.waiting.get(session.session_id)
        attempts = before.attempts if before is not None else 0
        progress.waiting[session.session_id] = Waiting(through, attempts, tomorrow, reason)
        await asyncio.to_thread(self._state.save, progress)

    def _day(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m-%d")

    def _spent_today(self, progress: Progress) -> int:
        return progress.spent.get(self._day(), 0)

    def _decide(self, session: Transcript, through: int, reply: Reply, documents: Mapping[str, Any]) -> Decision:
        proposals, declined = read_answer(reply.parsed)
        accepted: list[Accepted] = []
        for proposal in proposals:
            verdict = judge(proposal, session, self.library.skills(), documents, self.library.withdrawn())
            if isinstance(verdict, Declined):
                declined.append(verdict)
            elif any(other.document.name == verdict.document.name for other in accepted):
                declined.append(Declined(verdict.document.name, "it is proposed twice"))
            else:
                accepted.append(verdict)
        return self._decision(session, through, reply.model, accepted, declined)

    def _decision(
        self, session: Transcript, through: int, model: str, accepted: list[Accepted], declined: list[Declined]
    ) -> Decision:
        changes = []
        for verdict in accepted:
            outcome = "proposed" if verdict.waits else "amended" if verdict.base else "added"
            why = " ".join(verdict.proposal.reason.split())[:300]
            reason = f"{why} (waits for you: {verdict.waits})" if verdict.waits else why
            entry = self._entry(session, through, outcome, verdict.document.name, reason, model)
            changes.append(self._change(session, verdict, model, entry))
        entries = [self._entry(session, through, _outcome(item), item.name, item.reason, model) for item in declined]
        key = f"{session.session_id}:{through}"
        return Decision(key, session.session_id, through, tuple(changes), tuple(entries))

    def _change(self, session: Transcript, verdict: Accepted, model: str, entry: Entry) -> Change:
        quotes = [" ".join(quote.text.split())[:_QUOTE] for quote in verdict.proposal.quotes if quote.text.strip()]
        cited = {quote.turn for quote in verdict.proposal.quotes}
        provenance = {
            "metaclaw-session": session.session_id,
            "metaclaw-turns": " ".join(str(number) for number in sorted(cited)),
            "metaclaw-model": model,
            "metaclaw-learned-at": datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="seconds"),
            "metaclaw-quotes": " | ".join(quotes),
        }
        known = {key: value.strip() for key, value in provenance.items() if value.strip()}
        document = replace(verdict.document, metadata={**verdict.document.metadata, **known})
        verb = "Amend" if verdict.base else "Learn"
        numbers = ", ".join(str(number) for number in sorted(cited))
        origin = f"Session: {session.session_id}\nTurns: {numbers}\nModel: {model}"
        message = f"{verb} {document.name}\n\n{entry.reason}\n\n{origin}"
        stage: Stage = "proposed" if verdict.waits else "trial"
        return Change(document.name, write(document).decode(), verdict.base, message, entry, stage)

    async def _finish(self, progress: Progress) -> list[Entry]:
        """Carry out the stored decision. Doing it twice is doing it once."""
        decision = progress.decision
        if decision is None:
            return []
        written = [await asyncio.to_thread(self._write, change) for change in decision.changes]
        entries = [*decision.entries, *written]
        await asyncio.to_thread(self._state.log, tuple(entries))
        progress.decision = None
        progress.learned.pop(decision.session_id, None)
        progress.learned[decision.session_id] = decision.through
        waiting = progress.waiting.pop(decision.session_id, None)
        if waiting is not None and waiting.through > decision.through:
            progress.waiting[decision.session_id] = waiting
        await asyncio.to_thread(self._state.save, progress)
        return entries

    def _write(self, change: Change) -> Entry:
        """Write one skill, unless a person was faster."""
        data = change.text.encode()
        mine = hashlib.sha256(data).hexdigest()
        try:
            self.library.reload()
            current = next((skill for skill in self.library.skills() if skill.name == change.name), None)
            digest = current.digest if current is not None else ""
            if digest not in (change.base, mine):
                return replace(change.entry, outcome="declined", reason="it was changed by somebody else meanwhile")
            waits = current is not None and current.stage == "proposed"
            stage = "proposed" if waits else change.stage
            move = Move(self._now(), change.name, mine, stage, "evolver", change.entry.reason)
            self.library.propose(read(data, change.name), move, change.message)
        except SkillError as error:
            return replace(change.entry, outcome="declined", reason=str(error))
        _log.info("skill %s %s from session %s", change.name, change.entry.outcome, change.entry.session_id)
        return change.entry

    def _transcript(self, progress: Progress, session_id: str, through: int) -> Transcript:
        after = max(progress.learned.get(session_id, 0), through - _MOST_TURNS)
        turns = [t for t in self._journal.turns(session_id, limit=_MOST_TURNS, after=after) if t.number <= through]
        said = {turn.id: self._journal.messages(session_id, turn_id=turn.id) for turn in turns}
        return transcript(session_id, turns, said)

    def _postpone(self, progress: Progress, session_id: str, through: int, said: str, reason: str) -> None:
        before = progress.waiting.get(session_id)
        attempts = before.attempts + 1 if before is not None else 1
        longest = _SETTINGS_WAIT if reason == "not_configured" else _LONGEST_WAIT
        pause = min(longest, _FIRST_WAIT * 2.0 ** min(attempts - 1, 20))
        progress.waiting[session_id] = Waiting(through, attempts, self._now() + pause, said)
        _log.warning("learning from session %s waits %d s: %s", session_id, pause, said)

    def _entry(
        self, session: Transcript, through: int, outcome: str, skill: str = "", reason: str = "", model: str = ""
    ) -> Entry:
        turns = tuple(exchange.number for exchange in session.exchanges)
        key = f"{session.session_id}:{through}"
        return Entry(key, self._now(), session.session_id, turns, outcome, skill, reason, model)


def _outcome(declined: Declined) -> str:
    if declined.reason.startswith("nothing to learn"):
        return "nothing"
    return "skipped" if declined.reason.startswith("too little") else "declined"
