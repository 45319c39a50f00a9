"""The embedding models in use: opened in the background, with the reference of each, and query vectors kept a while."""

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass

from .columns import Floats
from .embedding import Embedder, EmbedderUnavailable, model_id, open_embedder, reference_of
from .settings import RetrievalSettings

KEPT_QUERIES = 256
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Model:
    """An embedder that works, and the mean of texts about nothing in particular."""

    embedder: Embedder
    reference: Floats


class Models:
    """Opens models by name or stored id; safe from any thread."""

    def __init__(self, settings: RetrievalSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        # Of its own: opening a model takes seconds.
        self._remembering = threading.Lock()
        self._open: dict[str, Model] = {}
        self._queries: OrderedDict[tuple[str, str], Floats] = OrderedDict()
        self.problem = ""
        """Why the configured model does not work, if it does not."""

    @property
    def current(self) -> str:
        """The id of the configured model."""
        return model_id(self._settings.embedder)

    def ready(self, model: str) -> Model | None:
        """The model, if it is open already."""
        return self._open.get(model)

    def open(self, model: str) -> Model | None:
        """Open a model: slow the first time. None when it cannot be used."""
        with self._lock:
            if model in self._open:
                return self._open[model]
            try:
                embedder = open_embedder(model, url=self._settings.embedder_url, key=self._settings.embedder_key)
                opened = Model(embedder, reference_of(embedder))
            except Exception as error:  # A provider fails in its own ways; search goes on without vectors.
                if model == self.current and str(error) != self.problem:
                    self.problem = str(error)
                    level = logging.INFO if isinstance(error, EmbedderUnavailable) else logging.WARNING
                    _log.log(level, "no dense search: %s", error)
                return None
            if model == self.current:
                self.problem = ""
            self._open[model] = opened
            return opened

    def query(self, model: Model, text: str) -> Floats:
        """Embed a query, or remember it from lately."""
        key = (model.embedder.model, text)
        with self._remembering:
            if key in self._queries:
                return self._queries[key]
        vector = model.embedder.query(text)
        with self._remembering:
            self._queries[key] = vector
            while len(self._queries) > KEPT_QUERIES:
                self._queries.popitem(last=False)
        return vector
