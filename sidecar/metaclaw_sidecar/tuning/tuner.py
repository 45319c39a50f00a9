"""Tunes while nobody looks; puts nothing in force that has not proved itself, nor without a yes where one is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import Refused
from ..files import private_dir
from ..records import iso
from ..settings import Settings
from .policy import Policy, candidates
from .record import Record
from .verdict import judge

_PATIENCE = 1800.0
_log = logging.getLogger(__name__)


class Tuner:
    """Belongs to the running event loop; `adopt` puts settings in force."""

    def __init__(self, settings: Settings, store: Path, adopt: Callable[[Settings], None]) -> None:
        self._settings = settings
        self._store = store
        self._adopt = adopt
        self._file = settings.memory_dir / "tuning.json"
        self._copies = settings.memory_dir / "tuning"
        self._record = Record.load(self._file, Policy.of(settings))
        self._running = asyncio.Lock()
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Put in force what was decided before, and tune from time to time if that is wanted."""
        shutil.rmtree(self._copies, ignore_errors=True)  # what a killed process left
        if self._record.current is not None:
            self._adopt(self._record.current.within(self._settings))
        if self._settings.auto_upgrade_enabled:
            self._loop = asyncio.create_task(self._tune_on())

    async def stop(self) -> None:
        """Leave off."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)

    def status(self) -> dict[str, Any]:
        """What is in force, what waits for a yes, what was measured."""
        record = self._record
        return {
            "enabled": self._settings.auto_upgrade_enabled,
            "require_review": self._settings.auto_upgrade_require_review,
            "interval_seconds": self._settings.auto_upgrade_interval_seconds,
            "state": "running" if self._running.locked() else "proposed" if record.proposed else "idle",
            "current": asdict(record.in_force),
            "proposed": asdict(record.proposed) if record.proposed else None,
            "last": record.last,
            "history": record.history[::-1],
        }

    async def run(self) -> bool:
        """Measure once; False when a run is under way, or there is too little to measure."""
        if self._running.locked():
            return False
        async with self._running:
            policies = candidates(self._record.in_force)
            measured = await self._measure(policies)
            self._conclude(policies, measured)
        return bool(self._record.last and self._record.last["turns"])

    def approve(self) -> dict[str, Any]:
        """Put in force what waits. Raises Refused when nothing does."""
        if self._record.proposed is None:
            raise Refused("nothing waits for a yes")
        self._promote(self._record.proposed, "approved")
        return self.status()

    def reject(self) -> dict[str, Any]:
        """Drop what waits. Raises Refused when nothing does."""
        if self._record.proposed is None:
            raise Refused("nothing waits for a yes")
        self._note("rejected", self._record.proposed)
        self._record.proposed = None
        self._record.save(self._file)
        return self.status()

    def rollback(self) -> dict[str, Any]:
        """Back to what was in force before. Raises Refused when that is the configuration already."""
        if self._record.current is None:
            raise Refused("what is configured is in force: there is nothing to go back to")
        self._record.current = self._record.previous.pop() if self._record.previous else None
        self._note("rolled back", self._record.in_force)
        self._record.save(self._file)
        self._adopt(self._record.in_force.within(self._settings))
        return self.status()

    def _conclude(self, policies: Sequence[Policy], measured: dict[str, dict[int, list[float]]]) -> None:
        verdict = judge(measured["tuned_on"], measured["held_out"])
        chosen = policies[verdict.chosen]
        self._record.last = {"at": iso(time.time()), "policy": asdict(chosen)} | asdict(verdict)
        if not verdict.better:
            self._record.save(self._file)
        elif self._settings.auto_upgrade_require_review:
            self._record.proposed = chosen
            self._note("proposed", chosen, before=verdict.before, after=verdict.after)
            self._record.save(self._file)
        else:
            self._promote(chosen, "promoted", before=verdict.before, after=verdict.after)
        _log.info("tuned on %s turns: %s", verdict.turns, verdict.reason)

    def _promote(self, policy: Policy, how: str, **measured: float) -> None:
        record = self._record
        if record.current is not None:
            record.previous.append(record.current)
        record.current, record.proposed = policy, None
        self._note(how, policy, **measured)
        record.save(self._file)
        self._adopt(policy.within(self._settings))

    def _note(self, what: str, policy: Policy, **measured: float) -> None:
        self._record.history.append({"at": iso(time.time()), "what": what, "policy": asdict(policy), **measured})

    async def _measure(self, policies: Sequence[Policy]) -> dict[str, dict[int, list[float]]]:
        """Worths of the policies, from a process that works on a copy. Raises Refused when it fails."""
        retrieval = self._settings.retrieval()
        known = ("embedder", "embedder_url", "embedder_key", "min_score")
        private_dir(self._copies)
        with tempfile.TemporaryDirectory(dir=self._copies) as folder:
            asked = {
                "source": str(self._store), "folder": folder, "budget": self._settings.max_tokens,
                "policies": [asdict(policy) for policy in policies],
                "retrieval": {name: getattr(retrieval, name) for name in known},
            }  # fmt: skip
            answer = await self._ask(json.dumps(asked).encode())
        return {
            half: {int(number): worths for number, worths in answer[half].items()} for half in ("tuned_on", "held_out")
        }

    async def _ask(self, request: bytes) -> dict[str, Any]:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "metaclaw_sidecar.tuning.child",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            output, _ = await asyncio.wait_for(child.communicate(request), _PATIENCE)
            return dict(json.loads(output))
        except (ValueError, TimeoutError):
            raise Refused(f"the replay did not end well (exit code {child.returncode}); nothing was changed") from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()

    async def _tune_on(self) -> None:
        while True:
            await asyncio.sleep(self._settings.auto_upgrade_interval_seconds)
            if self._record.proposed is None:  # else somebody has to say yes or no first
                with contextlib.suppress(Refused):
                    await self.run()
