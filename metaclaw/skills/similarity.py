"""How near two skills are to each other: the same name in other words, the same trigger, the same instructions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metaclaw.skills.format import Document
from metaclaw.skills.skill import Skill
from metaclaw.skills.tokens import terms

SAME_TRIGGER = 0.8  # cosine of name and description
SAME_TEXT = 0.75  # cosine of everything
SAME_BOTH = 0.6  # or both somewhat


@dataclass(frozen=True, slots=True)
class Nearness:
    """The nearest skill of a library, and how near, 0 to 1."""

    skill: Skill
    trigger: float
    text: float

    @property
    def duplicate(self) -> bool:
        """Whether the two are one skill."""
        return (
            self.trigger >= SAME_TRIGGER
            or self.text >= SAME_TEXT
            or (self.trigger >= SAME_BOTH and self.text >= SAME_BOTH)
        )


def nearest(name: str, description: str, body: str, skills: Sequence[Skill]) -> Nearness | None:
    """The skill of the library that is nearest to a new one; None for an empty library."""
    heads = [Counter(terms(f"{skill.name} {skill.description}")) for skill in skills]
    wholes = [Counter(terms(f"{skill.name} {skill.description}\n{skill.body}")) for skill in skills]
    head, whole = Counter(terms(f"{name} {description}")), Counter(terms(f"{name} {description}\n{body}"))
    rarity = _rarity([*wholes, whole])
    words = frozenset(name.split("-"))
    found: list[Nearness] = []
    for skill, other_head, other_whole in zip(skills, heads, wholes, strict=True):
        trigger = 1.0 if words == frozenset(skill.name.split("-")) else _cosine(head, other_head, rarity)
        found.append(Nearness(skill, trigger, _cosine(whole, other_whole, rarity)))
    return max(found, key=lambda near: (near.duplicate, near.trigger + near.text), default=None)


def same_trigger(name: str, description: str, document: Document) -> bool:
    """Whether a description says the same as a skill's."""
    a = Counter(terms(f"{name} {description}"))
    b = Counter(terms(f"{document.name} {document.description}"))
    return _cosine(a, b, _rarity([a, b])) >= SAME_BOTH


def _rarity(documents: Sequence[Counter[str]]) -> dict[str, float]:
    frequency = Counter(term for document in documents for term in document)
    # A floor of documents keeps a library of two from calling every shared word common.
    total = len(documents) + 20
    return {term: math.log(1 + total / count) for term, count in frequency.items()}


def _cosine(a: Counter[str], b: Counter[str], rarity: dict[str, float]) -> float:
    weights_a, weights_b = _weights(a, rarity), _weights(b, rarity)
    shared: Iterable[str] = weights_a.keys() & weights_b.keys()
    product = sum(weights_a[term] * weights_b[term] for term in shared)
    size = math.sqrt(sum(w * w for w in weights_a.values()) * sum(w * w for w in weights_b.values()))
    return product / size if size else 0.0


def _weights(counts: Counter[str], rarity: dict[str, float]) -> dict[str, float]:
    return {term: (1 + math.log(count)) * rarity[term] for term, count in counts.items()}
