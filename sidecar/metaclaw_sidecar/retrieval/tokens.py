"""Text to index terms, for any language: words, parts of names and paths, bigrams where words have no spaces."""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

from .stopwords import GREETINGS, STOPWORDS

MAX_CHARS = 20_000
"""Of a longer text only the beginning is indexed."""

# Scripts that write no spaces between words (or glue particles to them): Han, kana, Hangul, Thai, Lao, Khmer, Burmese.
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005\u3007\U00020000-\U0002fa1f"
_SPACELESS = _HAN + "\u3040-\u30ff\uac00-\ud7af\u0e00-\u0eff\u1780-\u17ff\u1000-\u109f"
# A chunk is what stands between blanks and brackets: a word, or an id, path or hyphenated word made of several.
_PIECE = re.compile(rf"[{_SPACELESS}]+|(?:(?![{_SPACELESS}])[^\W_])+")
_CHUNK = re.compile(rf"[{_SPACELESS}]+|(?:(?![{_SPACELESS}])\w)+(?:[-./\\:@_+#'](?:(?![{_SPACELESS}])\w)+)*")
_SPACELESS_START = re.compile(f"[{_SPACELESS}]")
_HAN_ONLY = re.compile(f"[{_HAN}]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "‐": "-", "‑": "-", "–": "-", "—": " ", "\0": " "})
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_ARABIC = re.compile(r"[\u0600-\u06ff]")
_LATIN = re.compile(r"[a-z]+$")


def terms(text: str) -> list[str]:
    """Index terms in order of appearance, with repetitions."""
    return list(_terms(text))


def query_terms(text: str) -> list[str]:
    """Distinct terms of a query that carry meaning; none for a greeting or for function words alone."""
    content = [(word, term) for word, term in _pairs(text) if word not in STOPWORDS]
    if all(word in GREETINGS for word, _ in content):
        return []
    return list(dict.fromkeys(term for _, term in content))


def is_greeting(text: str) -> bool:
    """Whether it says hello, thanks or the like, or nothing at all, and asks for nothing."""
    words = [word for word, _ in _pairs(text)]
    return not words or (any(word in GREETINGS for word in words) and not query_terms(text))


def _terms(text: str) -> Iterator[str]:
    for word, term in _pairs(text):
        if word not in STOPWORDS:
            yield term


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Each word as folded and as indexed."""
    text = unicodedata.normalize("NFKC", text[:MAX_CHARS]).translate(_QUOTES)
    for match in _CHUNK.finditer(text):
        chunk = match.group()
        if _SPACELESS_START.match(chunk):
            yield from _grams(chunk)
        else:
            yield from _words(chunk)


def _grams(run: str) -> Iterator[tuple[str, str]]:
    """Bigrams of a run; a Han character counts alone too, and so does a run of one."""
    run = fold(run)
    for index, character in enumerate(run):
        if len(run) == 1 or _HAN_ONLY.match(character):
            yield character, character
        if index:
            gram = run[index - 1 : index + 1]
            yield gram, gram


def _words(chunk: str) -> Iterator[tuple[str, str]]:
    if chunk.lower().endswith("'s"):
        chunk = chunk[:-2]
    elif "'" in chunk:
        yield from _apostrophe(chunk)
        return
    pieces = [part for piece in _PIECE.findall(chunk) for part in _CAMEL.split(piece)]
    if len(pieces) > 1 and not all(fold(piece) in STOPWORDS for piece in pieces):
        whole = fold("".join(pieces))
        yield whole, whole
    for piece in pieces:
        word = fold(piece)
        if word:
            yield word, stem(word)


def _apostrophe(chunk: str) -> Iterator[tuple[str, str]]:
    """ "don't" is one word; "l'école" and "O'Brien" are their parts."""
    head, _, tail = chunk.partition("'")
    if len(tail) <= 2 and head[-1:].isascii():
        word = fold(head + tail)
        yield word, stem(word)
        return
    yield from _words(head)
    yield from _words(tail)


@lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """Case and accents away (kana keep their voicing marks, Hangul its syllables)."""
    word = word.casefold()
    if word.isascii() or _SPACELESS_START.match(word):
        return word
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", plain.replace("ـ", ""))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The word without its commonest endings; digits, short words and other scripts stay as they are."""
    if len(word) < 4:
        return word
    if _LATIN.match(word):
        return _stemmer("english")(word)
    if _CYRILLIC.match(word):
        return _stemmer("russian")(word)
    if _ARABIC.match(word):
        return _stemmer("arabic")(word)
    return word


_stemmers = threading.local()
"""A stemmer keeps the word it works on in itself: each thread needs its own."""


def _stemmer(language: str) -> Callable[[str], str]:
    stemmed: Callable[[str], str] | None = getattr(_stemmers, language, None)
    if stemmed is None:
        import Stemmer  # type: ignore[import-not-found]

        stemmed = Stemmer.Stemmer(language).stemWord
        setattr(_stemmers, language, stemmed)
    return stemmed
