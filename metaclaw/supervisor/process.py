"""A background process as MetaClaw knows it: how it is started, and what it leaves for others to find it by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ManagedProcess:
    """One background process.

    It holds `lock` for life, writes `run_file` once it listens, and answers `GET health_path` with
    `{"ok": true, "pid": …, "instance": fingerprint(token)}`, so that nobody else can be taken for it.
    """

    name: str
    title: str
    command: tuple[str, ...]
    run_dir: Path
    boot_log: Path  # what it prints until its own log is open; replaced at each start
    host: str
    port: int
    health_path: str = "/healthz"
    ready_path: str = "/readyz"
    shutdown_path: str = "/v1/admin/shutdown"
    exit_meanings: Mapping[int, str] = field(default_factory=dict)

    @property
    def lock(self) -> Path:
        """The file it locks for life."""
        return self.run_dir / f"{self.name}.lock"

    @property
    def run_file(self) -> Path:
        """Where it says who it is and where it listens."""
        return self.run_dir / f"{self.name}.json"


@dataclass(frozen=True, slots=True)
class Run:
    """What a run file says."""

    pid: int
    host: str
    port: int
    token: str = field(repr=False)
    started_at: float = 0.0
    version: str = ""


def fingerprint(token: str) -> str:
    """What a process shows of its token on the health endpoint."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def read_run(path: Path) -> Run | None:
    """The run file's content; None when there is none, or it is not whole."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return Run(
            pid=int(value["pid"]),
            host=str(value["host"]),
            port=int(value["port"]),
            token=str(value["token"]),
            started_at=float(value.get("started_at", 0.0)),
            version=str(value.get("version", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
