"""A state folder of its own for every test, and no real keyring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.null import Keyring as NoKeyring

from metaclaw.config import vault


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose state folder is empty."""
    return {"METACLAW_HOME": str(tmp_path / "home")}


@pytest.fixture
def config(environ: dict[str, str]) -> Path:
    """Where the configuration file of that state folder belongs."""
    folder = Path(environ["METACLAW_HOME"])
    folder.mkdir(mode=0o700)
    return folder / "config.yaml"


@pytest.fixture(autouse=True)
def no_keyring() -> Iterator[None]:
    """No keyring, as on a server."""
    before = keyring.get_keyring()
    use_keyring(NoKeyring())
    yield
    use_keyring(before)


def use_keyring(backend: KeyringBackend) -> None:
    """Make this the system's keyring."""
    keyring.set_keyring(backend)
    vault._works.cache_clear()
