"""Everything the gateway's process holds: built from the configuration, started and stopped together."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from metaclaw.config import Loaded, expand, home
from metaclaw.gateway.capture import Recorder
from metaclaw.gateway.learning import LOOK_SECONDS, try_skills, write_skills
from metaclaw.gateway.memory_source import MemorySource
from metaclaw.gateway.metrics import Metrics
from metaclaw.gateway.other_calls import OtherCalls
from metaclaw.gateway.recall import Recall, Source
from metaclaw.gateway.sessions import Live, SessionTable
from metaclaw.gateway.skill_source import SkillSource
from metaclaw.gateway.turn import Turns
from metaclaw.gateway.upstream.passthrough import Connections
from metaclaw.gateway.upstream.routed import Routed
from metaclaw.gateway.upstream.selection import build_dispatcher
from metaclaw.helper_llm import HelperLlm
from metaclaw.journal import Injection, Journal, JournalError, Session, SessionEnd, sqlite_url
from metaclaw.memory import Feeder, Keeper, MemoryClient, MemoryDown, Place
from metaclaw.skills import Library
from metaclaw_adapters.files import private_dir

_SWEEP_SECONDS = 15.0
_FEED_SECONDS = 3.0
_TELL_SECONDS = 30.0
_WINDOW_SECONDS = 600.0
_log = logging.getLogger(__name__)


class NoJournal:
    """Stands in when the journal can't be opened: nothing is recorded, every answer still goes out."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def append(self, item: object) -> Future[None]:
        """Fails, and is counted as a failure."""
        future: Future[None] = Future()
        future.set_exception(JournalError(self.reason))
        return future

    def session(self, session_id: str) -> Session | None:
        """Nothing is known."""
        return None

    def chains(self, session_id: str) -> list[bytes]:
        """Nothing is known."""
        return []

    def injections(self, session_id: str) -> list[Injection]:
        """Nothing is known."""
        return []

    def find_by_chain(self, chains: Sequence[bytes]) -> list[tuple[bytes, Session]]:
        """Nothing is known."""
        return []


class Services:
    """The rooms behind the gateway's routes."""

    def __init__(self, loaded: Loaded, token: str, *, clock: Callable[[], float] = time.time) -> None:
        self.loaded = loaded
        self.settings = loaded.settings
        self.token = token
        self.clock = clock
        self.pid = os.getpid()
        self.instance = hashlib.sha256(token.encode()).hexdigest()[:16]
        self.metrics = Metrics()
        self.journal: Journal | None = None
        self.library: Library | None = None
        self.skills: SkillSource | None = None
        self.problems: dict[str, str] = {}
        self.memory: MemoryClient | None = None
        self.feeder: Feeder | None = None
        self._keeper: Keeper | None = None
        self.learning = ""  # why nothing is learned; empty when skills are written from sessions
        self._wake = asyncio.Event()  # a session has ended
        self._turned = asyncio.Event()  # a turn has been written, or a session has ended
        self.shut_down: Callable[[], None] = lambda: None
        self._tasks: list[asyncio.Task[None]] = []
        self._started = False
        self._window = 0
        self._window_asked = -_WINDOW_SECONDS
        self._unwritten = 0
        self._unwritten_told = -_TELL_SECONDS

    async def start(self) -> None:
        """Open what can be opened; what can't is told and the rest runs."""
        settings = self.settings
        llm = settings.llm
        self.connections = Connections(
            connect_timeout=llm.connect_timeout_seconds, idle_timeout=llm.idle_timeout_seconds
        )
        self.dispatcher = build_dispatcher(settings, self.connections, self.metrics)
        self.sessions = SessionTable(self.clock)
        journal = await self._open_journal()
        sources: list[Source] = []
        if settings.skills.enabled:
            sources += await self._open_skills()
        if settings.memory.enabled:
            sources.append(self._open_memory())
        self.recorder = Recorder(journal, asyncio.get_running_loop(), self._noted, self._not_written)
        recall = Recall(
            sources, self.metrics, position=settings.recall.position, deadline=settings.recall.deadline_ms / 1000
        )
        self.turns = Turns(
            dispatcher=self.dispatcher,
            recall=recall,
            sessions=self.sessions,
            recorder=self.recorder,
            journal=journal,
            metrics=self.metrics,
            default_scope=settings.memory.scope,
            max_tokens=settings.max_context_tokens,
            commit_wait=settings.journal.commit_wait_ms / 1000,
            end_session=self.end_session,
            answered=self._answered,
            clock=self.clock,
        )
        self.other_calls = OtherCalls(self.dispatcher, self.sessions, recall, self.metrics, settings.memory.scope)
        self._spawn(self._sweep())
        self._start_learning()
        for target in self.dispatcher.targets:
            for upstream in target.upstreams:
                if isinstance(upstream, Routed):
                    self._spawn(upstream.warm())
        self._started = True

    async def stop(self) -> None:
        """Finish what is queued and close everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.skills is not None:
            await asyncio.to_thread(self.skills.close)
        if self.journal is not None:
            await asyncio.to_thread(self.journal.close)
        await self.dispatcher.aclose()
        await self.connections.aclose()

    def waiting_for(self) -> list[str]:
        """What is not up yet; empty when ready."""
        waiting = [] if self._started else ["start"]
        if self.skills is not None and not self.skills.ready and "skills" not in self.problems:
            waiting.append("skills")
        return waiting

    def journal_or_503(self) -> Journal:
        """The journal, for routes that need it."""
        if self.journal is None:
            from fastapi import HTTPException

            raise HTTPException(503, f"the journal is not available: {self.problems.get('journal', 'starting')}")
        return self.journal

    def end_session(self, session_id: str, reason: str) -> Future[None]:
        """Write down that a session has ended, and let it out of RAM."""
        self.sessions.drop(session_id)
        item = SessionEnd(session_id, reason, self.clock())
        if self.journal is None:
            return NoJournal("no journal").append(item)
        future = self.journal.append(item)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._ended))
        return future

    async def models(self) -> list[dict[str, Any]]:
        """The model list that clients are shown."""
        llm = self.settings.llm
        entry: dict[str, Any] = {
            "id": llm.model_id or "metaclaw",
            "object": "model",
            "created": int(self.loaded.path.stat().st_mtime) if self.loaded.exists else 0,
            "owned_by": llm.provider,
        }
        if not llm.model_id and (live := await self._live_models()):
            return [{**entry, "id": name} | ({"context_length": size} if size else {}) for name, size in live]
        window = await self._context_window()
        return [{**entry, "context_length": window} if window else entry]

    async def _live_models(self) -> list[tuple[str, int]]:
        """The upstream's models and their windows, for clients that choose by themselves; nothing when it won't say."""
        from metaclaw.model_info import ModelInfoError, list_models

        try:
            return [(model.id, model.context_window) for model in await list_models(self.settings.llm, timeout=3.0)]
        except ModelInfoError as error:
            self.metrics.count("models_failed")
            _log.warning("the upstream's model list could not be read: %s", error)
            return []

    async def _context_window(self) -> int:
        """Tokens the model takes in all, 0 when unknown; the upstream is asked now and then, not each time."""
        from metaclaw.model_info import context_window

        now = time.monotonic()
        if now - self._window_asked >= _WINDOW_SECONDS:
            self._window, self._window_asked = await context_window(self.settings), now
        return self._window

    def status(self) -> dict[str, Any]:
        """What is on, what is off and why, and the counters."""
        journal = self.journal
        return {
            "mode": self.settings.mode,
            "upstreams": [{"provider": t.name, "model": t.model_id} for t in self.dispatcher.targets],
            "problems": self.problems | self._memory_problem(),
            "learning": self.learning or "on",
            "memory": {"fed": self.feeder.fed if self.feeder is not None else 0} if self.memory is not None else None,
            "retrieval": self._retrieval(),
            "waiting_for": self.waiting_for(),
            "counters": self.metrics.snapshot(),
            "journal": {
                "written": journal.written,
                "failed": journal.failed,
                "dropped": journal.dropped,
                "queued": journal.queued,
            }
            if journal is not None
            else None,
            "skills": len([s for s in self.library.skills() if s.enabled]) if self.library is not None else 0,
        }

    def _memory_problem(self) -> dict[str, str]:
        """Why there is no memory just now; nothing when there is, or none is wanted."""
        if self.memory is None:
            return {}
        problem = (self._keeper.problem if self._keeper is not None else "") or self.memory.problem
        return {"memory": f"{problem}; turns go on without it, and are handed in later"} if problem else {}

    def _retrieval(self) -> str:
        if self.skills is None:
            return "off"
        retriever = self.skills.retriever
        return f"{retriever.mode} ({retriever.off_because})" if retriever.off_because else retriever.mode

    async def _open_journal(self) -> Journal | NoJournal:
        url = self.settings.journal.url or sqlite_url(home() / "journal.sqlite3")
        try:
            self.journal = await asyncio.to_thread(Journal.open, url)
            return self.journal
        except (JournalError, OSError) as error:
            self.problems["journal"] = str(error)
            _log.error("nothing will be recorded: %s", error)
            return NoJournal(str(error))

    async def _open_skills(self) -> list[Source]:
        try:
            folder = expand(self.settings.skills.dir)
            self.library = await asyncio.to_thread(Library, folder)
        except Exception as error:
            self.problems["skills"] = str(error)
            _log.exception("skills are off")
            return []
        cache = await asyncio.to_thread(private_dir, home() / "cache")
        self.skills = SkillSource(self.library, self.settings, cache)
        self._spawn(self._follow_skills(self.library, self.skills))
        return [self.skills]

    def _open_memory(self) -> Source:
        """The memory service, here or elsewhere; while it is away, turns go on without it."""
        memory = self.settings.memory
        if memory.sidecar_url:
            key = memory.sidecar_api_key.get_secret_value()
            elsewhere = Place(memory.sidecar_url, {"Authorization": f"Bearer {key}"} if key else {})
            self.memory = MemoryClient(lambda: elsewhere, self.connections.session)
        else:
            keeper = self._keeper = Keeper(self.settings, self.loaded.path, home())
            self.memory = MemoryClient(keeper.place, self.connections.session)
            self._spawn(keeper.run(self.connections.session("http://127.0.0.1")))
        if self.journal is not None:
            self.feeder = Feeder(self.journal, self.memory)
            self._spawn(self._feed(self.feeder))
        return MemorySource(
            self.memory, top_k=memory.top_k, max_tokens=memory.max_tokens, timeout=memory.timeout_ms / 1000
        )

    async def _feed(self, feeder: Feeder) -> None:
        """Hand finished turns to memory as they come; while it is away they wait in the journal."""
        while True:
            self._turned.clear()
            try:
                while await feeder.run_once():
                    pass
            except MemoryDown as down:
                self.metrics.count("memory_waits")
                _log.debug("turns wait for memory: %s", down)
                await asyncio.sleep(_FEED_SECONDS)
                continue
            except Exception:
                self.metrics.count("memory_failed")
                _log.exception("turns could not be handed to memory this time")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._turned.wait(), LOOK_SECONDS)

    def _noted(self, live: Live, reached: Iterable[bytes], spoken: Iterable[bytes]) -> None:
        self.sessions.note(live, reached, spoken)
        self._turned.set()

    def _ended(self) -> None:
        self._wake.set()
        self._turned.set()

    def _start_learning(self) -> None:
        settings = self.settings
        evolver = HelperLlm.from_settings(settings, "evolver")
        self.learning = "skills.auto_evolve is off" if not settings.skills.auto_evolve else evolver.missing()
        if self.library is None or self.journal is None:
            self.learning = "the skills or the journal are not available"
        if self.library is None or self.journal is None:
            return
        self._spawn(try_skills(self.library, self.journal, settings, self.metrics))
        if not self.learning:
            self._spawn(write_skills(self.library, self.journal, self.loaded, self.metrics, self._wake))

    async def _follow_skills(self, library: Library, source: SkillSource) -> None:
        try:
            await source.build()
            await library.watch(source.build)
        except Exception as error:
            self.problems["skills"] = str(error)
            self.metrics.count("skills_failed")
            _log.exception("the skills index could not be built")

    async def _sweep(self) -> None:
        """End sessions that have been idle for long enough."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            if self.journal is None:
                continue
            try:
                if self.settings.journal.retention_days:
                    oldest = self.clock() - self.settings.journal.retention_days * 86400
                    await asyncio.to_thread(self.journal.delete_before, oldest)
                before = self.clock() - self.settings.sessions.idle_minutes * 60
                for session in await asyncio.to_thread(self.journal.idle_sessions, before):
                    await asyncio.wrap_future(self.end_session(session.id, "idle"))
            except Exception:
                self.metrics.count("sweep_failed")
                _log.exception("idle sessions could not be ended")

    def _answered(self, upstream: str, status: int) -> None:
        """Remember while the key is refused, so that `metaclaw status` says it."""
        if status in (401, 403) and self.settings.llm.auth_method != "passthrough":
            self.problems["model"] = f"{upstream} refused the key ({status}): set another with `metaclaw setup`"
        elif status < 400:
            self.problems.pop("model", None)

    def _not_written(self, error: BaseException) -> None:
        self.metrics.count("journal_failed")
        self._unwritten += 1
        now = time.monotonic()
        if now - self._unwritten_told >= _TELL_SECONDS:  # one line for a burst, not one for each call
            _log.error("%d calls were not recorded: %s", self._unwritten, error)
            self._unwritten, self._unwritten_told = 0, now

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.ensure_future(work))


def new_token() -> str:
    """A run token: it proves the process on its health endpoint and opens the administration routes."""
    return secrets.token_hex(32)
