"""The seam between the store and retrieval: what is searched, what is found, and what the store must offer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Mode = Literal["auto", "hybrid", "keyword", "semantic"]
Kind = Literal["memory", "turn"]


@dataclass(frozen=True, slots=True)
class Document:
    """One searchable text; its neighbours are the documents at position ± 1 of the same session and scope."""

    id: str
    scope_id: str
    text: str
    kind: Kind
    at: float
    """When it was said or became true, seconds since the epoch (UTC)."""
    session_id: str = ""
    """Empty: it stands alone and has no neighbours."""
    position: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """One document found, with how sure the search is and why."""

    id: str
    score: float
    """0..1, comparable within one answer."""
    matched_terms: tuple[str, ...] = ()
    """The words of the query that the text (or its neighbours) holds, as they are indexed."""
    signals: tuple[str, ...] = ()
    """What found it: some of "lexical", "window", "dense", "time"."""


class Corpus(Protocol):
    """The store as retrieval sees it; every call may come from any thread.

    A vector is float32, little-endian, of unit length, and belongs to a model id.
    """

    def documents(self, scope_id: str) -> Iterable[Document]:
        """Everything of this scope that may be recalled now; nothing superseded, expired or forgotten."""
        ...

    def models(self, scope_id: str) -> Mapping[str, int]:
        """How many vectors the scope has of each model."""
        ...

    def vectors(self, scope_id: str, model: str) -> Mapping[str, bytes]:
        """Document id → vector."""
        ...

    def put_vectors(self, scope_id: str, model: str, dim: int, vectors: Mapping[str, bytes]) -> None:
        """Store vectors; a vector of a document that has meanwhile gone is dropped silently."""
        ...

    def drop_vectors(self, scope_id: str, model: str) -> None:
        """Forget all vectors of a model that another one has replaced."""
        ...
