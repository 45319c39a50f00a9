"""What runs behind the gateway to learn from ended sessions; no request waits for any of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaclaw.config import Loaded, Settings
    from metaclaw.gateway.metrics import Metrics
    from metaclaw.journal import Journal
    from metaclaw.skills import Library

LOOK_SECONDS = 20.0
_log = logging.getLogger(__name__)


async def write_skills(
    library: Library, journal: Journal, loaded: Loaded, metrics: Metrics, wake: asyncio.Event
) -> None:
    """Write skills from what ended, soon after it did (`wake`); a failure waits for the next round."""
    from metaclaw.helper_process import HelperProcess
    from metaclaw.skills.evolution import Evolver

    evolver = Evolver(library, journal, HelperProcess(loaded.path, "evolver"), loaded.settings)
    while True:
        wake.clear()
        try:
            await evolver.run_once()
        except Exception:
            metrics.count("evolution_failed")
            _log.exception("skills could not be learned this time")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wake.wait(), LOOK_SECONDS)


async def try_skills(library: Library, journal: Journal, settings: Settings, metrics: Metrics) -> None:
    """Count how sessions came out with and without the skills under test, and move on what is decided."""
    from metaclaw.skills.trials import Trials

    trials = Trials(library, journal, settings.skills.evolve)
    while True:
        try:
            await trials.run_once()
        except Exception:
            metrics.count("trials_failed")
            _log.exception("skills on trial could not be judged this time")
        await asyncio.sleep(LOOK_SECONDS)
