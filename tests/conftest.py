"""Fixtures that every kind of test may use."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from tests.scripted_upstream import ScriptedUpstream

# No test, and no process that a test starts, touches the developer's own keyring.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    """A provider that answers from a script, over real HTTP."""
    with ScriptedUpstream() as server:
        yield server


@pytest.fixture
def free_port() -> int:
    """A port that was free a moment ago."""
    return unused_port()


def unused_port() -> int:
    """A port on loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
