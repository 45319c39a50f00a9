"""What `start` and `status` say: one line for each thing a person asks about."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metaclaw.cli.output import cell, console, note, say, show
from metaclaw.cli.site import Site
from metaclaw.supervisor import Running, ask, base_url, members
from metaclaw.supervisor.features import Feature, features

_COLOURS = {"on": "green", "wired": "green", "failed": "red", "drifted": "yellow", "by hand": "yellow"}


@dataclass(frozen=True, slots=True)
class ClawLine:
    """How one agent stands: `state` is wired, not wired, drifted, not found or failed."""

    name: str
    state: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The state of MetaClaw on this machine."""

    running: bool
    address: str = ""
    pid: int = 0
    version: str = ""
    mode: str = ""
    started_at: float = 0.0
    memory_mb: float = 0.0
    processes: int = 0
    config: str = ""
    config_exists: bool = False
    log: str = ""
    claws: tuple[ClawLine, ...] = ()
    features: tuple[Feature, ...] = ()
    gateway: dict[str, Any] = field(default_factory=dict)  # what the running gateway says of itself
    notes: tuple[str, ...] = ()

    def noting(self, *notes: str) -> Report:
        """The same with further notes."""
        return dataclasses.replace(self, notes=(*self.notes, *notes))


def gather(site: Site, running: Running | None, *, claws: Sequence[ClawLine] = ()) -> Report:
    """Put the report together."""
    settings = site.settings
    log = str(site.log) if site.log else "the terminal of the gateway"
    report = Report(
        running=running is not None,
        mode=settings.mode,
        config=str(site.loaded.path),
        config_exists=site.loaded.exists,
        log=log,
        claws=tuple(claws),
        features=tuple(features(settings)),
    )
    if running is None:
        return report
    run, tree, live = running.run, members(running.run.pid), _live(running)
    report = dataclasses.replace(
        report,
        address=base_url(run.host, run.port),
        pid=run.pid,
        version=run.version,
        started_at=run.started_at,
        memory_mb=round(sum(member.rss_bytes for member in tree) / 1e6, 1),
        processes=len(tree),
        mode=str(live.get("mode", settings.mode)),
        gateway=live,
    )
    problems = live.get("problems")
    told = [f"{name}: {text}" for name, text in problems.items()] if isinstance(problems, dict) else []
    return report.noting(*told, *_outdated(site, running))


def print_report(report: Report, *, as_json: bool, heading: str = "") -> None:
    """Print it for a person, or as JSON."""
    if as_json:
        show(report, as_json=True)
        return
    say(f"{heading} at {report.address} (pid {report.pid}, mode {report.mode})" if report.running else heading)
    rows = [(feature.name, "on" if feature.on else "off", feature.detail) for feature in report.features]
    rows += [(claw.name, claw.state, claw.detail) for claw in report.claws]
    if report.running:
        rows.append(("uses", f"{report.memory_mb:.0f} MB", _uptime(report)))
    missing = "" if report.config_exists else " (not there yet: `metaclaw setup` writes it)"
    rows += [("config", "", report.config + missing), ("log", "", report.log)]
    grid(rows)
    for text in report.notes:
        note(f"note: {text}")


def grid(rows: Sequence[tuple[str, str, str]]) -> None:
    """Name, state and detail in columns, one line each."""
    from rich.text import Text

    names = max((len(name) for name, _, _ in rows), default=0)
    states = max((len(state) for _, state, _ in rows), default=0)
    view = console()
    for name, state, detail in rows:
        line = Text(f"  {cell(name):<{names}}  ")
        line.append(state, style=_COLOURS.get(state, ""))
        line.append(" " * (states - len(state) + 2) + cell(detail))
        view.print(line, soft_wrap=True)


def _live(running: Running) -> dict[str, Any]:
    run = running.run
    reply = ask(run.host, run.port, "/v1/admin/status", token=run.token)
    return reply.body if reply is not None and reply.status == 200 else {}


def _uptime(report: Report) -> str:
    seconds = max(0, int(time.time() - report.started_at))
    text = (
        f"{seconds // 3600} h {seconds % 3600 // 60} min"
        if seconds >= 3600
        else f"{seconds // 60} min {seconds % 60} s"
    )
    return f"in {report.processes} process{'es' if report.processes != 1 else ''}, for {text}"


def _outdated(site: Site, running: Running) -> list[str]:
    """What has changed since the gateway started."""
    from metaclaw import __version__

    found = []
    if running.run.version and running.run.version != __version__:
        found.append(f"version {running.run.version} runs, {__version__} is installed: `metaclaw restart` changes over")
    if _changed_at(site.loaded.path) > running.run.started_at:
        found.append("the configuration was changed after the start: `metaclaw restart` applies it")
    return found


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
