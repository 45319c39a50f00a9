"""Real processes on free ports; whatever a test leaves behind is ended."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metaclaw.supervisor import ManagedProcess, Running, Silent, observe, tree

STAND_IN = Path(__file__).with_name("stand_in.py")
Make = Callable[..., ManagedProcess]


@pytest.fixture
def stand_in(tmp_path: Path, free_port: int) -> Iterator[Make]:
    """Describes a stand-in process with some behaviours."""
    run_dir = tmp_path / "run"
    made: list[ManagedProcess] = []

    def make(*behaviours: str) -> ManagedProcess:
        process = ManagedProcess(
            name="demo",
            title="the demo",
            command=(sys.executable, str(STAND_IN), str(run_dir), "demo", str(free_port), *behaviours),
            run_dir=run_dir,
            boot_log=tmp_path / "logs" / "demo.out",
            host="127.0.0.1",
            port=free_port,
            exit_meanings={3: "the port is taken", 4: "the configuration is not valid"},
        )
        made.append(process)
        return process

    yield make
    for process in made[-1:]:
        found = observe(process)
        pid = found.run.pid if isinstance(found, Running) else found.pid if isinstance(found, Silent) else None
        if pid:
            tree.end(tree.handles(pid), grace=0.1)
