"""`metaclaw uninstall`: says what it will do, asks, gives every agent back, packs up, removes."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import typer

from metaclaw.cli.connect import disconnect, wired_agents
from metaclaw.cli.output import fail, note, say
from metaclaw.config import ConfigError, Secrets, Settings, expand, home, load
from metaclaw.supervisor import Running, observe, stop
from metaclaw.supervisor.gateway import any_gateway
from metaclaw.supervisor.hosts import host_of
from metaclaw.supervisor.removal import (
    Package,
    installed_package,
    own_entries,
    pack,
    remove_entries,
    worth_keeping,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that will be done."""

    home: Path
    running: int  # pid of the gateway, 0 when none runs
    agents: tuple[str, ...]
    learned: tuple[Path, ...]  # folders with skills and memories
    elsewhere: tuple[str, ...]  # what is kept outside the state folder, and stays
    entries: tuple[Path, ...]
    secrets: tuple[str, ...]
    package: Package


def uninstall(
    yes: bool = typer.Option(False, "-y", "--yes", help="Ask nothing. What was learned goes into an archive."),
    archive: Path | None = typer.Option(None, "--archive", metavar="FILE", help="Where the archive goes (.tar.gz)."),
    no_archive: bool = typer.Option(False, "--no-archive", help="Make no archive of skills and memories."),
    keep_state: bool = typer.Option(False, "--keep-state", help="Give the agents back, and leave the rest."),
    keep_package: bool = typer.Option(False, "--keep-package", help="Leave the program installed."),
) -> None:
    """Undo every change to every agent, then remove state and program."""
    plan = look_around()
    _tell(plan, keep_state=keep_state, keep_package=keep_package)
    if not yes:
        if not sys.stdin.isatty():
            fail("there is no terminal to ask in: give --yes", code=2)
        typer.confirm("Do this?", abort=True, err=True)
    give_back(plan)  # first, so that no agent asks a gateway that is gone
    if plan.running:
        say(f"the gateway is stopped (pid {stop(any_gateway(plan.home), force=yes).pid})")
    if keep_state:
        return
    if plan.learned and not no_archive:
        _archive(plan, archive, ask=not yes and archive is None)
    _remove_state(plan)
    if not keep_package:
        _remove_package(plan.package)


def look_around() -> Plan:
    """What there is to undo and remove. Works with a broken configuration too."""
    folder = home()
    found = observe(any_gateway(folder))
    try:
        settings = load(read_secrets=False).settings
    except ConfigError as error:
        note(f"note: {error}; only what is in {folder} is looked at")
        settings = Settings()
    learned = worth_keeping([expand(settings.skills.dir), expand(settings.memory.store_path)])
    outside = [str(item) for item in learned if not item.is_relative_to(folder)]
    if settings.journal.url:
        outside.append(f"the journal at {host_of(settings.journal.url) or settings.journal.url}")
    return Plan(
        home=folder,
        running=found.run.pid if isinstance(found, Running) else 0,
        agents=tuple(wired_agents(folder)),
        learned=tuple(learned),
        elsewhere=tuple(outside),
        entries=tuple(own_entries(folder)),
        secrets=tuple(Secrets().names()),
        package=installed_package(),
    )


def give_back(plan: Plan) -> None:
    """Undo the changes to every agent; if one can't be, nothing is removed, since its originals are in the state."""
    from metaclaw.channels import ChannelError
    from metaclaw.cli.wechat import part_with_wechat

    failed = []
    try:
        for text in part_with_wechat(plan.home):
            say(text)
    except ChannelError as error:
        say(f"WeChat: {error}")
        failed.append("WeChat")
    for line in disconnect(plan.home, plan.agents):
        say(f"{line.name}: {line.detail}")
        if line.state == "failed":
            failed.append(line.name)
    if failed:
        fail(f"{', '.join(failed)} could not be given back; nothing was removed, so that this can be tried again")


def _tell(plan: Plan, *, keep_state: bool, keep_package: bool) -> None:
    say("This will:")
    for name in plan.agents:
        say(f"  undo every change to {name}; your own later edits stay")
    if plan.running:
        say(f"  stop the gateway (pid {plan.running})")
    if keep_state:
        return
    if plan.entries:
        names = ", ".join(entry.name for entry in plan.entries if not entry.name.startswith("."))
        say(f"  remove from {plan.home}: {names}")
    if plan.secrets:
        say(f"  forget the secrets {', '.join(plan.secrets)}")
    for place in plan.elsewhere:
        say(f"  leave {place}, which is outside {plan.home}")
    if not keep_package:
        say(f"  remove the program: {plan.package.told}")


def _archive(plan: Plan, target: Path | None, *, ask: bool) -> None:
    if target is None:
        target = Path.home() / f"metaclaw-archive-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz"
    names = " and ".join(folder.name for folder in plan.learned)
    if ask and not typer.confirm(f"Keep an archive of {names} at {target}?", default=True, err=True):
        return
    try:
        say(f"{names}: kept in {pack(plan.learned, target.expanduser())}")
    except OSError as error:
        fail(f"{target}: {error.strerror}; nothing was removed. `--archive FILE` puts it elsewhere")


def _remove_state(plan: Plan) -> None:
    store = Secrets()
    for name in plan.secrets:
        try:
            store.delete(name)
        except ConfigError as error:
            note(f"note: {error}")
    left = remove_entries(own_entries(plan.home), plan.home)
    say(f"{plan.home} is {'emptied of what MetaClaw wrote' if left else 'removed'}")
    if left:
        note(f"note: not MetaClaw's, and left there: {', '.join(item.name for item in left)}")


def _remove_package(package: Package) -> None:
    if not package.command:
        say(f"The program: {package.told}")
        return
    try:
        done = subprocess.run(package.command, capture_output=True, text=True, encoding="utf-8", check=False)
    except OSError:
        done = None
    if done is None or done.returncode:
        say(f"The program is still installed; this removes it: {package.told}")
    else:
        say("The program is removed.")
