"""Text of any language as a list of terms: stems, concepts and, where words aren't spaced, pairs of characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from metaclaw.skills.vocabulary import UNSPACED, Vocabulary, fold, stem, vocabulary

_INDIC_AND_OTHER_MARKS = "\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"
_RUN = re.compile(
    f"(?P<unspaced>[{UNSPACED}]+)"
    f"|(?P<word>[cf](?:\\+\\+|#)(?![\\w])"
    f"|(?:(?![{UNSPACED}_])[\\w{_INDIC_AND_OTHER_MARKS}])+(?:['’](?:(?![{UNSPACED}_])[\\w])+)*)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HIRAGANA = re.compile(r"[\u3041-\u309f]+")
_KATAKANA = re.compile(r"[\u30a1-\u30ff\u31f0-\u31ff]+")
_SCRIPT_RUN = re.compile(
    r"[\u3041-\u309f]+|[\u30a1-\u30ff\u31f0-\u31ff]+|[\uac00-\ud7af]+|[^\u3041-\u30ff\u31f0-\u31ff\uac00-\ud7af]+"
)
_LONG_WORD = 40


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repeated as they occur; words without a subject are left out."""
    lists = vocabulary()
    if not text.isascii() or not text.islower():
        text = _CAMEL.sub(" ", text)
    found = [
        (match.lastgroup == "unspaced", match.group()) for match in _RUN.finditer(lists.idioms.sub(" ", fold(text)))
    ]
    foreign = _foreign(found, lists)
    result: list[str] = []
    for unspaced, run in found:
        if unspaced:
            result.extend(_unspaced_terms(run, lists))
        else:
            result.extend(_word_terms(run, foreign))
    return result


def _foreign(found: list[tuple[bool, str]], lists: Vocabulary) -> bool:
    """Whether words in Latin letters may be of another language than English."""
    english = sum(1 for unspaced, run in found if not unspaced and run in lists.english_stop)
    others = sum(1 for unspaced, run in found if not unspaced and run in lists.other_stop)
    return others >= english


@lru_cache(maxsize=16384)
def _word_terms(word: str, foreign: bool) -> tuple[str, ...]:
    lists = vocabulary()
    if word in lists.english_stop or word in lists.other_stop or len(word) > _LONG_WORD:
        return ()
    if len(word) == 1 and not word.isalpha():
        return ()
    if word.endswith(("'s", "’s")):
        word = word[:-2]
    concept = lists.concept(word) if foreign or not word.isascii() else ()
    return concept or (stem(word),)


def _unspaced_terms(run: str, lists: Vocabulary) -> Iterator[str]:
    """Known words as their concepts; what stands between them as pairs of characters."""
    start = position = 0
    known = False
    while position < len(run):
        for phrase, concept in lists.phrases.get(run[position], ()):
            if run.startswith(phrase, position):
                yield from _pairs(run[start:position], known)
                yield from concept
                position += len(phrase)
                start = position
                known = True
                break
        else:
            position += 1
    yield from _pairs(run[start:], known)


def _pairs(piece: str, beside_known: bool) -> Iterator[str]:
    for match in _SCRIPT_RUN.finditer(piece):
        part = match.group()
        if _KATAKANA.fullmatch(part):
            if len(part) > 1:
                yield part
        elif len(part) == 1:
            # A single character left beside a known word is a particle or an ending more often than a word.
            if not beside_known and not _HIRAGANA.fullmatch(part):
                yield part
        else:
            for index in range(len(part) - 1):
                yield part[index : index + 2]
