"""The object that owns the store, the retriever and the worker; it knows nothing of HTTP."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from .. import token_count
from ..extraction import LeanExtractor, Mem0Extractor, Model
from ..records import Job
from ..retrieval import Retriever
from ..settings import Settings
from ..store import Corpus, Database
from ..tuning import Tuner
from ..worker import Worker
from .access import Access
from .curation import Curation
from .follow import Follow
from .intake import Intake
from .recall import Recall
from .transfer import Transfer
from .upkeep import Upkeep

STORE_FILE = "memory.sqlite3"
_log = logging.getLogger(__name__)


class Service:
    """One memory folder. Whoever opens it holds its lock (see `process`)."""

    def __init__(self, settings: Settings) -> None:
        """Open the store, which takes milliseconds; everything heavy comes later. Raises StoreError.

        Belongs to the running event loop.
        """
        self.settings = settings
        self._database = Database(settings.memory_dir / STORE_FILE)
        corpus = Corpus(self._database)
        self._retriever = Retriever(corpus, settings.retrieval())
        self._model = Model(settings.llm) if settings.llm.configured and settings.auto_extract else None
        self._access = Access(self._database, self._retriever)
        self.follow = Follow(self._access)
        self.upkeep = Upkeep(self._access, corpus, self._retriever, settings)
        kind = Mem0Extractor if settings.extractor == "mem0" else LeanExtractor
        extractor = kind(self._model) if self._model else None
        self._worker = Worker(self._database, self._retriever, extractor, finished=self._job_ended)
        self.intake = Intake(self._access, self._worker, settings, self.upkeep.session_ended)
        self.recall = Recall(self._access, self._retriever, settings)
        self.curation = Curation(self._access)
        self.transfer = Transfer(self._access, settings.scope)
        self.tuner = Tuner(settings, settings.memory_dir / STORE_FILE, self.recall.adopt)
        self._access.on_events(self.follow.told)

    async def start(self) -> None:
        """Take up the work that was left, and load what the first recall needs in the background."""
        self._worker.start()
        self.upkeep.start(self.intake.take_up_left)
        self.tuner.start()
        self._retriever.warm(self.settings.scope)
        self._warming = asyncio.create_task(self._access.run_long(_warm_tokenizer))

    async def release(self) -> None:
        """The end is near: let go who follows events or waits for a job."""
        self.follow.end()
        await self._worker.release()

    async def stop(self) -> None:
        """Stop the work at hand, which is taken up at the next start, and close the store."""
        await self.release()
        await self._worker.stop()
        await self.upkeep.stop()
        await self.tuner.stop()
        await asyncio.to_thread(self._close)

    async def health(self) -> dict[str, Any]:
        """What works, what doesn't and why."""
        held, given_up = await self.upkeep.memories_held()
        status = self._retriever.status()
        problems = [str(status[name]) for name in ("problem", "index_problem") if status[name]]
        if given_up:
            jobs = "job has" if given_up == 1 else "jobs have"
            problems.append(f"{given_up} extraction {jobs} failed: GET /jobs?state=failed shows why, and can retry")
        return {
            "memories": held,
            "scope": self.settings.scope,
            "search": "hybrid" if status["dense"] else "lexical",
            "extraction": self.extraction,
            "problems": problems,
        }

    @property
    def extraction(self) -> str:
        """What becomes of turns: "model", "verbatim" or "off"."""
        if not self.settings.auto_extract:
            return "off"
        return "model" if self._model else "verbatim"

    async def statistics(self, scope_id: str) -> dict[str, Any]:
        """A scope in numbers, with what extraction has cost since the start."""
        counted = await self.upkeep.statistics(scope_id)
        model = self._model
        cost = {"calls": model.calls if model else 0, "tokens": model.tokens if model else 0}
        return counted | {"extraction": cost | {"failed": self._worker.failed}}

    def _job_ended(self, job: Job) -> None:
        self.upkeep.job_ended(job)

    def _close(self) -> None:
        self.recall.close()
        self._access.close()
        self._retriever.close()
        self._database.close()


def _warm_tokenizer() -> None:
    try:
        token_count.count("")
    except Exception:  # the first recall says so again
        _log.exception("the tokenizer can't be loaded")
