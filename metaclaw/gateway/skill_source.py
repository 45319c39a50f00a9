"""Skills as a source of recall: an index of the library that follows its changes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metaclaw.config import Settings
from metaclaw.gateway.bank_tokens import shipped
from metaclaw.gateway.recall import Found, Query
from metaclaw.skills import Library, Presence, Ranker, Skill, render, select
from metaclaw.skills.retrieval import Retriever
from metaclaw.tokens import count_apart
from metaclaw_adapters.files import write_atomic

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Index:
    """One state of the library, ready to be searched."""

    skills: Sequence[Skill]
    ranker: Ranker
    presence: Presence
    texts: dict[str, str]
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
        new = [m for m in matches if ("skill", m.skill.name) not in query.present]
        texts = index.texts
        costs = {texts[m.skill.name]: index.costs[m.skill.name] for m in new}
        chosen = select(new, limits.max_tokens, costs.__getitem__).chosen
        return [
            Found("skill", m.skill.name, m.skill.digest[:12], m.score, index.costs[m.skill.name], texts[m.skill.name])
            for m in chosen
        ]

    def loaded(self, texts: Sequence[str]) -> set[tuple[str, str]]:
        """Skills whose text the client has read itself."""
        return {("skill", name) for name in self._index.presence.found(texts)} if self._index is not None else set()

    async def build(self) -> None:
        """Index the library as it is now, off the event loop."""
        async with self._building:
            skills = self.library.skills()
            if self._index is not None and self._index.skills is skills:
                return
            enabled = [s for s in skills if s.enabled]
            texts = {s.name: render(s) for s in enabled}
            costs = await self._costs({s.name: s.digest for s in enabled}, texts)
            ranker = await asyncio.to_thread(self.library.ranker)
            self._index = _Index(skills, ranker, Presence(skills), texts, costs)
            # Words serve until the vectors are there.
            self._preparing = asyncio.ensure_future(self.retriever.prepare(skills))

    def close(self) -> None:
        """Stop what runs in the background."""
        if self._preparing is not None:
            self._preparing.cancel()
        self.retriever.close()

    async def _costs(self, digests: dict[str, str], texts: dict[str, str]) -> dict[str, int]:
        """Tokens by skill; counted once for each version of a skill and kept on disk."""
        known = await asyncio.to_thread(_read_counts, self._cache)
        missing = [name for name, digest in digests.items() if digest not in known]
        if missing:
            counted = await count_apart([texts[name] for name in missing])
            known.update(zip((digests[name] for name in missing), counted, strict=True))
            kept = {digest: known[digest] for digest in digests.values()}
            try:
                await asyncio.to_thread(write_atomic, self._cache, json.dumps(kept).encode(), mode=0o600)
            except OSError as error:
                _log.warning("token counts could not be kept in %s: %s", self._cache, error)
        return {name: known[digest] for name, digest in digests.items()}


def _read_counts(path: Path) -> dict[str, int]:
    counts = shipped()
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        counts.update({str(k): int(v) for k, v in value.items()})
    except (OSError, ValueError, TypeError, AttributeError):
        pass  # a cache: what is missing is counted again
    return counts
