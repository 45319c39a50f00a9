"""The retriever as the service uses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .retrieval import Document, Hit, Mode


class Finder(Protocol):
    """Finds documents; every call may come from any thread."""

    def search(self, query: str, scope_id: str, limit: int, mode: Mode) -> list[Hit]:
        """What fits the query, best first."""
        ...

    def changed(self, scope_id: str, added: Sequence[Document], removed: Sequence[str]) -> None:
        """Documents have come, changed or gone."""
        ...

    def close(self) -> None:
        """Stop what runs in the background."""
        ...
