"""Which skills a query is about: BM25F over name, description, category and body, as a relevance from 0 to 1."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from metaclaw.skills.skill import Match, Skill
from metaclaw.skills.tokens import terms
from metaclaw.skills.vocabulary import fold, vocabulary

# Field weights, and how much a field's length counts (the `b` of BM25).
_FIELDS = (("name", 3.0, 0.2), ("description", 2.0, 0.5), ("category", 0.6, 0.0), ("body", 0.45, 0.75))
_K1 = 1.2
# Documents without the term that every library is thought to have besides its own: keeps the rarity of a term
# meaningful in a library of one skill.
_BACKGROUND = 150
_WEAK = 0.45  # what a word that fits any task keeps of its rarity
_UNKNOWN = 0.6  # weight of a query term that no skill has
_UNKNOWN_PAIR = 0.25  # the same for a pair of characters, of which most straddle two words
# A query is as long as its weight, but never shorter than this: one common word is not a subject.
_LEAST_MASS = 1.5
_LENGTH_POWER = 0.5
_RELATIVE = 0.7  # of the best match's relevance; what has less is there for a word in passing
_MAX_TERMS = 32
_MAX_CHARS = 6000


class Ranker:
    """Ranks one snapshot of a library; building it does the work, asking it is cheap. Immutable, thread-safe."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self.skills = tuple(skill for skill in skills if skill.enabled)
        self._names = {fold(skill.name): index for index, skill in enumerate(self.skills) if "-" in skill.name}
        self._weights: dict[str, float] = {}
        self._postings: dict[str, list[tuple[int, float]]] = {}
        self._build()

    def rank(self, query: str, *, general: int, specific: int, min_score: float) -> list[Match]:
        """Skills at least `min_score` relevant and not far behind the best, best first: at most `general` of the
        general categories, and `specific` of the others."""
        return pick(self.scores(query, min_score), general=general, specific=specific, min_score=min_score)

    def scores(self, query: str, least: float = 0.0) -> list[Match]:
        """Every skill that shares a term with the query and is at least so relevant, best first."""
        text = query if len(query) <= _MAX_CHARS else f"{query[: _MAX_CHARS * 2 // 3]}\n{query[-_MAX_CHARS // 3 :]}"
        weights = self._query_weights(text)
        evidence: dict[int, float] = {}
        for term, weight in weights.items():
            for index, strength in self._postings.get(term, ()):
                evidence[index] = evidence.get(index, 0.0) + weight * strength
        length = max(_LEAST_MASS, sum(weights.values())) ** _LENGTH_POWER
        # The bound lies a hair below: what is rounded up to it counts.
        bound = (least - 0.0001) * length
        scored = {index: min(1.0, value / length) for index, value in evidence.items() if value >= bound}
        for index in self._named(text):
            scored[index] = 1.0
        order = sorted(scored, key=lambda index: (-scored[index], self.skills[index].name))
        return [Match(self.skills[index], round(scored[index], 4)) for index in order]

    def _query_weights(self, text: str) -> dict[str, float]:
        """The query's terms with their weights; of a long query those that say most."""
        counts = Counter(terms(text))
        weights = {term: self._weight(term) for term in counts}
        if len(weights) <= _MAX_TERMS:
            return weights
        ranked = sorted(weights, key=lambda term: -weights[term] * (1 + math.log(counts[term])))
        return {term: weights[term] for term in ranked[:_MAX_TERMS]}

    def _weight(self, term: str) -> float:
        known = self._weights.get(term)
        if known is not None:
            return known
        if len(term) == 2 and not term.isascii():
            return _UNKNOWN_PAIR
        return _UNKNOWN * (_WEAK if term in vocabulary().weak else 1.0)

    def _named(self, text: str) -> list[int]:
        """Skills called by their name (`meeting-notes`), which is as relevant as it gets."""
        if "-" not in text:
            return []
        folded = fold(text)
        return [index for name, index in self._names.items() if _has_word(folded, name)]

    def _build(self) -> None:
        counts = [_field_terms(skill) for skill in self.skills]
        total = len(counts)
        if not total:
            return
        averages = [sum(sum(fields[n].values()) for fields in counts) / total or 1.0 for n in range(len(_FIELDS))]
        frequency = Counter(term for fields in counts for term in set().union(*fields))
        rarest = _idf(1, total)
        weak = vocabulary().weak
        for term, documents in frequency.items():
            self._weights[term] = _idf(documents, total) / rarest * (_WEAK if term in weak else 1.0)
        for index, fields in enumerate(counts):
            for term, strength in _strengths(fields, averages).items():
                self._postings.setdefault(term, []).append((index, strength))


def pick(matches: Sequence[Match], *, general: int, specific: int, min_score: float) -> list[Match]:
    """Of matches in order, those at least `min_score` relevant and not far behind the first, as many as may be."""
    left = {True: general, False: specific}
    chosen: list[Match] = []
    least = max(min_score, _RELATIVE * matches[0].score) if matches else min_score
    for match in matches:
        if match.score < least:
            break
        if left[match.skill.general] > 0:
            left[match.skill.general] -= 1
            chosen.append(match)
    return chosen


def _field_terms(skill: Skill) -> tuple[Counter[str], ...]:
    texts = (skill.name, skill.description, skill.category.replace("_", " "), skill.body)
    return tuple(Counter(terms(text)) for text in texts)


def _strengths(fields: tuple[Counter[str], ...], averages: list[float]) -> dict[str, float]:
    """How much each term speaks for this skill, 0 to 1."""
    weighted: dict[str, float] = {}
    for (_, weight, b), counts, average in zip(_FIELDS, fields, averages, strict=True):
        length = 1 - b + b * sum(counts.values()) / average
        for term, count in counts.items():
            weighted[term] = weighted.get(term, 0.0) + weight * count / length
    return {term: value / (_K1 + value) for term, value in weighted.items()}


def _idf(documents: int, total: int) -> float:
    return math.log(1 + (total + _BACKGROUND - documents + 0.5) / (documents + 0.5))


def _has_word(text: str, word: str) -> bool:
    at = text.find(word)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(word) : at + len(word) + 1]
        if not (before.isalnum() or before == "-" or after.isalnum() or after == "-"):
            return True
        at = text.find(word, at + 1)
    return False
