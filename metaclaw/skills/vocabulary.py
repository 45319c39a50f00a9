"""The word lists behind ranking: what carries no subject, what carries little, and which words mean the same task."""

from __future__ import annotations

import re
import threading
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

# Scripts written without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han and Hangul (whose words carry
# their particles, so that pairs of syllables work better than words).
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3005\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_CHAR = re.compile(f"[{UNSPACED}]")
_MARKS = re.compile("[\u0300-\u036f]")
_LEAST_PREFIX = 3


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The lists, folded the way text is folded.

    `phrases` are words of unspaced scripts by their first character, longest first, with the concept each stands
    for (none: a word without a subject). `words` and `prefixes` map words of spaced scripts to concepts. `idioms`
    finds turns of phrase that have no subject.
    """

    english_stop: frozenset[str]
    other_stop: frozenset[str]
    weak: frozenset[str]
    idioms: re.Pattern[str]
    phrases: dict[str, tuple[tuple[str, tuple[str, ...]], ...]]
    words: dict[str, tuple[str, ...]]
    prefixes: dict[str, tuple[str, ...]]

    def concept(self, word: str) -> tuple[str, ...]:
        """The concept that a word of a spaced script stands for; empty when it is not in the glossary."""
        found = self.words.get(word)
        if found is not None:
            return found
        for end in range(min(len(word), 20), _LEAST_PREFIX - 1, -1):
            found = self.prefixes.get(word[:end])
            if found is not None:
                return found
        return ()


def fold(text: str) -> str:
    """Lower case, one form for each character, no accents on alphabetic letters."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold()
    # Kana and Hangul must not be taken apart: their marks are part of the letter.
    return "".join(_fold_char(char) for char in text)


@lru_cache(maxsize=16384)
def _fold_char(char: str) -> str:
    if char.isascii() or _UNSPACED_CHAR.match(char):
        return char
    return _MARKS.sub("", unicodedata.normalize("NFKD", char)) or char


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The stem of a folded word: English endings are taken off ASCII words, other words stay as they are."""
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    root: str = _stemmer().stemWord(word)
    # American and British spellings, and nouns and verbs of one root, meet: analyse, analyze, analysis; summary.
    if len(root) > 4 and root[-1] == "i":
        root = root[:-1]
    if len(root) > 4 and root[-1] == "z":
        root = root[:-1] + "s"
    return root


_of_thread = threading.local()


def _stemmer() -> Any:
    """This thread's stemmer; one can't be shared among threads."""
    if not hasattr(_of_thread, "stemmer"):
        import Stemmer  # type: ignore[import-not-found]

        _of_thread.stemmer = Stemmer.Stemmer("english")
    return _of_thread.stemmer


@cache
def vocabulary() -> Vocabulary:
    """The lists of this package, read once."""
    english, _, others = _text("stop.txt").partition("# german")
    phrases: dict[str, dict[str, tuple[str, ...]]] = {}
    for word in _words(_text("stop_cjk.txt")):
        phrases.setdefault(word[0], {})[word] = ()
    words: dict[str, tuple[str, ...]] = {}
    prefixes: dict[str, tuple[str, ...]] = {}
    for line in _lines(_text("glossary.txt")):
        concept, _, same = line.partition(":")
        stems = tuple(stem(word) for word in concept.split())
        for word in same.split():
            if _UNSPACED_CHAR.match(word):
                phrases.setdefault(word[0], {})[word] = stems
            elif word.endswith("*"):
                prefixes[word[:-1]] = stems
            else:
                words[word] = stems
    english_stop = frozenset(_words(english))
    return Vocabulary(
        english_stop=english_stop,
        other_stop=frozenset(_words(others)) - english_stop,
        weak=frozenset(stem(word) for word in _words(_text("weak.txt"))),
        idioms=re.compile(f"\\b(?:{'|'.join(re.escape(line) for line in _lines(_text('idioms.txt')))})\\b"),
        phrases={
            first: tuple(sorted(group.items(), key=lambda item: -len(item[0]))) for first, group in phrases.items()
        },
        words=words,
        prefixes=prefixes,
    )


def _text(name: str) -> str:
    return fold(files("metaclaw.skills").joinpath("words", name).read_text(encoding="utf-8"))


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip() and not line.startswith("#")]


def _words(text: str) -> list[str]:
    return [word for line in _lines(text) for word in line.split()]
