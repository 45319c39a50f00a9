"""Skills as a source of recall: an index of the library that follows its changes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from metaclaw.config import Settings
from metaclaw.gateway.bank_tokens import shipped
from metaclaw.gateway.recall import Found, Query
from metaclaw.skills import Library, Match, Presence, Ranker, Skill, render
from metaclaw.skills.retrieval import Retriever
from metaclaw.skills.trials import assigned
from metaclaw.tokens import count_apart
from metaclaw_adapters.files import write_atomic

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Index:
    """One state of the library, ready to be searched."""

    skills: Sequence[Skill]
    previous: dict[str, Skill]  # the version before an amendment that is on trial
    ranker: Ranker
    presence: Presence
    texts: dict[str, str]  # by digest
    costs: dict[str, int]


class SkillSource:
    """Recalls the skills that fit the person's words."""

    name = "skills"

    def __init__(self, library: Library, settings: Settings, cache: Path) -> None:
        """`cache` is a folder for token counts and vectors."""
        self.library = library
        self._settings = settings.skills
        self._cache = cache / "skill-tokens.json"
        self.retriever = Retriever(settings.skills.retrieval_mode, cache / "skill-vectors.npz")
        self._preparing: asyncio.Task[None] | None = None
        self._index: _Index | None = None
        self._building = asyncio.Lock()

    @property
    def ready(self) -> bool:
        """Whether the index stands."""
        return self._index is not None

    async def recall(self, query: Query) -> list[Found]:
        """Skills above the threshold, within the budget, that the conversation doesn't have yet."""
        index = self._index
        if index is None:
            return []
        limits = self._settings
        matches = await self.retriever.rank(
            index.ranker,
            query.text,
            general=limits.top_k,
            specific=limits.task_specific_top_k,
            min_score=limits.min_score,
        )
        new = _one_trial([m for m in matches if ("skill", m.skill.name) not in query.present])
        found: list[Found] = []
        left = limits.max_tokens
        for match in new:  # the best first, whole skills, as long as the budget lasts; what is held back costs nothing
            item = self._placed(index, match, query.session_id)
            if item.tokens <= left:
                left -= item.tokens
                found.append(item)
        return found

    def _placed(self, index: _Index, match: Match, session_id: str) -> Found:
        """A skill as this session gets it: some sessions go without one that is being tried, or with its older text."""
        skill = match.skill
        share = self._share(skill)
        treated = share is None or assigned(session_id, skill.name, skill.digest, share)
        arm: Literal["", "treated", "control"] = "" if share is None else "treated" if treated else "control"
        if not treated:
            older = index.previous.get(skill.name)
            text = index.texts[older.digest] if older is not None else ""
            cost = index.costs[older.digest] if older is not None else 0
        else:
            text, cost = index.texts[skill.digest], index.costs[skill.digest]
        return Found("skill", skill.name, skill.digest[:12], match.score, cost, text, arm=arm)

    def _share(self, skill: Skill) -> float | None:
        """Share of sessions that get the skill; None where it isn't under test: it is a person's, or built in."""
        if skill.source != "learned":
            return None
        trials = self._settings.evolve
        return trials.trial_share if skill.stage == "trial" else 1 - trials.control_share

    def loaded(self, texts: Sequence[str]) -> set[tuple[str, str]]:
        """Skills whose text the client has read itself."""
        return {("skill", name) for name in self._index.presence.found(texts)} if self._index is not None else set()

    async def build(self) -> None:
        """Index the library as it is now, off the event loop."""
        async with self._building:
            skills = self.library.skills()
            if self._index is not None and self._index.skills is skills:
                return
            previous = {s.name: p for s in skills if s.enabled and (p := self.library.previous(s.name)) is not None}
            texts = {s.digest: render(s) for s in (*self.library.served(), *previous.values())}
            costs = await self._costs(texts)
            ranker = await asyncio.to_thread(self.library.ranker)
            self._index = _Index(skills, previous, ranker, Presence(skills), texts, costs)
            # Words serve until the vectors are there.
            self._preparing = asyncio.ensure_future(self.retriever.prepare(skills))

    def close(self) -> None:
        """Stop what runs in the background."""
        if self._preparing is not None:
            self._preparing.cancel()
        self.retriever.close()

    async def _costs(self, texts: dict[str, str]) -> dict[str, int]:
        """Tokens by digest; counted once for each version of a skill and kept on disk."""
        known = await asyncio.to_thread(_read_counts, self._cache)
        missing = [digest for digest in texts if digest not in known]
        if missing:
            counted = await count_apart([texts[digest] for digest in missing])
            known.update(zip(missing, counted, strict=True))
            kept = {digest: known[digest] for digest in texts}
            try:
                await asyncio.to_thread(write_atomic, self._cache, json.dumps(kept).encode(), mode=0o600)
            except OSError as error:
                _log.warning("token counts could not be kept in %s: %s", self._cache, error)
        return {digest: known[digest] for digest in texts}


def _one_trial(matches: list[Match]) -> list[Match]:
    """Without all skills on trial but the oldest: of two in one turn, nobody could tell which made the difference."""
    trials = [match.skill for match in matches if match.skill.stage == "trial"]
    if len(trials) < 2:
        return matches
    oldest = min(trials, key=lambda skill: (skill.metadata.get("metaclaw-learned-at", ""), skill.name))
    return [match for match in matches if match.skill.stage != "trial" or match.skill is oldest]


def _read_counts(path: Path) -> dict[str, int]:
    counts = shipped()
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        counts.update({str(k): int(v) for k, v in value.items()})
    except (OSError, ValueError, TypeError, AttributeError):
        pass  # a cache: what is missing is counted again
    return counts
