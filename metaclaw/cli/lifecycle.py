"""`metaclaw start`, `stop`, `restart`, `status` and `logs`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import typer

from metaclaw.cli.output import JsonFlag, fail, note, say
from metaclaw.cli.report import ClawLine, Report, gather, print_report
from metaclaw.cli.site import Site, launch_options, open_site
from metaclaw.config import home
from metaclaw.supervisor import Absent, Running, Started, StartFailed, observe, tail
from metaclaw.supervisor import start as start_process
from metaclaw.supervisor import stop as stop_process
from metaclaw.supervisor.gateway import TERMINAL, Launch, any_gateway, recall_launch, remember

STOP_SECONDS = 35.0


class ModeName(StrEnum):
    """Names of the modes, `madmax` being an old one of `auto`."""

    auto = "auto"
    rl = "rl"
    skills_only = "skills_only"
    madmax = "madmax"


Mode = typer.Option(None, "--mode", help="Mode for this run; otherwise as configured.")
Port = typer.Option(None, "--port", min=1, max=65535, help="Port for this run.")
LogFile = typer.Option(None, "--log-file", metavar="PATH", help="Log file for this run.")
Config = typer.Option(None, "-c", "--config", metavar="FILE", help="Configuration file.", show_default=False)
Daemon = typer.Option(True, "--daemon/--foreground", help="Run in the background, or stay in this terminal.")
NoWire = typer.Option(False, "--no-wire", help="Leave the agents' configuration alone.")
Wechat = typer.Option(False, "--wechat-relogin", help="Log in to WeChat again.")


def start(
    mode: ModeName | None = Mode,
    port: int | None = Port,
    daemon: bool = Daemon,
    log_file: str | None = LogFile,
    config: Path | None = Config,
    wechat_relogin: bool = Wechat,
    no_wire: bool = NoWire,
    json: bool = JsonFlag,
) -> None:
    """Start in the background; returns when the gateway is healthy."""
    launch = launch_options(config, mode and mode.value, port, log_file)
    _start(launch, daemon=daemon, wire=not no_wire, json=json, relogin=wechat_relogin)


def restart(
    mode: ModeName | None = Mode,
    port: int | None = Port,
    log_file: str | None = LogFile,
    config: Path | None = Config,
    no_wire: bool = NoWire,
    force: bool = typer.Option(False, "--force", help="End requests that do not finish in time."),
    json: bool = JsonFlag,
) -> None:
    """Stop, then start again with the same options; those given here replace the earlier ones."""
    launch = launch_options(config, mode and mode.value, port, log_file, base=recall_launch(home()))
    open_site(launch, read_secrets=False)  # a broken configuration must not cost the running gateway
    _stop(force=force)
    _start(launch, daemon=True, wire=not no_wire, json=json)


def start_now() -> None:
    """Start as `metaclaw start` without options does."""
    _start(launch_options(None, None, None, None), daemon=True, wire=True, json=False)


def restart_now() -> None:
    """Restart as `metaclaw restart` without options does."""
    launch = launch_options(None, None, None, None, base=recall_launch(home()))
    say(_stop(force=False))
    _start(launch, daemon=True, wire=True, json=False)


def stop(
    force: bool = typer.Option(False, "--force", help="End requests that do not finish in time."),
    json: bool = JsonFlag,
) -> None:
    """Finish running requests, flush, stop."""
    text = _stop(force=force)
    print_report(Report(running=False), as_json=True) if json else say(text)


def status(json: bool = JsonFlag) -> None:
    """What runs, what is on, what is off and why. Exit code 1 when nothing runs."""
    from metaclaw.cli.connect import look
    from metaclaw.cli.wechat import look_wechat

    found = observe(any_gateway(home()))
    running = found if isinstance(found, Running) else None
    site = open_site()
    report = gather(site, running, claws=[*look(site, running), *look_wechat(site)])
    if running is not None:
        print_report(report, as_json=json, heading="MetaClaw is running")
        return
    if not isinstance(found, Absent):
        report = report.noting("the gateway holds its lock but does not answer: it is starting, stopping or stuck")
    print_report(report, as_json=json, heading="MetaClaw is not running")
    raise typer.Exit(1)


def logs(
    follow: bool = typer.Option(False, "-f", "--follow", help="Keep printing what is added."),
    lines: int = typer.Option(50, "-n", "--lines", min=0, help="How many of the last lines."),
) -> None:
    """Show the end of the log."""
    from metaclaw.cli.log_tail import follow_file, last_lines

    site = open_site(read_secrets=False)
    if site.log is None:
        fail("the log goes to the terminal of the gateway (log.file is `-`)")
    if not site.log.exists() and not follow:
        fail(f"no log yet at {site.log}: it begins with `metaclaw start`")
    for line in last_lines(site.log, lines):
        say(line)
    if follow:
        for line in follow_file(site.log):
            say(line)


def _start(launch: Launch, *, daemon: bool, wire: bool, json: bool, relogin: bool = False) -> None:
    if not daemon and not launch.log_file and not open_site(launch, read_secrets=False).settings.log.file:
        launch = launch_options(None, None, None, TERMINAL, base=launch)
    site = open_site(launch)
    if not daemon:
        _foreground(site, wire=wire, json=json, relogin=relogin)
        return
    began = time.monotonic()
    try:
        started = start_process(site.gateway, environ=site.environ)
    except StartFailed as error:
        note(error.tail or (tail(site.log) if site.log else ""))
        raise
    if not started.already:
        remember(site.home, site.launch)
    claws = _wire(site, started.running, wire, relogin=relogin)
    _tell_start(site, started, claws, json=json, seconds=time.monotonic() - began)


def _tell_start(site: Site, started: Started, claws: Sequence[ClawLine], *, json: bool, seconds: float) -> None:
    report = gather(site, started.running, claws=claws)
    if not started.ready:
        report = report.noting("it answers, but a part of it is not open: `metaclaw logs` says which")
    if started.already and recall_launch(site.home) not in (None, site.launch):
        report = report.noting("it was started with other options: `metaclaw restart` with these applies them")
    heading = "MetaClaw is already running" if started.already else f"MetaClaw started in {seconds:.1f} s"
    print_report(report, as_json=json, heading=heading)


def _foreground(site: Site, *, wire: bool, json: bool, relogin: bool) -> None:
    from metaclaw.supervisor.foreground import run

    def tell(running: Running) -> None:
        remember(site.home, site.launch)
        report = gather(site, running, claws=_wire(site, running, wire, relogin=relogin))
        print_report(report, as_json=json, heading="MetaClaw runs; Ctrl-C stops it")

    code = run(site.gateway, environ=site.environ, on_healthy=tell)
    if code:
        fail(f"the gateway ended: {site.gateway.exit_meanings.get(code, f'exit code {code}')}")


def _wire(site: Site, running: Running, wanted: bool, *, relogin: bool) -> list[ClawLine]:
    """Point the configured agents at the gateway, if that is wanted, and WeChat at them; how each of them stands."""
    from metaclaw.cli.connect import connect, look
    from metaclaw.cli.wechat import connect_wechat, look_wechat

    if wanted and site.settings.configure_claws:
        return [*connect(site, running), *connect_wechat(site, relogin=relogin)]
    return [*look(site, running), *look_wechat(site)]


def _stop(*, force: bool) -> str:
    process = any_gateway(home())
    found = observe(process)
    if isinstance(found, Running):
        note(f"stopping (pid {found.run.pid}); running requests have 30 s to finish")
    stopped = stop_process(process, wait=STOP_SECONDS, force=force)
    if not stopped.was_running:
        return "MetaClaw is not running" + ("; the run file of an earlier one is removed" if stopped.cleaned else "")
    return f"MetaClaw is stopped (pid {stopped.pid}{', killed' if stopped.forced else ''})"
