"""`metaclaw doctor`: gathers the facts, has them judged, prints one table."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from metaclaw import __version__
from metaclaw.cli.output import JsonFlag, cell, console, note, say, show
from metaclaw.cli.site import Site
from metaclaw.config import ConfigError, home, load, make_home
from metaclaw.supervisor import Absent, Observation, Running, holder, is_free, observe, probe
from metaclaw.supervisor import checks as judge
from metaclaw.supervisor.checks import Check
from metaclaw.supervisor.checks_upstream import check_upstream
from metaclaw.supervisor.features import features
from metaclaw.supervisor.gateway import Launch, any_gateway, recall_launch
from metaclaw.supervisor.hosts import hosts

_MEMORY_SECONDS = 10.0
_STATES = {"ok": "green", "off": "dim", "warning": "yellow", "failed": "red"}


def doctor(
    call: bool = typer.Option(False, "--call", help="Also make one real model call, which costs a few tokens."),
    json: bool = JsonFlag,
) -> None:
    """Check everything; say what to do. Exit code 1 when something failed."""
    checks = list(examine(call=call))
    if json:
        show(checks, as_json=True)
    else:
        _print(checks)
    if any(check.state == "failed" for check in checks):
        raise typer.Exit(1)


def examine(*, call: bool = False) -> Iterator[Check]:
    """Every check, in the order of the table. One that breaks is reported and doesn't stop the others."""
    folder = home()
    found = _observed(folder)
    yield judge.check_versions(__version__, sys.version_info[:3], f"{platform.system()} {platform.machine()}")
    yield _state_folder(folder)
    site, error = _site(folder, found)
    path = folder / "config.yaml" if site is None else site.loaded.path
    yield judge.check_config(str(path), path.exists(), error, site.loaded.warnings if site else ())
    yield judge.check_gateway(found, __version__)
    yield judge.check_disk(str(folder), shutil.disk_usage(_existing(folder)).free)
    if site is None:
        return
    for part in (_access, _model, _storage, _skills, _memory, _claws):
        yield from _guarded(part, site, found)
    if call:
        yield from _guarded(_call, site, found)
    yield judge.check_hosts(hosts(site.settings, os.environ))


def _observed(folder: Path) -> Observation:
    """The gateway; in a folder that can't be written none can run, and the folder's own check says so."""
    try:
        return observe(any_gateway(folder))
    except OSError:
        return Absent()


def _site(folder: Path, found: Observation) -> tuple[Site | None, str]:
    """The configuration in force: that of the running gateway, else the file's."""
    running = isinstance(found, Running)
    launch = (recall_launch(folder) if running else None) or Launch(config=str(folder / "config.yaml"))
    try:
        environ = launch.environ(os.environ)
        return Site(folder, launch, load(Path(launch.config), environ), environ), ""
    except ConfigError as error:
        return None, str(error)


def _guarded(part: Callable[[Site, Observation], Iterator[Check]], site: Site, found: Observation) -> Iterator[Check]:
    name = part.__name__.strip("_")
    try:
        yield from part(site, found)
    except Exception as error:  # a checkup reports what breaks, whatever it is
        yield Check(name, "failed", f"this check broke: {type(error).__name__}: {error}", "metaclaw logs")


def _state_folder(folder: Path) -> Check:
    try:
        make_home()
    except OSError as error:
        return judge.check_state_folder(f"{folder} ({error.strerror})", None, False)
    mode = stat.S_IMODE(folder.stat().st_mode) if os.name == "posix" else None
    return judge.check_state_folder(str(folder), mode, os.access(folder, os.W_OK))


def _access(site: Site, found: Observation) -> Iterator[Check]:
    proxy = site.settings.proxy
    ours = isinstance(found, Running) and found.run.port == proxy.port
    free = ours or is_free(proxy.host, proxy.port)
    yield judge.check_port(proxy.port, free, None if free else holder(proxy.port), ours)
    yield judge.check_exposure(site.settings)


def _model(site: Site, _found: Observation) -> Iterator[Check]:
    parts = {feature.name: feature for feature in features(site.settings)}
    yield judge.check_model(parts["model"])
    if parts["model"].on:
        yield from check_upstream(site.settings.llm, probe.ask_upstream(site.settings))
    yield judge.check_training(parts["training"])


def _storage(site: Site, _found: Observation) -> Iterator[Check]:
    from metaclaw.config.schema import keys

    yield judge.check_journal(*probe.look_at_journal(site.settings.journal.url, site.home / "journal.sqlite3"))
    names = [name for name, key in keys().items() if key.secret]
    path = site.loaded.path
    mode = stat.S_IMODE(path.stat().st_mode) if os.name == "posix" and path.exists() else None
    yield judge.check_secrets(site.loaded.origins, names, mode)


def _skills(site: Site, _found: Observation) -> Iterator[Check]:
    from metaclaw.config import expand
    from metaclaw.skills import Library

    library = Library(expand(site.settings.skills.dir))
    usable = sum(skill.enabled for skill in library.skills())
    broken = [f"{problem.path}: {problem.what}" for problem in library.problems]
    yield from judge.check_skills(usable, broken, probe.embedder(), site.settings.skills.retrieval_mode)


def _memory(site: Site, _found: Observation) -> Iterator[Check]:
    from metaclaw.cli.memory_call import call, place
    from metaclaw.memory import MemoryDown

    enabled = site.settings.memory.enabled
    where = place(site.settings, site.home) if enabled else None
    if where is None:
        yield judge.check_memory(enabled, None, {}, "")
        return
    try:
        health = call(where, "GET", "/health", timeout=_MEMORY_SECONDS).value()
        stats = call(where, "GET", "/stats", timeout=_MEMORY_SECONDS).value()
        yield judge.check_memory(enabled, health, stats.get("index", {}), "")
    except MemoryDown as down:
        yield judge.check_memory(enabled, None, {}, str(down))


def _claws(site: Site, found: Observation) -> Iterator[Check]:
    from metaclaw.cli.connect import check_claws

    yield from check_claws(site, found if isinstance(found, Running) else None)


def _call(site: Site, _found: Observation) -> Iterator[Check]:
    from metaclaw.cli.model_call import try_model

    yield try_model(site.settings)


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _print(checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    view = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("check", "state", "found", "what to do"):
        view.add_column(name, overflow="fold")
    for check in checks:
        view.add_row(check.name, Text(check.state, style=_STATES[check.state]), cell(check.detail), cell(check.remedy))
    console().print(view)
    wrong = [check.name for check in checks if check.state in ("failed", "warning")]
    note(f"look at: {', '.join(wrong)}") if wrong else say("Everything is in order.")
