"""`metaclaw claws`: the agents on this machine; connect them to the gateway, check that, give them back."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from metaclaw.cli.connect import endpoint, told, wired_agents
from metaclaw.cli.output import JsonFlag, fail, note, say, show
from metaclaw.cli.report import ClawLine
from metaclaw.cli.site import Site, open_site
from metaclaw.supervisor import Running, observe
from metaclaw_adapters import Adapter, AdapterError, Endpoint, Installation, Outcome, Wiring, adapters, run

if TYPE_CHECKING:
    from metaclaw.journal import Turn

_RECENT = 200
_ARRIVAL_SECONDS = 10.0

app = typer.Typer(help="Connect agents, check and disconnect them.")
Name = typer.Argument(metavar="NAME", help="An agent's name, from `claws list`.")
Yes = typer.Option(False, "-y", "--yes", help="Ask nothing.")


@app.callback(invoke_without_command=True)
def claws(context: typer.Context, json: bool = JsonFlag) -> None:
    """Connect agents, check and disconnect them. Alone: list them."""
    if context.invoked_subcommand is None:
        list_(json=json)


@app.command("list")
def list_(json: bool = JsonFlag) -> None:
    """List the agents MetaClaw knows: which are here, and how each stands."""
    site = open_site()
    seen = _last_seen()
    rows = []
    for name, adapter in sorted(adapters().items()):
        found = adapter.detect()
        row = {
            "claw": name,
            "version": found.version if found else "",
            "where": str(found.home) if found else "",
            "state": _state(site, adapter, found),
            "last_turn": seen.get(name, "") if found else "",
        }
        rows.append(row)
    show(rows, as_json=json)


@app.command()
def wire(
    name: str = Name,
    dry_run: bool = typer.Option(False, "--dry-run", help="Show what would change, and change nothing."),
    yes: bool = Yes,
    json: bool = JsonFlag,
) -> None:
    """Point an agent at the gateway. Shows each change and asks first."""
    site, adapter = open_site(), _adapter(name)
    wiring, target = Wiring(site.home), _endpoint(site)
    outcome = _attempt(lambda: wiring.wire(adapter, target, dry_run=True, again=True))
    if outcome.done == "planned" and not dry_run:
        _agree(outcome, f"Change {adapter.title} so?", yes)
        note(f"{adapter.title} is being changed; its own checks take some seconds …")
        outcome = _attempt(lambda: wiring.wire(adapter, target, again=True))
    elif outcome.done == "planned" and not json:
        _tell_plan(outcome)
        return
    _finish(outcome, json=json)


@app.command()
def unwire(name: str = Name, yes: bool = Yes, json: bool = JsonFlag) -> None:
    """Give an agent back as it was; what you changed since stays."""
    site = open_site(read_secrets=False)
    if name not in adapters() and name not in wired_agents(site.home):
        _adapter(name)
    if name in wired_agents(site.home) and not yes:
        _confirm(f"Undo what MetaClaw changed in {name}?")
    _finish(_attempt(lambda: Wiring(site.home).unwire(name)), json=json)
    if name in site.settings.claw_names() and site.settings.configure_claws:
        note(f"note: `metaclaw start` connects {name} again, unless `metaclaw config configure_claws false`")


@app.command()
def snippet(name: str = Name) -> None:
    """Print what to paste into an agent's configuration by hand."""
    adapter = _adapter(name)
    say(adapter.snippet(adapter.detect(), _endpoint(open_site())).rstrip())


@app.command()
def check(
    name: str | None = typer.Argument(None, metavar="[NAME]", help="An agent; by default all that are connected."),
    json: bool = JsonFlag,
) -> None:
    """Have an agent answer one message, and prove that it came through the gateway."""
    site = open_site()
    names = [name] if name else wired_agents(site.home)
    if not names:
        fail("no agent is connected; `metaclaw claws wire NAME` connects one")
    if not isinstance(observe(site.gateway), Running):
        fail("MetaClaw is not running; `metaclaw start` starts it")
    lines = [_check(site, _adapter(each)) for each in names]
    if json:
        show(lines, as_json=True)
    else:
        for line in lines:
            say(f"{line.name}: {line.detail}")
    if any(line.state != "ok" for line in lines):
        raise typer.Exit(1)


def _check(site: Site, adapter: Adapter) -> ClawLine:
    """One turn, with a word in it that no other turn has: the journal must know that word."""
    found = adapter.detect()
    if found is None:
        return ClawLine(adapter.name, "failed", "it is not on this machine")
    state = _attempt_state(site, adapter.name)
    if state != "wired":
        return ClawLine(adapter.name, "failed", f"it is {state}; `metaclaw claws wire {adapter.name}` connects it")
    word = f"check-{secrets.token_hex(6)}"
    command = adapter.headless_turn(found, f"This is a check of the connection. Answer with one word: pong. ({word})")
    if command is None:
        return ClawLine(adapter.name, "failed", "it can't be driven from here; say something to it yourself")
    note(f"asking {adapter.title} for one answer …")
    began, since = time.monotonic(), time.time()
    try:
        answer = run(command)
    except AdapterError as error:
        return ClawLine(adapter.name, "failed", str(error))
    turn = _arrived(word, since)
    if turn is not None:
        text = f"answered through the gateway in {time.monotonic() - began:.1f} s ({turn.model or 'its model'})"
        return ClawLine(adapter.name, "ok" if turn.status == "ok" else "failed", _with_error(text, turn))
    if answer.code != 0:
        return ClawLine(adapter.name, "failed", f"it did not answer: {answer.said()}")
    return ClawLine(adapter.name, "failed", "it answered, but not through the gateway: see `metaclaw doctor`")


def _with_error(text: str, turn: Turn) -> str:
    return text if turn.status == "ok" else f"reached the gateway, and the model failed: {turn.error or turn.status}"


def _arrived(word: str, since: float) -> Turn | None:
    """The turn in the journal that holds this word; it is written a moment after the answer."""
    from metaclaw.cli.sessions import open_journal

    deadline = time.monotonic() + _ARRIVAL_SECONDS
    while True:
        with open_journal() as journal:
            for session in journal.sessions(limit=20) if journal else []:
                if session.last_at < since - 1:
                    break
                for turn in journal.turns(session.id, limit=20, after=max(0, session.turns - 5)) if journal else []:
                    if word in turn.user_text and turn.status != "open":
                        return turn
        if time.monotonic() > deadline:
            return None
        time.sleep(0.3)


def _last_seen() -> dict[str, str]:
    """When each agent's newest turn was."""
    from metaclaw.cli.sessions import open_journal

    seen: dict[str, float] = {}
    with open_journal() as journal:
        for session in journal.sessions(limit=_RECENT) if journal else []:
            seen[session.claw] = max(session.last_at, seen.get(session.claw, 0.0))
    return {claw: time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) for claw, at in seen.items()}


def _state(site: Site, adapter: Adapter, found: Installation | None) -> str:
    state = _attempt_state(site, adapter.name)
    if found is None or state != "wired":
        return state
    bypasses = [one.where for one in adapter.findings(found, _endpoint(site)) if one.kind == "bypass"]
    return f"wired, but passed by: {', '.join(bypasses)}" if bypasses else "wired"


def _attempt_state(site: Site, name: str) -> str:
    try:
        return Wiring(site.home).status(name).replace("_", " ")
    except (AdapterError, OSError) as error:
        return f"unknown: {error}"


def _endpoint(site: Site) -> Endpoint:
    """The gateway where it runs, or where it will."""
    found, proxy = observe(site.gateway), site.settings.proxy
    host, port = (found.run.host, found.run.port) if isinstance(found, Running) else (proxy.host, proxy.port)
    return endpoint(site.settings, host, port)


def _adapter(name: str) -> Adapter:
    known = adapters()
    return known[name] if name in known else fail(f"no such agent: {name}; known: {', '.join(sorted(known))}", code=2)


def _attempt(act: Callable[[], Outcome]) -> Outcome:
    try:
        return act()
    except (AdapterError, OSError) as error:
        fail(str(error))


def _agree(outcome: Outcome, question: str, yes: bool) -> None:
    if not yes:
        _tell_plan(outcome)
        _confirm(question)


def _tell_plan(outcome: Outcome) -> None:
    for line in outcome.diff:
        say(line)
    for text in outcome.notes:
        note(text)


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        fail("there is no terminal to ask in: give --yes", code=2)
    typer.confirm(question, abort=True, err=True)


def _finish(outcome: Outcome, *, json: bool) -> None:
    """Say what came of it. Exit code 1 if the agent was to be connected and is not."""
    if json:
        show(outcome, as_json=True)
    elif outcome.done == "manual":
        say(outcome.snippet.rstrip())
        note("; ".join(outcome.notes))
    else:
        line = told(outcome)
        say(f"{line.name}: {line.detail or line.state}")
    if outcome.done in {"manual", "absent", "drifted"}:
        raise typer.Exit(1)
