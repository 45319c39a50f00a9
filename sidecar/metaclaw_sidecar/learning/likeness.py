"""Whether two facts say the same in almost the same words: strict, since nobody checks it."""

from __future__ import annotations

import re
import unicodedata

from ..store.words import fingerprint

# Words whose absence changes nothing. No negation, no tense, no preposition, no number is among them.
_LIGHT = frozenset(
    ("a", "an", "the", "user", "that", "very", "really", "quite", "also", "just", "his", "her", "their", "its")
)
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")


def likeness(text: str) -> str:
    """Equal for near-duplicates: light words, case, punctuation and an ending s don't count, the order does."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("'s ", " ")
    kept = [_bare(word) for word in _WORD.findall(folded) if word not in _LIGHT]
    return fingerprint(" ".join(kept) if kept else folded)


def _bare(word: str) -> str:
    plural = word.isascii() and word.isalpha() and len(word) > 3 and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if plural else word
