"""Who owns a folder: locks that the kernel frees however their holder ends, and the file that says where it listens."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .errors import InUse
from .files import private_dir, write_atomic
from .settings import Settings

NAME = "sidecar"


@dataclass(frozen=True, slots=True)
class Run:
    """What the run file says."""

    pid: int
    host: str
    port: int
    token: str = field(repr=False)
    started_at: float = 0.0
    version: str = ""

    @property
    def url(self) -> str:
        """Where the service answers, for a program on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - reached by loopback
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


@contextlib.contextmanager
def owned(settings: Settings) -> Iterator[None]:
    """Hold the memory folder and the state folder's place for a memory service. Raises InUse."""
    from filelock import FileLock, Timeout

    places = (
        (private_dir(settings.run_dir) / f"{NAME}.lock", f"another memory service runs for {settings.run_dir.parent}"),
        (
            private_dir(settings.memory_dir) / "owner.lock",
            f"another process holds the memories in {settings.memory_dir}",
        ),
    )
    with contextlib.ExitStack() as held:
        for path, problem in places:
            lock = FileLock(path, timeout=1, mode=0o600)  # who looks whether it is held holds it for an instant
            try:
                lock.acquire()
            except Timeout:
                raise InUse(f"{problem}{_holder(settings)}: stop it, or name another folder") from None
            held.callback(lock.release)
        yield


def _holder(settings: Settings) -> str:
    run = read_run(settings.run_dir)
    return f" (pid {run.pid}, {run.url})" if run else ""


@contextlib.contextmanager
def announced(run_dir: Path, run: Run) -> Iterator[None]:
    """Say in the run file who we are and where we listen, as long as that is so."""
    path = run_dir / f"{NAME}.json"
    write_atomic(path, json.dumps(asdict(run)).encode())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def read_run(run_dir: Path) -> Run | None:
    """What the run file says; None when there is none, or it is not whole."""
    try:
        value = json.loads((run_dir / f"{NAME}.json").read_text(encoding="utf-8"))
        return Run(**{name: value[name] for name in ("pid", "host", "port", "token", "started_at", "version")})
    except (OSError, ValueError, KeyError, TypeError):
        return None
