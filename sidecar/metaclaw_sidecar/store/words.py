"""The one door through which text reaches the store, and the fingerprint by which a restated fact is known."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from ..cleaning import clean
from ..redaction import redact

_FILLERS = frozenset(("a", "an", "the"))
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")


def written(text: str) -> str:
    """A text as it may be kept: cleaned of blocks that were put into it, and without secrets."""
    return redact(clean(text))


def written_all(texts: Iterable[str], *, most: int = 24) -> tuple[str, ...]:
    """Short labels, each once."""
    kept = (written(text)[:120] for text in texts)
    return tuple(dict.fromkeys(label for label in kept if label))[:most]


def fingerprint(text: str) -> str:
    """The same for two texts that differ only in case, punctuation and articles: order counts, and so do negations,
    tenses, names and numbers."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    kept = [word for word in _WORD.findall(folded) if word not in _FILLERS] or [folded.strip()]
    return hashlib.blake2b("\0".join(kept).encode("utf-8", "replace"), digest_size=16).hexdigest()
