"""The vector index for scopes too large to search exactly: mem0's vector stores, a collection for each scope and model.

It is a copy that can be thrown away: the store holds every vector. One process owns the folder of an embedded index,
by a lock; writes go one after the other. Vectors lie in it centred by the model's reference, so that the index's own
similarity is the one that exact search computes.
"""

import hashlib
import logging
import os
import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .columns import Floats
from .settings import RetrievalSettings

BATCH = 1000
_NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
_CONNECTIONS = {"qdrant": "client", "pgvector": "connection_pool"}
_log = logging.getLogger(__name__)


class IndexUnavailable(Exception):
    """The vector index cannot be used; the message says why and what to do."""


class VectorIndex:
    """All collections of one index; safe from any thread."""

    def __init__(self, settings: RetrievalSettings) -> None:
        self._settings = settings
        self._writing = threading.Lock()
        self._opening = threading.Lock()
        self._collections: dict[str, Any] = {}
        self._connection: Any = None
        self._lock = self._own()

    def _own(self) -> Any:
        """Take the embedded index's folder for this process."""
        if self._settings.store != "chroma":
            return None
        if self._settings.directory is None:
            raise IndexUnavailable("the vector index has no directory: large scopes are searched exactly")
        from filelock import FileLock, Timeout

        self._settings.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._settings.directory / "owner.lock", mode=0o600)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise IndexUnavailable(
                f"{self._settings.directory} is in use by another process: stop it, or set a vector store of its own"
            ) from None
        return lock

    def put(self, scope_id: str, model: str, reference: Floats, vectors: Mapping[str, Floats]) -> None:
        """Write vectors, replacing those of the same ids."""
        collection = self._collection(scope_id, model, len(reference))
        items = list(vectors.items())
        for start in range(0, len(items), BATCH):
            batch = items[start : start + BATCH]
            ids = [_key(document_id) for document_id, _ in batch]
            rows = [_centred(vector, reference).tolist() for _, vector in batch]
            payloads = [{"document": document_id} for document_id, _ in batch]
            with self._writing:
                self._drop(collection, ids)
                collection.insert(vectors=rows, payloads=payloads, ids=ids)

    def remove(self, scope_id: str, model: str, dim: int, ids: Sequence[str]) -> None:
        """Take documents out."""
        collection = self._collection(scope_id, model, dim)
        with self._writing:
            self._drop(collection, [_key(document_id) for document_id in ids])

    def search(self, scope_id: str, model: str, reference: Floats, query: Floats, limit: int) -> dict[str, float]:
        """Document id → centred cosine, of the nearest."""
        collection = self._collection(scope_id, model, len(reference))
        vector = _centred(query, reference).tolist()
        found = collection.search(query="", vectors=[vector] if self._is_chroma else vector, top_k=limit)
        return {
            row.payload["document"]: self._cosine(row.score) for row in found if row.payload and row.score is not None
        }

    def drop(self, scope_id: str, model: str, dim: int) -> None:
        """Throw a scope's collection away."""
        collection = self._collection(scope_id, model, dim)
        with self._writing:
            collection.delete_col()
            if self._connection is not None:  # when it goes it would close what the others go on using
                setattr(collection, _CONNECTIONS[self._settings.store], None)
            self._collections.pop(_name(scope_id, model), None)

    def close(self) -> None:
        """Give the folder back."""
        self._collections.clear()
        if self._lock is not None:
            self._lock.release()

    @property
    def _is_chroma(self) -> bool:
        return self._settings.store.startswith("chroma")

    def _cosine(self, score: float) -> float:
        """mem0 gives 1 / (1 + squared distance) for Chroma, the cosine for the others."""
        if self._is_chroma:
            return 1 - (1 / max(score, 1e-6) - 1) / 2
        return score

    def _drop(self, collection: Any, keys: Sequence[str]) -> None:
        if self._is_chroma:
            # mem0 deletes one by one; its collection is Chroma's own.
            collection.collection.delete(ids=list(keys))
            return
        for key in keys:
            collection.delete(key)

    def _collection(self, scope_id: str, model: str, dim: int) -> Any:
        name = _name(scope_id, model)
        with self._opening:
            if name not in self._collections:
                self._collections[name] = self._open(name, dim)
            return self._collections[name]

    def _open(self, name: str, dim: int) -> Any:
        # Read at mem0's import: it would report to its maker otherwise, and write to the home folder.
        os.environ["MEM0_TELEMETRY"] = "False"
        if self._settings.directory is not None:
            os.environ.setdefault("MEM0_DIR", str(self._settings.directory / "mem0"))
        options = dict(self._settings.store_options)
        provider = "chroma" if self._is_chroma else self._settings.store
        if provider != "chroma":
            options["embedding_model_dims"] = dim
        elif self._settings.store == "chroma":
            options["path"] = str(self._settings.directory)
        # One client serves all collections: some stores let a folder, or a server a client, be opened once only.
        if self._connection is not None:
            options[_CONNECTIONS[self._settings.store]] = self._connection
        try:
            from mem0.utils.factory import VectorStoreFactory  # type: ignore[import-untyped]

            if provider == "qdrant":
                from mem0.configs.vector_stores.qdrant import QdrantConfig as Config  # type: ignore[import-untyped]
            elif provider == "pgvector":
                from mem0.configs.vector_stores.pgvector import PGVectorConfig as Config  # type: ignore[import-untyped]
            else:
                from mem0.configs.vector_stores.chroma import ChromaDbConfig as Config  # type: ignore[import-untyped]
            config = Config(collection_name=name, **options).model_dump(exclude_unset=provider == "chroma")
            opened: Any = VectorStoreFactory.create(provider, config)
        except Exception as error:  # Every store has a tree of its own; what matters is that there is no index.
            raise IndexUnavailable(f"the vector store {self._settings.store} cannot be opened: {error}") from error
        if self._settings.store in _CONNECTIONS:
            self._connection = getattr(opened, _CONNECTIONS[self._settings.store])
        return opened


def _name(scope_id: str, model: str) -> str:
    return "metaclaw_" + hashlib.sha256(f"{scope_id}\0{model}".encode()).hexdigest()[:40]


def _key(document_id: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, document_id))


def _centred(vector: Floats, reference: Floats) -> Floats:
    centred = vector - reference
    unit: Floats = (centred / max(float(np.linalg.norm(centred)), 1e-6)).astype(np.float32)
    return unit
