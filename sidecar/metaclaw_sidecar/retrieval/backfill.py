"""Embeds what has no vector yet, in one background thread of low priority."""

import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping

from .columns import Floats
from .documents import Corpus
from .models import Model, Models
from .scope import Scope

BATCH = 16
LONGEST_WAIT = 300.0
_log = logging.getLogger(__name__)


class Backfill:
    """Works through scopes that asked for it; a failing model is tried again after ever longer waits."""

    def __init__(
        self,
        corpus: Corpus,
        models: Models,
        on_vectors: Callable[[Scope, Model, Mapping[str, Floats]], None],
        on_complete: Callable[[Scope, str], None],
    ) -> None:
        self._corpus, self._models = corpus, models
        self._on_vectors, self._on_complete = on_vectors, on_complete
        self._scopes: queue.SimpleQueue[Scope | None] = queue.SimpleQueue()
        self._waiting: set[str] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._busy = threading.Event()
        self.embedded = 0
        self.failures = 0
        self._thread = threading.Thread(target=self._run, name="metaclaw-embedding", daemon=True)
        self._thread.start()

    def ask(self, scope: Scope) -> None:
        """Embed what this scope lacks, some time soon."""
        with self._lock:
            if scope.scope_id in self._waiting or self._stopped.is_set():
                return
            self._waiting.add(scope.scope_id)
        self._scopes.put(scope)

    @property
    def pending(self) -> int:
        """Scopes that wait, or are being worked on."""
        with self._lock:
            return len(self._waiting) + self._busy.is_set()

    def close(self, timeout: float = 5.0) -> None:
        """Stop after the text at hand."""
        self._stopped.set()
        self._scopes.put(None)
        self._thread.join(timeout)

    def _run(self) -> None:
        _lower_priority()
        wait = 1.0
        while (scope := self._scopes.get()) is not None and not self._stopped.is_set():
            self._busy.set()
            with self._lock:
                self._waiting.discard(scope.scope_id)
            try:
                self._fill(scope)
                wait = 1.0
            except Exception as error:  # Fail open: the scope stays lexical for now, and is tried again.
                self.failures += 1
                _log.warning("embedding is put off for %.0f s: %s", wait, error)
                if self._stopped.wait(wait):
                    return
                wait = min(wait * 2, LONGEST_WAIT)
                self.ask(scope)
            finally:
                self._busy.clear()

    def _fill(self, scope: Scope) -> None:
        model = self._models.open(self._models.current)
        if model is None:
            return
        name = model.embedder.model
        scope.attach(name, model.reference)
        while not self._stopped.is_set():
            documents = scope.without_vector(name, BATCH)
            if not documents:
                self._on_complete(scope, name)
                return
            rows = model.embedder.passages([document.text for document in documents])
            vectors = {document.id: row for document, row in zip(documents, rows, strict=True)}
            texts = {document.id: document.text for document in documents}
            self._corpus.put_vectors(
                scope.scope_id, name, rows.shape[1], {key: row.astype("<f4").tobytes() for key, row in vectors.items()}
            )
            scope.put_vectors(name, vectors, texts)
            self._on_vectors(scope, model, vectors)
            self.embedded += len(documents)
            time.sleep(0)  # lets a waiting search go first


def _lower_priority() -> None:
    """Searches go before embedding; only Linux knows priorities of threads."""
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        except OSError:
            _log.debug("the embedding thread keeps its priority")
