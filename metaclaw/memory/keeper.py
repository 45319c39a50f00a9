"""Keeps the memory service running beside the gateway: starts it, takes over one that runs, starts it again."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaclaw.config import expand
from metaclaw.memory.client import Place
from metaclaw_adapters.files import private_dir, write_atomic

if TYPE_CHECKING:
    import aiohttp

    from metaclaw.config import Settings

_LOOK_SECONDS = 2.0  # between two looks at a service that is not our child
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
_STEADY_SECONDS = 30.0  # a service that ran for so long was no failure to start
_END_SECONDS = 12.0
_START_SECONDS = 60.0
_LOG_BYTES = 4 << 20
_log = logging.getLogger(__name__)


class Keeper:
    """One memory service for one state folder. `problem` says in one line why it went away; empty while all is well."""

    def __init__(self, settings: Settings, config: Path, home: Path) -> None:
        self.problem = ""
        self._settings = settings
        self._config = config
        self._home = home
        self._place: Place | None = None
        self._token = ""
        self._child: asyncio.subprocess.Process | None = None

    def place(self) -> Place | None:
        """Where the service answers now."""
        return self._place

    async def run(self, session: aiohttp.ClientSession) -> None:
        """Keep it running until cancelled; then end it, if it is our child."""
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE
        try:
            while True:
                began = loop.time()
                if not await self._found(session):
                    await self._start(session)
                await self._until_gone(session)
                self._place = None
                pause = _FIRST_PAUSE if loop.time() - began > _STEADY_SECONDS else min(_LONGEST_PAUSE, pause * 2)
                _log.warning("memory is away (%s); started again in %.1f s", self.problem, pause)
                await asyncio.sleep(pause)
        finally:
            await self._end(session)

    async def _found(self, session: aiohttp.ClientSession) -> bool:
        """Whether the service of this state folder answers, proved by the token in its run file."""
        import aiohttp

        run = await asyncio.to_thread(_read_run, self._home / "run" / "sidecar.json")
        if run is None:
            return False
        host = str(run["host"]).strip("[]")
        url = f"http://{f'[{host}]' if ':' in host else host}:{run['port']}"
        try:
            async with session.get(f"{url}/health", timeout=aiohttp.ClientTimeout(total=2)) as answer:
                health = await answer.json()
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return False
        if health.get("instance") != hashlib.sha256(str(run["token"]).encode()).hexdigest()[:16]:
            return False
        self._token = str(run["token"])
        self._place, self.problem = Place(url), ""
        return True

    async def _start(self, session: aiohttp.ClientSession) -> None:
        """Start it as a child and wait until it answers; `problem` says why it doesn't."""
        environ = await asyncio.to_thread(self._environ)
        log = await asyncio.to_thread(_open_log, self._home / "logs" / "sidecar.log")
        try:
            self._child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "metaclaw_sidecar", stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
                env=environ,
            )  # fmt: skip
        finally:
            os.close(log)
        end = asyncio.get_running_loop().time() + _START_SECONDS
        while self._child.returncode is None and asyncio.get_running_loop().time() < end:
            if await self._found(session):
                _log.info("memory is kept by process %d", self._child.pid)
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._child.wait()), 0.1)

    async def _until_gone(self, session: aiohttp.ClientSession) -> None:
        if self._child is not None:
            code = await self._child.wait()
            self._child = None
            said = await asyncio.to_thread(_last_line, self._home / "logs" / "sidecar.log")
            self.problem = said.removeprefix("metaclaw-sidecar: ") or f"it ended with exit code {code}"
            return
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if not await self._found(session):
                break
        self.problem = "it no longer answers"

    async def _end(self, session: aiohttp.ClientSession) -> None:
        child, self._child, place, self._place = self._child, None, self._place, None
        if child is None or child.returncode is not None:
            return
        if place is not None:
            await self._ask_to_end(session, place)
        else:
            child.terminate()
        try:
            await asyncio.wait_for(child.wait(), _END_SECONDS)
        except TimeoutError:
            child.kill()
            await child.wait()

    async def _ask_to_end(self, session: aiohttp.ClientSession, place: Place) -> None:
        import aiohttp

        headers = {"X-MetaClaw-Token": self._token, "Content-Type": "application/json"}
        with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
            limit = aiohttp.ClientTimeout(total=3)
            async with session.post(f"{place.url}/shutdown", data=b"{}", headers=headers, timeout=limit):
                pass

    def _environ(self) -> dict[str, str]:
        """The service's environment. Nothing secret is in it: the model is asked through our own helper program."""
        memory = self._settings.memory
        helper = [sys.executable, "-m", "metaclaw.helper_process", str(self._config), "extractor"]
        file = private_dir(self._home / "run") / "sidecar.llm.json"
        write_atomic(file, json.dumps(self._llm(helper)).encode(), mode=0o600)
        given: Mapping[str, Any] = {
            "PORT": memory.port,
            "MEMORY_DIR": expand(memory.store_path),
            "RUN_DIR": self._home / "run",
            "SCOPE": memory.scope,
            "MODE": memory.retrieval_mode,
            "TOP_K": memory.top_k,
            "MAX_TOKENS": memory.max_tokens,
            "FLUSH_EVERY": memory.flush_every,
            "AUTO_EXTRACT": str(memory.auto_extract).lower(),
            "EXTRACTOR": memory.extractor,
            "AUTO_CONSOLIDATE": str(memory.auto_consolidate).lower(),
            "CONSOLIDATION_INTERVAL": memory.consolidation_interval,
            "AUTO_UPGRADE_ENABLED": str(memory.auto_upgrade_enabled).lower(),
            "AUTO_UPGRADE_INTERVAL_SECONDS": memory.auto_upgrade_interval_seconds,
            "AUTO_UPGRADE_REQUIRE_REVIEW": str(memory.auto_upgrade_require_review).lower(),
            "EMBEDDER": memory.embedder,
            "EMBEDDER_URL": memory.embedder_url,
            "EMBEDDER_KEY": memory.embedder_api_key.get_secret_value(),
            "STORE": memory.store,
            "STORE_OPTIONS": memory.store_options,
            "LLM_FILE": file,
            "LOG_LEVEL": self._settings.log.level,
        }
        own = {name: value for name, value in os.environ.items() if not name.startswith("METACLAW_SIDECAR_")}
        return own | {f"METACLAW_SIDECAR_{name}": str(value) for name, value in given.items() if value != ""}

    def _llm(self, helper: list[str]) -> dict[str, Any]:
        from metaclaw.helper_llm import HelperLlm

        return {} if HelperLlm.from_settings(self._settings, "extractor").missing() else {"command": helper}


def _read_run(path: Path) -> dict[str, Any] | None:
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        return run if {"host", "port", "token"} <= run.keys() else None
    except (OSError, ValueError, AttributeError):
        return None


def _open_log(path: Path) -> int:
    """The service's log, with one older one beside it."""
    private_dir(path.parent)
    with contextlib.suppress(OSError):
        if path.stat().st_size > _LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _last_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4096))
            lines = file.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1][:300] if lines else ""
