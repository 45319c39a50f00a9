"""The gateway as a background process, and the options it was started with."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from metaclaw.supervisor.process import ManagedProcess
from metaclaw_adapters.files import private_dir, write_atomic

EXIT_MEANINGS = {1: "it could not start", 3: "it could not listen", 4: "the configuration is not valid"}
TERMINAL = "-"


@dataclass(frozen=True, slots=True)
class Launch:
    """What `metaclaw start` was told beyond the configuration file; `restart` uses it again."""

    config: str
    mode: str = ""
    port: int = 0
    log_file: str = ""

    def environ(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment that carries these options to the gateway."""
        given = {
            "METACLAW_MODE": self.mode,
            "METACLAW_PROXY_PORT": str(self.port or ""),
            "METACLAW_LOG_FILE": self.log_file,
        }
        return {**base, **{name: value for name, value in given.items() if value}}


def gateway_process(home: Path, config: Path, host: str, port: int) -> ManagedProcess:
    """The gateway of this state folder."""
    return ManagedProcess(
        name="gateway",
        title="the gateway",
        command=(sys.executable, "-m", "metaclaw.gateway", "--config", str(config)),
        run_dir=home / "run",
        boot_log=home / "logs" / "gateway.out",
        host=host,
        port=port,
        exit_meanings=EXIT_MEANINGS,
    )


def any_gateway(home: Path) -> ManagedProcess:
    """The gateway of this state folder for whoever only looks for it or stops it: no configuration is needed."""
    return gateway_process(home, home / "config.yaml", "127.0.0.1", 0)


def remember(home: Path, launch: Launch) -> None:
    """Keep the options of a start."""
    folder = private_dir(home / "run")
    write_atomic(folder / "gateway.launch.json", json.dumps(asdict(launch)).encode(), mode=0o600)


def recall_launch(home: Path) -> Launch | None:
    """The options of the last start; None when there was none."""
    try:
        return Launch(**json.loads((home / "run" / "gateway.launch.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
