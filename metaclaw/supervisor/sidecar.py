"""The memory service as others find it. The gateway starts it and keeps it running."""

from __future__ import annotations

import sys
from pathlib import Path

from metaclaw.supervisor.process import ManagedProcess


def any_sidecar(home: Path) -> ManagedProcess:
    """The memory service of this state folder, for whoever looks for it or stops it."""
    return ManagedProcess(
        name="sidecar",
        title="the memory service",
        command=(sys.executable, "-m", "metaclaw_sidecar"),
        run_dir=home / "run",
        boot_log=home / "logs" / "sidecar.log",
        host="127.0.0.1",
        port=0,
        health_path="/health",
        shutdown_path="/shutdown",
    )
