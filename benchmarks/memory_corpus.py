"""A corpus in memory whose vectors are kept on disk between runs, and what is measured with it."""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from metaclaw_sidecar.retrieval import Document, Retriever


class CachedCorpus:
    """Retrieval's corpus over given documents; with a cache file, no text is embedded twice in its life."""

    def __init__(self, documents: Iterable[Document], cache: Path | None = None) -> None:
        self._by_scope: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            self._by_scope[document.scope_id].append(document)
        self._cache = cache
        self._known: dict[str, bytes] = {}
        self._vectors: dict[tuple[str, str], dict[str, bytes]] = defaultdict(dict)
        if cache is not None and cache.exists():
            with np.load(cache) as file:
                self._known = {key: row.tobytes() for key, row in zip(file["keys"].tolist(), file["rows"], strict=True)}

    def documents(self, scope_id: str) -> Iterable[Document]:
        """Everything of a scope."""
        return list(self._by_scope[scope_id])

    def models(self, scope_id: str) -> Mapping[str, int]:
        """How many vectors there are, of each model."""
        models = {key.split("\0")[0] for key in self._known} | {m for s, m in self._vectors if s == scope_id}
        return {model: len(self.vectors(scope_id, model)) for model in models}

    def vectors(self, scope_id: str, model: str) -> Mapping[str, bytes]:
        """The vectors of a scope."""
        found = {d.id: self._known.get(_key(model, d.text)) for d in self._by_scope[scope_id]}
        return {key: row for key, row in found.items() if row is not None} | self._vectors[scope_id, model]

    def put_vectors(self, scope_id: str, model: str, dim: int, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors, in memory and for the cache."""
        self._vectors[scope_id, model].update(vectors)
        texts = {d.id: d.text for d in self._by_scope[scope_id]} if self._cache else {}
        self._known.update({_key(model, texts[key]): row for key, row in vectors.items() if key in texts})

    def drop_vectors(self, scope_id: str, model: str) -> None:
        """Nothing is dropped from the cache."""
        self._vectors.pop((scope_id, model), None)

    def save(self) -> None:
        """Write the cache file."""
        if self._cache is not None and self._known:
            rows = np.array([np.frombuffer(row, "<f4") for row in self._known.values()])
            np.savez(self._cache, keys=np.array(list(self._known)), rows=rows)


def settle(retriever: Retriever, scopes: Sequence[str], *, dense: bool = True) -> None:
    """Load the scopes and wait until every vector is there, if there are to be any."""
    for scope in scopes:
        retriever.warm(scope)
    while True:
        status = retriever.status()
        if dense and status["problem"]:
            raise SystemExit(f"no dense search: {status['problem']}")
        if (status["dense"] or not dense) and status["loading"] == 0 and status["embedding"] == 0:
            return
        time.sleep(0.2)


def _key(model: str, text: str) -> str:
    return f"{model}\0{hashlib.sha256(text.encode()).hexdigest()}"
