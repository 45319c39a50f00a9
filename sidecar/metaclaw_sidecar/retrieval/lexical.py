"""BM25 over documents and over two windows around them, in memory, growing row by row.

A row is a document's number in its scope, in order of arrival. Knows terms and rows, not texts or scopes.
What is asked about in one message is often answered in the next, and named several messages earlier: so a document is
scored by itself with one neighbour on each side, and by the passage of four on each side.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .columns import NOBODY, Column, Floats, Links, Rows

K1 = 1.2
B = 0.75
PASSAGE = 4
"""Neighbours on each side that make up a document's passage."""
BACKGROUND = 50
"""Documents without any of the terms that every scope is thought to have besides: rare means little among the few."""
COMMON = 0.2
"""In a large scope a term that more than this share of the documents has does not look at neighbours."""
LARGE = 20_000


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """For each row, 0 to about 2: how much of the query's weight its surroundings hold.

    `unknown` is the share of that weight, 0 to 1, that lies in words nothing here has.
    """

    window: Floats
    passage: Floats
    unknown: float = 0.0


class _Postings:
    """The rows that hold one term, ascending, and how often."""

    __slots__ = ("counts", "rows")

    def __init__(self) -> None:
        self.rows = array("q")
        self.counts = array("f")

    def arrays(self) -> tuple[Rows, Floats]:
        # Copies: a live view would forbid the next append.
        return np.array(self.rows, np.int64), np.array(self.counts, np.float32)


class _Norms:
    """The length normalisation of windows, kept until the scope changes."""

    def __init__(self, lengths: Floats, links: Links, live: int) -> None:
        spread, frontier = lengths.copy(), (lengths, lengths)
        self.window = self.passage = spread
        for step in range(1, PASSAGE + 1):
            frontier = (_shift(frontier[0], links.before), _shift(frontier[1], links.after))
            spread = spread + frontier[0] + frontier[1]
            if step == 1:
                self.window = _norm(spread, live)
        self.passage = _norm(spread, live)


class LexicalIndex:
    """Inverted index with one user at a time; the owner locks."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._postings: dict[str, _Postings] = {}
        self._lengths = Column(np.float32)
        self._live = 0
        self._norms: _Norms | None = None

    def append(self, terms: Sequence[str]) -> None:
        """Index the next row; its place in the links is known already."""
        row = len(self._lengths)
        for term, count in Counter(terms).items():
            postings = self._postings.get(term)
            if postings is None:
                postings = self._postings[term] = _Postings()
            postings.rows.append(row)
            postings.counts.append(count)
        self._lengths.append(len(terms))
        self._live += 1
        self._norms = None

    def remove(self, row: int, terms: Sequence[str]) -> None:
        """Take a row out; it keeps its number and matches nothing from now on."""
        for term in set(terms):
            postings = self._postings[term]
            at = int(np.searchsorted(np.array(postings.rows), row))
            del postings.rows[at]
            del postings.counts[at]
            if not postings.rows:
                del self._postings[term]
        self._live -= 1
        self._lengths.values[row] = 0
        self._norms = None

    @property
    def lengths(self) -> Floats:
        """Terms in each row."""
        return self._lengths.values

    def matched(self, terms: Sequence[str], row: int) -> tuple[str, ...]:
        """Which of the terms the row or one of its two neighbours has."""
        places = (row, int(self._links.before[row]), int(self._links.after[row]))
        return tuple(term for term in terms if any(self._has(term, place) for place in places))

    def own(self, terms: Sequence[str], row: int) -> bool:
        """Whether the row itself has one of the terms."""
        return any(self._has(term, row) for term in terms)

    def _has(self, term: str, row: int) -> bool:
        postings = self._postings.get(term)
        if postings is None or row == NOBODY:
            return False
        rows = np.frombuffer(postings.rows, np.int64)
        at = int(np.searchsorted(rows, row))
        return at < len(rows) and int(rows[at]) == row

    def scores(self, terms: Sequence[str]) -> LexicalScores:
        """Score every row for these distinct terms."""
        size = len(self._lengths)
        if self._norms is None:
            self._norms = _Norms(self._lengths.values, self._links, self._live)
        norms = self._norms
        window, passage = np.zeros(size, np.float32), np.zeros(size, np.float32)
        scratch = np.zeros(size, np.float32)
        window_best = passage_best = unknown = 0.0
        for term in terms:
            postings = self._postings.get(term)
            if postings is None:
                unknown += self._idf(0)
                continue
            reach = _Reach(postings, self._links, scratch, alone=self._is_common(postings))
            near = reach.window()
            window_best += self._add(window, near, scratch, norms.window)
            near = reach.passage()
            passage_best += self._add(passage, near, scratch, norms.passage)
            scratch[near] = 0
        whole = window_best + unknown, passage_best + unknown
        return LexicalScores(window / max(whole[0], 1e-6), passage / max(whole[1], 1e-6), unknown / max(whole[0], 1e-6))

    def _is_common(self, postings: _Postings) -> bool:
        return self._live > LARGE and len(postings.rows) > COMMON * self._live

    def _add(self, scores: Floats, rows: Rows, counts: Floats, norm: Floats) -> float:
        """Add one term's share to the scores; its idf."""
        idf = self._idf(len(rows))
        tf = counts[rows]
        scores[rows] += idf * (K1 + 1) * tf / (tf + norm[rows])
        return idf

    def _idf(self, df: int) -> float:
        return float(np.log1p((self._live + BACKGROUND - df + 0.5) / (df + 0.5)))


class _Reach:
    """Spreads one term's counts over the neighbours, step by step, into a scratch array of zeros."""

    def __init__(self, postings: _Postings, links: Links, scratch: Floats, *, alone: bool) -> None:
        rows, counts = postings.arrays()
        self._links, self._scratch, self._alone = links, scratch, alone
        self._back, self._forth = (rows, counts), (rows, counts)
        self._touched = [rows]
        scratch[rows] += counts

    def window(self) -> Rows:
        """The rows that have the term within one step."""
        self._step()
        return self._found()

    def passage(self) -> Rows:
        """The rows that have it within the passage; call `window` first."""
        for _ in range(PASSAGE - 1):
            self._step()
        return self._found()

    def _step(self) -> None:
        if self._alone:
            return
        self._back = self._move(self._back, self._links.before)
        self._forth = self._move(self._forth, self._links.after)

    def _move(self, frontier: tuple[Rows, Floats], neighbours: Rows) -> tuple[Rows, Floats]:
        rows, counts = frontier
        rows = neighbours[rows]
        known = rows != NOBODY
        rows, counts = rows[known], counts[known]
        self._scratch[rows] += counts
        self._touched.append(rows)
        return rows, counts

    def _found(self) -> Rows:
        # Sorting the few beats scanning all; scanning all beats sorting the many.
        found: Rows
        if sum(len(rows) for rows in self._touched) * 16 < len(self._scratch):
            found = np.unique(np.concatenate(self._touched))
        else:
            found = np.flatnonzero(self._scratch > 0)
        return found


def _shift(values: Floats, neighbours: Rows) -> Floats:
    """Each row's neighbour's value; zero where there is none."""
    shifted: Floats = np.append(values, np.float32(0))[neighbours]
    return shifted


def _norm(lengths: Floats, live: int) -> Floats:
    mean = max(float(lengths.sum()) / max(live, 1), 1.0)
    norm: Floats = (K1 * (1 - B + B * lengths / mean)).astype(np.float32)
    return norm
