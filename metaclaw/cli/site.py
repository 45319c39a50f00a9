"""One MetaClaw on this machine: its state folder, its effective configuration, its gateway."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from metaclaw.cli.output import fail, note
from metaclaw.config import Loaded, Settings, home, load, make_home
from metaclaw.logs import file_of
from metaclaw.supervisor import ManagedProcess
from metaclaw.supervisor.gateway import Launch, gateway_process, recall_launch


@dataclass(frozen=True, slots=True)
class Site:
    """What a command needs to know before it touches anything."""

    home: Path
    launch: Launch
    loaded: Loaded
    environ: dict[str, str]

    @property
    def settings(self) -> Settings:
        """The effective settings, options of the launch included."""
        return self.loaded.settings

    @property
    def gateway(self) -> ManagedProcess:
        """The gateway these settings describe."""
        proxy = self.settings.proxy
        return gateway_process(self.home, Path(self.launch.config), proxy.host, proxy.port)

    @property
    def log(self) -> Path | None:
        """The gateway's log file; None when it goes to a terminal."""
        return file_of(self.settings.log, self.home)


def open_site(launch: Launch | None = None, *, read_secrets: bool = True) -> Site:
    """The site under these options, by default those of the last start. Raises ConfigError."""
    folder = make_home()
    launch = launch or recall_launch(folder) or Launch(config=str(folder / "config.yaml"))
    environ = launch.environ(os.environ)
    loaded = load(Path(launch.config), environ, read_secrets=read_secrets)
    for warning in loaded.warnings:
        note(f"warning: {warning}")
    return Site(folder, launch, loaded, environ)


def launch_options(
    config: Path | None, mode: str | None, port: int | None, log_file: str | None, *, base: Launch | None = None
) -> Launch:
    """The options of a start; what is not given comes from `base`. A configuration named by hand must exist."""
    launch = base or Launch(config=str(home() / "config.yaml"))
    if config is not None:
        chosen = config.expanduser().absolute()
        if not chosen.is_file():
            fail(f"{chosen}: no such file; `metaclaw setup` writes a configuration", code=2)
        launch = replace(launch, config=str(chosen))
    if log_file:
        launch = replace(launch, log_file=log_file if log_file == "-" else str(Path(log_file).expanduser().absolute()))
    return replace(launch, mode=mode or launch.mode, port=port or launch.port)
