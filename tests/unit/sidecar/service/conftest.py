"""A service without its wire, in the test's own loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from metaclaw_sidecar.service import Service
from metaclaw_sidecar.settings import load


@asynccontextmanager
async def opened(folder: Path, **settings: str) -> AsyncIterator[Service]:
    """A service with these METACLAW_SIDECAR_ settings, by default without embedder and model."""
    given = {"memory_dir": str(folder / "memory"), "embedder": "none", **settings}
    made = Service(load({f"METACLAW_SIDECAR_{name.upper()}": value for name, value in given.items()}, {}))
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with opened(tmp_path) as made:
        yield made
