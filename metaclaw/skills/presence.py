"""Which skills a conversation holds already, because the client has read their files itself."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from metaclaw.skills.skill import Skill

_LEAST_LINE = 24  # shorter lines occur in texts that have nothing to do with the skill
_PROBES = 8


class Presence:
    """Recognises the enabled skills of one snapshot of a library. Immutable, thread-safe.

    A text is looked through once for words that the skills' lines contain; only skills whose words are there are
    compared line by line. So a long tool result costs its own length, and hardly the library's.
    """

    def __init__(self, skills: Iterable[Skill]) -> None:
        self._skills = tuple(skill for skill in skills if skill.enabled)
        self._probes = tuple(_probes(skill.body) for skill in self._skills)
        self._always: list[int] = []  # skills with a line that has no word to look for, as in unspaced scripts
        self._words: dict[str, list[int]] = defaultdict(list)  # a skill's index, once for each of its lines
        self._index()

    def found(self, texts: Sequence[str]) -> set[str]:
        """Names of the skills that one of these texts holds: their lines, or their SKILL.md's front matter."""
        present: set[str] = set()
        for text in texts:
            present.update(self._skills[index].name for index in self._by_lines(text))
            if "name:" in text:
                present.update(skill.name for skill in self._skills if _has_front_matter(skill, text))
        return present

    def _index(self) -> None:
        inner = [[probe.split()[1:-1] for probe in probes] for probes in self._probes]
        frequency = Counter(word for lines in inner for line in lines for word in set(line))
        for index, lines in enumerate(inner):
            if not lines or not all(lines):
                self._always.append(index)
                continue
            for line in lines:
                self._words[min(line, key=lambda word: (frequency[word], word))].append(index)

    def _by_lines(self, text: str) -> list[int]:
        hits = Counter(index for word in self._words.keys() & set(text.split()) for index in self._words[word])
        likely = [index for index, count in hits.items() if count >= _needed(self._probes[index])]
        return [index for index in (*likely, *self._always) if self._holds(index, text)]

    def _holds(self, index: int, text: str) -> bool:
        probes, body = self._probes[index], self._skills[index].body
        if not probes:
            return bool(body) and body in text
        return sum(1 for probe in probes if probe in text) >= _needed(probes)


def _needed(probes: Sequence[str]) -> int:
    return max(1, (len(probes) * 3 + 3) // 4)


def _has_front_matter(skill: Skill, text: str) -> bool:
    if skill.name not in text or " ".join(skill.description.split()) not in text:
        return False
    # A tool may number the lines it reads, so the key need not stand at the start of its line.
    return re.search(rf"(?m)^.{{0,12}}\bname:\s*[\"']?{re.escape(skill.name)}[\"']?\s*$", text) is not None


def _probes(body: str) -> tuple[str, ...]:
    """The longest lines of a body: found one by one, since a tool may number or indent the lines it reads."""
    lines = {line.strip() for line in body.split("\n")}
    long = sorted((line for line in lines if len(line) >= _LEAST_LINE), key=lambda line: (-len(line), line))
    return tuple(long[:_PROBES])
