"""The agents and the gateway: point them at it, see how they stand, give them back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from metaclaw.cli.output import note
from metaclaw.cli.report import ClawLine
from metaclaw.cli.site import Site
from metaclaw.config import Settings
from metaclaw.supervisor import Running, base_url
from metaclaw.supervisor.checks import Check, State
from metaclaw_adapters import Adapter, AdapterError, Endpoint, Outcome, Wiring, adapters

_WINDOW_SECONDS = 3.0
_SAID = {
    "wired": ("wired", "now talks through MetaClaw"),
    "unchanged": ("wired", "talks through MetaClaw"),
    "planned": ("not wired", "would be changed"),
    "drifted": ("drifted", ""),
    "manual": ("by hand", ""),
    "absent": ("not found", ""),
    "unwired": ("not wired", "is as it was before"),
    "not_wired": ("not wired", ""),
}

_CHECKED: dict[str, State] = {"wired": "ok", "not found": "off", "failed": "failed"}


def endpoint(settings: Settings, host: str, port: int) -> Endpoint:
    """The gateway as an agent is told of it."""
    model = "" if settings.llm.auth_method == "passthrough" else settings.llm.model_id
    return Endpoint(
        base_url=base_url(host, port),
        api_key=settings.proxy.api_key.get_secret_value(),
        model_id=model,
        model_name=model,
        context_window=_window(settings) if model else 0,
        protocol=_protocol(settings),
    )


def _protocol(settings: Settings) -> Literal["chat", "messages", "responses", ""]:
    """The upstream's own wire protocol, so that the agent's bytes pass through; empty keeps what the agent speaks."""
    from metaclaw.providers import ProviderError, protocol_bases

    try:
        spoken = protocol_bases(settings.llm)
    except ProviderError:
        return ""
    if len(spoken) > 1 or settings.llm.auth_method != "api_key":
        return ""
    return "messages" if "messages" in spoken else "responses" if "responses" in spoken else "chat"


def connect(site: Site, running: Running) -> list[ClawLine]:
    """Point every configured agent at the running gateway; an agent that can't be is a line, not a failure."""
    names = site.settings.claw_names()
    if not names:
        return []
    target = endpoint(site.settings, running.run.host, running.run.port)
    wiring = Wiring(site.home)

    def wire(adapter: Adapter) -> Outcome:
        if wiring.status(adapter.name) == "not_wired":
            note(f"pointing {adapter.title} at MetaClaw …")
        return wiring.wire(adapter, target)

    return [_line(name, wire) for name in names]


def look(site: Site, _running: Running | None) -> list[ClawLine]:
    """How the configured agents stand, from their files alone."""
    wiring = Wiring(site.home)
    states = {
        "wired": ClawLine("", "wired", "talks through MetaClaw"),
        "not_wired": ClawLine("", "not wired", "`metaclaw start` points it here"),
        "drifted": ClawLine("", "drifted", "its configuration was changed since: see `metaclaw doctor`"),
        "absent": ClawLine("", "not found", "it is not on this machine"),
    }
    found = []
    for name in site.settings.claw_names():
        try:
            line = states[wiring.status(name)] if name in adapters() else ClawLine("", "unknown", _unknown())
        except (AdapterError, OSError) as error:
            line = ClawLine("", "failed", str(error))
        found.append(ClawLine(name, line.state, line.detail))
    return found


def check_claws(site: Site, running: Running | None) -> Iterator[Check]:
    """The doctor's lines on the agents: wired, still wired, and what passes the gateway by."""
    names = site.settings.claw_names()
    if not names:
        yield Check("agents", "off", "none is configured (claw_type: none)")
    for line in look(site, running):
        state = _CHECKED.get(line.state, "warning")
        remedy = {"not wired": "metaclaw start", "drifted": f"metaclaw claws wire {line.name}"}.get(line.state, "")
        yield Check(line.name, state, f"{line.state}: {line.detail}", remedy)
        adapter = adapters().get(line.name)
        installation = adapter.detect() if adapter is not None and line.state != "failed" else None
        if adapter is None or installation is None:
            continue
        yield Check(f"{line.name} version", "ok", f"{installation.version or 'unknown'} in {installation.home}")
        proxy = site.settings.proxy
        host, port = (running.run.host, running.run.port) if running else (proxy.host, proxy.port)
        for finding in adapter.findings(installation, endpoint(site.settings, host, port)):
            told = f"{finding.where}: {finding.text}"
            yield Check(f"{line.name} traffic", "warning" if finding.kind == "bypass" else "ok", told)


def found_agents() -> dict[str, str]:
    """The agents on this machine, each with what there is to show of it."""
    found = {}
    for name, adapter in adapters().items():
        installation = adapter.detect()
        if installation is not None:
            running = ", running" if installation.running else ""
            found[name] = f"{adapter.title} {installation.version} in {installation.home}{running}"
    return found


def preview(settings: Settings, home: Path) -> dict[str, tuple[str, ...]]:
    """What pointing the configured agents at the gateway would change, line by line, secrets hidden."""
    wiring = Wiring(home)
    target = endpoint(settings, settings.proxy.host, settings.proxy.port)
    found: dict[str, tuple[str, ...]] = {}
    for name in settings.claw_names():
        adapter = adapters().get(name)
        if adapter is None:
            continue
        try:
            lines = wiring.diff(adapter, target)
        except (AdapterError, OSError) as error:
            lines = (f"nothing: {error}",)
        if lines:
            found[name] = lines
    return found


def wired_agents(home: Path) -> list[str]:
    """Agents that MetaClaw has a record of having changed, whatever the configuration says now."""
    folder = home / "claws"
    return sorted(record.parent.name for record in folder.glob("*/manifest.json"))


def disconnect(home: Path, names: Iterable[str]) -> Iterator[ClawLine]:
    """Give agents back as they were; a failure is a line."""
    wiring = Wiring(home)
    for name in names:
        try:
            line = told(wiring.unwire(name))
        except (AdapterError, OSError) as error:
            line = ClawLine(name, "failed", f"could not be given back: {error}")
        yield line


def _line(name: str, act: Callable[[Adapter], Outcome]) -> ClawLine:
    adapter = adapters().get(name)
    if adapter is None:
        return ClawLine(name, "unknown", _unknown())
    try:
        outcome = act(adapter)
    except (AdapterError, OSError) as error:
        return ClawLine(name, "failed", f"{error}; `metaclaw claws wire {name}` tries again")
    return told(outcome)


def told(outcome: Outcome) -> ClawLine:
    """An outcome in one line."""
    state, detail = _SAID[outcome.done]
    bypasses = [finding for finding in outcome.findings if finding.kind == "bypass"]
    extra = [f"passes the gateway by: {finding.where} ({finding.text})" for finding in bypasses]
    if outcome.snippet:
        extra.append(f"`metaclaw claws snippet {outcome.claw}` shows what to paste")
    return ClawLine(outcome.claw, state, "; ".join(part for part in (detail, *outcome.notes, *extra) if part))


def _unknown() -> str:
    return f"no such agent; known: {', '.join(sorted(adapters()))}, none"


def _window(settings: Settings) -> int:
    """The context window to tell the agent; 0, which leaves it as the user has it, when nobody knows in time."""
    from metaclaw.model_info import context_window

    return asyncio.run(context_window(settings, timeout=_WINDOW_SECONDS))
