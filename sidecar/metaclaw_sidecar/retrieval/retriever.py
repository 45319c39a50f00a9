"""Search over the store's documents: loads scopes, keeps them current, embeds in the background, answers in time."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from itertools import islice

import numpy as np

from .backfill import Backfill
from .columns import Floats
from .documents import Corpus, Document, Hit, Mode
from .fusion import squash, unsquash
from .models import Model, Models
from .scope import Scope
from .settings import RetrievalSettings
from .timewords import period_of
from .tokens import is_greeting, query_terms
from .vector_index import VectorIndex

LOAD_BATCH = 500
INDEX_DEPTH = 300
"""How many of the nearest an index outside is asked for."""
MAX_QUERY = 4000
_log = logging.getLogger(__name__)


class Retriever:
    """Thread-safe. A search never raises and never takes much longer than `settings.deadline`.

    What is not ready in time falls away: dense search first, then the part of a scope that is not loaded yet.
    """

    def __init__(self, corpus: Corpus, settings: RetrievalSettings | None = None) -> None:
        self._corpus = corpus
        self._settings = settings or RetrievalSettings()
        self._models = Models(self._settings)
        self._lock = threading.Lock()
        self._scopes: OrderedDict[str, tuple[Scope, Future[None]]] = OrderedDict()
        self._loaders = ThreadPoolExecutor(2, "metaclaw-loading")
        self._workers = ThreadPoolExecutor(2, "metaclaw-query")
        self._index: VectorIndex | None = None
        self._index_off = self._settings.directory is None and self._settings.store == "chroma"
        self._indexed: set[str] = set()
        self._index_problem = ""
        self._backfill = Backfill(corpus, self._models, self._index_vectors, self._complete)
        self.failures = 0
        """Searches that lost a signal by an error."""

    def search(
        self,
        query: str,
        scope_id: str,
        limit: int = 5,
        mode: Mode = "auto",
        *,
        now: float | None = None,
        min_score: float | None = None,
    ) -> list[Hit]:
        """The documents of this scope that fit the query, best first; none for a greeting. Never raises.

        `min_score` stands in for the setting of that name.
        """
        deadline = time.monotonic() + self._settings.deadline
        query = query[:MAX_QUERY].strip()
        if limit < 1 or not query or is_greeting(query):
            return []
        try:
            scope = self._scope(scope_id, deadline)
            moment = datetime.fromtimestamp(time.time() if now is None else now).astimezone()
            words = () if mode == "semantic" else query_terms(query)
            period = period_of(query, moment)
            asked = None if mode == "keyword" else self._ask_vector(scope, query)
            # The query is embedded while its words are looked up.
            reading = scope.read(words)
            model, vector = self._given(asked, deadline)
            if model is not None and model.embedder.model not in scope.vectors:
                # Another model has taken over meanwhile.
                model, vector = self._given(self._ask_vector(scope, query), deadline)
            if mode == "semantic" and vector is None:
                reading = scope.read(query_terms(query))  # better by words than not at all
            outside = self._nearest_outside(scope, model, vector)
            at_least = unsquash(self._settings.min_score if min_score is None else min_score)
            with scope.lock:
                dense = self._dense(scope, model, vector, outside)
                found = scope.search(reading, dense, period, limit=limit, at_least=at_least)
            return [Hit(item.id, squash(item.order), item.matched, item.signals) for item in found]
        except Exception:  # Fail open: no recall is better than no turn.
            self.failures += 1
            _log.exception("a search failed")
            return []

    def changed(self, scope_id: str, added: Sequence[Document], removed: Sequence[str]) -> None:
        """Documents have come, changed or gone; a scope that is not in memory will read them from the corpus."""
        with self._lock:
            scope, loading = self._scopes.get(scope_id, (None, None))
        if scope is None or loading is None:
            return
        scope.change(added, removed)
        if not loading.done():
            # What the loader has read before this change may be out of date: apply it once more at the end.
            loading.add_done_callback(lambda _: scope.change(added, removed))
        if removed and scope_id in self._indexed:
            self._loaders.submit(self._unindex, scope_id, tuple(removed))
        if added:
            self._backfill.ask(scope)

    def warm(self, scope_id: str) -> None:
        """Load a scope and the model in the background, so that the first search finds them ready."""
        self._scope(scope_id, time.monotonic())

    def forget(self, scope_id: str) -> None:
        """A scope was deleted: nothing of it stays in memory or in the index."""
        with self._lock:
            entry = self._scopes.pop(scope_id, None)
        if entry is not None:
            entry[0].remove(entry[0].ids())
        self._drop_index(scope_id)

    def reindex(self, scope_id: str) -> None:
        """Throw away what is in memory and in the index; the next search builds both from the corpus."""
        with self._lock:
            self._scopes.pop(scope_id, None)
        self._drop_index(scope_id)

    def is_indexed(self, scope_id: str) -> bool:
        """Whether a scope is searched through the vector index."""
        return scope_id in self._indexed

    def status(self) -> dict[str, object]:
        """What works and what does not, for health and statistics."""
        with self._lock:
            loaded = {scope_id: len(scope) for scope_id, (scope, _) in self._scopes.items()}
            loading = sum(not future.done() for _, future in self._scopes.values())
        model = self._models.ready(self._models.current)
        return {
            "model": self._models.current,
            "dense": model is not None,
            "problem": self._models.problem,
            "scopes": len(loaded),
            "loading": loading,
            "documents": sum(loaded.values()),
            "embedded": self._backfill.embedded,
            "embedding": self._backfill.pending,
            "failures": self.failures + self._backfill.failures,
            "indexed_scopes": len(self._indexed),
            "index_problem": self._index_problem,
        }

    def close(self) -> None:
        """Stop the background work and give the index back."""
        self._backfill.close()
        self._loaders.shutdown(wait=True, cancel_futures=True)
        self._workers.shutdown(wait=True, cancel_futures=True)
        if self._index is not None:
            self._index.close()

    # -- one search

    @staticmethod
    def _dense(
        scope: Scope, model: Model | None, vector: Floats | None, outside: Mapping[str, float] | None
    ) -> Floats | None:
        """Similarity of each row, from the index or from memory."""
        if outside is not None:
            return scope.dense_of(outside)
        if model is None or vector is None:
            return None
        return scope.dense(model.embedder.model, vector)

    def _ask_vector(self, scope: Scope, query: str) -> tuple[Model, Future[Floats]] | None:
        """Have the query embedded by the model that knows most of this scope, if that is open."""
        model = self._models.ready(self._serving(scope))
        return None if model is None else (model, self._workers.submit(self._models.query, model, query))

    def _given(self, asked: tuple[Model, Future[Floats]] | None, deadline: float) -> tuple[Model | None, Floats | None]:
        """The query's vector, if it comes in time."""
        if asked is None:
            return None, None
        model, future = asked
        try:
            return model, future.result(max(deadline - time.monotonic(), 0.001))
        except TimeoutError:
            return None, None
        except Exception as error:  # The provider is down: lexical search serves.
            self.failures += 1
            _log.warning("a query could not be embedded: %s", error)
            return None, None

    def _serving(self, scope: Scope) -> str:
        """While a new model is still embedding, the old one serves."""
        current = self._models.current
        counts = {model: scope.covered(model) for model in list(scope.vectors)}
        most = max(counts, key=lambda model: counts[model], default=current)
        return most if counts.get(most, 0) > counts.get(current, 0) else current

    def _nearest_outside(self, scope: Scope, model: Model | None, vector: Floats | None) -> Mapping[str, float] | None:
        if model is None or vector is None or self._index is None or scope.scope_id not in self._indexed:
            return None
        name = model.embedder.model
        try:
            return self._index.search(scope.scope_id, name, model.reference, vector, INDEX_DEPTH)
        except Exception as error:  # Whatever a store raises: exact search serves if the vectors are in memory.
            self.failures += 1
            _log.warning("the vector index failed: %s", error)
            return None

    # -- scopes

    def _scope(self, scope_id: str, deadline: float) -> Scope:
        """The scope, loaded as far as time allows."""
        with self._lock:
            entry = self._scopes.get(scope_id)
            if entry is None:
                scope = Scope(scope_id)
                entry = self._scopes[scope_id] = (scope, self._loaders.submit(self._load, scope))
            self._scopes.move_to_end(scope_id)
            while len(self._scopes) > self._settings.scopes_in_memory:
                self._scopes.popitem(last=False)
        scope, loading = entry
        try:
            loading.result(max(deadline - time.monotonic(), 0))
        except TimeoutError:
            _log.debug("scope %s is still being loaded", scope_id)
        except Exception:
            with self._lock:
                self._scopes.pop(scope_id, None)  # read again at the next search
            raise
        return scope

    def _load(self, scope: Scope) -> None:
        documents = iter(self._corpus.documents(scope.scope_id))
        while batch := list(islice(documents, LOAD_BATCH)):
            scope.add(batch)
        self._load_vectors(scope)
        self._backfill.ask(scope)

    def _load_vectors(self, scope: Scope) -> None:
        counts = dict(self._corpus.models(scope.scope_id))
        current = self._models.current
        for model_name in sorted(counts, key=lambda name: (name != current, -counts[name])):
            if model_name != current and counts[model_name] <= counts.get(current, 0):
                continue
            model = self._models.open(model_name)
            if model is None:
                continue
            stored = self._corpus.vectors(scope.scope_id, model_name)
            vectors = {key: np.frombuffer(raw, "<f4").astype(np.float32) for key, raw in stored.items()}
            scope.attach(model_name, model.reference)
            scope.put_vectors(model_name, vectors)
            self._index_vectors(scope, model, vectors)

    def _complete(self, scope: Scope, model: str) -> None:
        """A model has embedded all of a scope: what it replaces goes."""
        for other in [name for name in list(scope.vectors) if name != model]:
            scope.detach(other)
        for other in self._corpus.models(scope.scope_id):
            if other != model:
                self._corpus.drop_vectors(scope.scope_id, other)

    # -- the index for large scopes

    def _index_vectors(self, scope: Scope, model: Model, vectors: Mapping[str, Floats]) -> None:
        """Write to the index what a scope that is too large for exact search has got."""
        name = model.embedder.model
        if name != self._models.current or self._index_off or scope.covered(name) <= self._settings.exact_limit:
            return
        try:
            if self._index is None:
                self._index = VectorIndex(self._settings)
            if scope.scope_id not in self._indexed:
                vectors = scope.all_vectors(name)
            self._index.put(scope.scope_id, name, model.reference, vectors)
            self._indexed.add(scope.scope_id)
        except Exception as error:  # Exact search goes on: slower, not worse.
            self._index_off = True
            self._index_problem = str(error)
            self.failures += 1
            _log.warning("no vector index, large scopes are searched exactly: %s", error)

    def _unindex(self, scope_id: str, ids: Sequence[str]) -> None:
        model = self._models.ready(self._models.current)
        if model is None or self._index is None:
            return
        try:
            self._index.remove(scope_id, model.embedder.model, len(model.reference), ids)
        except Exception as error:  # The row is gone from memory already, so it cannot be found.
            self.failures += 1
            _log.warning("the vector index keeps %d removed entries: %s", len(ids), error)

    def _drop_index(self, scope_id: str) -> None:
        model = self._models.ready(self._models.current)
        if scope_id not in self._indexed or self._index is None or model is None:
            return
        self._indexed.discard(scope_id)
        self._index.drop(scope_id, model.embedder.model, len(model.reference))
