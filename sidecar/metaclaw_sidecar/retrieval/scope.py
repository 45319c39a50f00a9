"""Everything searchable of one scope, in memory: rows, their terms, links and vectors."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .columns import Column, Floats, Links
from .documents import Document
from .exact import ExactVectors
from .fusion import fuse, shortness
from .lexical import LexicalIndex, LexicalScores
from .timewords import Period
from .tokens import terms

COMPACT_AFTER = 1000
"""Removed rows that are tolerated before the scope is built anew, if they are also a quarter of all."""


@dataclass(frozen=True, slots=True)
class Found:
    """One row found."""

    id: str
    strength: float
    order: float
    matched: tuple[str, ...]
    signals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the words of a query found, in one state of the scope."""

    words: tuple[str, ...]
    scores: LexicalScores | None
    version: int


class Scope:
    """Safe from any thread: searches and changes of one scope take turns, each within milliseconds."""

    def __init__(self, scope_id: str) -> None:
        self.scope_id = scope_id
        self.lock = threading.RLock()
        self.vectors: dict[str, ExactVectors] = {}
        self._version = 0
        self._clear()

    def _clear(self) -> None:
        self._documents: list[Document | None] = []
        self._rows: dict[str, int] = {}
        self._links = Links()
        self._lexical = LexicalIndex(self._links)
        self._at = Column(np.float64)
        self._is_turn = Column(np.bool_)
        self._alive = Column(np.bool_)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, documents: Iterable[Document]) -> None:
        """Index documents; one that is there already is replaced, and unchanged ones keep their row."""
        # Cutting texts into terms is the costly part: outside the lock.
        prepared = [(document, terms(document.text)) for document in documents]
        with self.lock:
            for document, words in prepared:
                row = self._rows.get(document.id)
                if row is not None:
                    if self._documents[row] == document:
                        continue
                    self._remove(document.id)
                self._append(document, words)

    def change(self, added: Sequence[Document], removed: Sequence[str]) -> None:
        """Take documents out, put others in."""
        self.remove(removed)
        self.add(added)

    def remove(self, ids: Sequence[str]) -> None:
        """Forget documents and their vectors; unknown ids are ignored."""
        with self.lock:
            for document_id in ids:
                self._remove(document_id)
            dead = len(self._documents) - len(self._rows)
            if dead > COMPACT_AFTER and dead * 4 > len(self._documents):
                self._compact()

    def _append(self, document: Document, words: Sequence[str]) -> None:
        self._version += 1
        self._rows[document.id] = len(self._documents)
        self._documents.append(document)
        self._links.append(document.session_id, document.position)
        self._lexical.append(words)
        self._at.append(document.at)
        self._is_turn.append(document.kind == "turn")
        self._alive.append(True)
        for vectors in self.vectors.values():
            vectors.append()

    def _remove(self, document_id: str) -> None:
        row = self._rows.pop(document_id, None)
        document = None if row is None else self._documents[row]
        if row is None or document is None:
            return
        self._version += 1
        self._documents[row] = None
        self._lexical.remove(row, terms(document.text))
        self._links.remove(row)
        self._alive.values[row] = False
        for vectors in self.vectors.values():
            vectors.drop(row)

    def _compact(self) -> None:
        documents = [document for document in self._documents if document is not None]
        kept = {model: self._stored(vectors) for model, vectors in self.vectors.items()}
        references = {model: vectors.reference for model, vectors in self.vectors.items()}
        self.vectors.clear()
        self._clear()
        self.add(documents)
        for model, by_id in kept.items():
            self.attach(model, references[model])
            self.put_vectors(model, by_id)

    def _stored(self, vectors: ExactVectors) -> dict[str, Floats]:
        return {key: vectors.vector(row).copy() for key, row in self._rows.items() if vectors.has(row)}

    def attach(self, model: str, reference: Floats) -> None:
        """Make a place for a model's vectors."""
        with self.lock:
            if model in self.vectors:
                return
            vectors = ExactVectors(model, reference)
            vectors.reserve(len(self._documents))
            for _ in self._documents:
                vectors.append()
            self.vectors[model] = vectors

    def detach(self, model: str) -> None:
        """Drop a model's vectors from memory."""
        with self.lock:
            self.vectors.pop(model, None)

    def put_vectors(self, model: str, by_id: Mapping[str, Floats], texts: Mapping[str, str] | None = None) -> None:
        """Give documents their vectors; with `texts`, only to those that still say what was embedded."""
        with self.lock:
            vectors = self.vectors.get(model)
            if vectors is None:
                return
            for document_id, vector in by_id.items():
                row = self._rows.get(document_id)
                document = None if row is None else self._documents[row]
                if row is None or document is None or vector.shape != vectors.reference.shape:
                    continue
                if texts is None or texts.get(document_id) == document.text:
                    vectors.put(row, vector)

    def without_vector(self, model: str, limit: int) -> list[Document]:
        """Documents that this model has still to embed, newest rows first."""
        with self.lock:
            vectors = self.vectors.get(model)
            if vectors is None or vectors.count >= len(self._rows):
                return []
            missing = np.flatnonzero(self._alive.values & ~vectors.present)[::-1][:limit]
            return [document for row in missing if (document := self._documents[row]) is not None]

    def ids(self) -> list[str]:
        """Ids of all documents."""
        with self.lock:
            return list(self._rows)

    def all_vectors(self, model: str) -> dict[str, Floats]:
        """Every vector of a model, by document id."""
        with self.lock:
            vectors = self.vectors.get(model)
            return self._stored(vectors) if vectors else {}

    def covered(self, model: str) -> int:
        """How many documents have a vector of this model."""
        with self.lock:
            vectors = self.vectors.get(model)
            return vectors.count if vectors else 0

    def dense(self, model: str, query: Floats) -> Floats | None:
        """Similarity of each row by this model's vectors in memory."""
        vectors = self.vectors.get(model)
        return vectors.scores(query) if vectors and vectors.count else None

    def dense_of(self, similarities: Mapping[str, float]) -> Floats:
        """The same from an index outside, which knows the best ones only."""
        scores = np.zeros(len(self._documents), np.float32)
        for document_id, similarity in similarities.items():
            row = self._rows.get(document_id)
            if row is not None:
                scores[row] = similarity
        return scores

    def read(self, words: Sequence[str]) -> Reading:
        """The lexical half of a search; it holds until the scope changes."""
        with self.lock:
            return Reading(tuple(words), self._lexical.scores(words) if words else None, self._version)

    def search(
        self, reading: Reading, dense: Floats | None, period: Period | None, *, limit: int, at_least: float
    ) -> list[Found]:
        """Fuse both halves and return the best; `dense` comes from this scope, under the same lock."""
        if reading.version != self._version:
            reading = self.read(reading.words)
        words, lexical = reading.words, reading.scores
        in_time = self._within(period)
        short = shortness(self._lexical.lengths, self._is_turn.values)
        evidence = fuse(lexical, dense, in_time, short)
        relevant = np.flatnonzero((evidence.strength >= at_least) & self._alive.values)
        best = relevant[_top(evidence.order[relevant], limit)]
        found = []
        for row in best.tolist():
            document = self._documents[row]
            if document is None:
                continue
            signals = self._signals(row, words, dense, in_time)
            strength, order = float(evidence.strength[row]), float(evidence.order[row])
            found.append(Found(document.id, strength, order, self._lexical.matched(words, row), signals))
        return found

    def _within(self, period: Period | None) -> npt.NDArray[np.bool_] | None:
        if period is None:
            return None
        at = self._at.values
        inside: npt.NDArray[np.bool_] = (at >= period.start) & (at < period.end)
        return inside

    def _signals(
        self, row: int, words: Sequence[str], dense: Floats | None, in_time: npt.NDArray[np.bool_] | None
    ) -> tuple[str, ...]:
        own = self._lexical.own(words, row)
        signals = (
            ("lexical", own),
            ("window", not own and bool(self._lexical.matched(words, row))),
            ("dense", dense is not None and float(dense[row]) > 0.15),
            ("time", in_time is not None and bool(in_time[row])),
        )
        return tuple(name for name, given in signals if given)


def _top(order: Floats, limit: int) -> npt.NDArray[np.int64]:
    """Places of the largest, best first; equal ones in order of arrival."""
    places = np.arange(len(order), dtype=np.int64)
    if len(order) > limit * 4:
        places = np.sort(np.argpartition(-order, limit)[: limit + 1]).astype(np.int64)
    best: npt.NDArray[np.int64] = places[np.argsort(-order[places], kind="stable")][:limit]
    return best
