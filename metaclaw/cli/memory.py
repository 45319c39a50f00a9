"""`metaclaw memory`: what is remembered."""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import typer

from metaclaw.cli.output import JsonFlag, counted, fail, note, passage, say, show

if TYPE_CHECKING:
    from metaclaw.memory.client import Reply

_TIMEOUT = 300.0  # seconds; an import of years may take a while
_SHOWN = ("memory_id", "memory_type", "content", "valid_from", "importance", "pinned", "status")

app = typer.Typer(no_args_is_help=True, help="Search, read, change and forget memories.")
Id = typer.Argument(metavar="ID", help="A memory's id, from `memory list` or `memory search`.")
ScopeOption = typer.Option("", "--scope", metavar="SCOPE", help="Whose memory; the configured scope unless given.")
YesFlag = typer.Option(False, "--yes", "-y", help="Ask nothing.")


@app.command()
def search(
    query: list[str] = typer.Argument(metavar="QUERY", help="What to look for."),
    limit: int = typer.Option(10, min=1, max=100, metavar="N", help="Most results."),
    scope: str = ScopeOption,
    json: bool = JsonFlag,
) -> None:
    """Search memories and what was said."""
    found = _ask("POST", "/search", {"query": " ".join(query), "limit": limit}, scope=scope)["results"]
    rows = [
        {"id": one["memory_id"], "type": one["type"], "score": round(one["score"], 2), "since": one["valid_from"][:10],
         "content": one["content"]}
        for one in found
    ]  # fmt: skip
    show(found if json else rows, as_json=json, empty="Nothing fits.", one_line=True)


@app.command("list")
def list_(
    kind: str = typer.Option("", "--type", metavar="TYPE", help="Only this type, such as `preference`."),
    status: str = typer.Option("active", metavar="STATUS", help="active, superseded, archived or all."),
    limit: int = typer.Option(50, min=1, max=500, metavar="N", help="Most memories shown."),
    offset: int = typer.Option(0, min=0, metavar="N", help="Leave out so many first."),
    scope: str = ScopeOption,
    json: bool = JsonFlag,
) -> None:
    """List memories, the newest first."""
    wanted = {"type": kind, "status": status, "limit": limit, "offset": offset}
    found = _ask("GET", "/memories", query={k: v for k, v in wanted.items() if v != ""}, scope=scope)
    rows = [
        {"id": one["memory_id"], "type": one["memory_type"], "since": one["valid_from"][:10],
         "pinned": one["pinned"], "content": one["content"]}
        for one in found["memories"]
    ]  # fmt: skip
    show(found if json else rows, as_json=json, empty="Nothing is remembered yet.", one_line=True)


@app.command("show")
def show_one(id: str = Id, scope: str = ScopeOption, json: bool = JsonFlag) -> None:
    """Show a memory: its words, versions, what it replaced, and the turns it came from."""
    found = _ask("GET", f"/memories/{quote(id, safe='')}/history", scope=scope)
    memory = _ask("GET", f"/memories/{quote(id, safe='')}", scope=scope)
    if json:
        show({**memory, "history": found}, as_json=True)
        return
    show({name: memory[name] for name in _SHOWN}, as_json=False)
    for version in found["versions"]:
        say(f"version {version['version']}, {version['at'][:16]}: {passage(version['reason'])}")
    for older in found["supersedes"]:
        say(f"replaced: {passage(older['content'])} ({older['memory_id']})")
    if found["superseded_by"]:
        say(f"replaced by: {passage(found['superseded_by']['content'])} ({found['superseded_by']['memory_id']})")
    for turn in found["sources"]:
        say(f"from {turn['at'][:16]}, session {turn['session_id']}: {passage(turn['prompt_text'])}")


@app.command()
def add(
    text: list[str] = typer.Argument(metavar="TEXT", help="What to remember."),
    kind: str = typer.Option("semantic", "--type", metavar="TYPE", help="Its type."),
    scope: str = ScopeOption,
    json: bool = JsonFlag,
) -> None:
    """Remember something."""
    made = _ask("POST", "/store", {"content": " ".join(text), "memory_type": kind}, scope=scope)
    show(made, as_json=True) if json else say(f"{made['memory_id']} {made['how']}")


@app.command()
def edit(
    id: str = Id,
    content: str = typer.Option(None, "--content", metavar="TEXT", help="New words."),
    kind: str = typer.Option(None, "--type", metavar="TYPE", help="New type."),
    importance: float = typer.Option(None, min=0.0, max=1.0, metavar="X", help="0 to 1."),
    revert: int = typer.Option(None, "--revert", metavar="VERSION", help="Bring this version back."),
    scope: str = ScopeOption,
    json: bool = JsonFlag,
) -> None:
    """Change a memory; its earlier words stay in its history."""
    place = f"/memories/{quote(id, safe='')}"
    given = {"content": content, "memory_type": kind, "importance": importance}
    changes = {name: value for name, value in given.items() if value is not None}
    if revert is not None:
        changed = _ask("POST", f"{place}/revert", {"version": revert}, scope=scope)
    elif changes:
        changed = _ask("PATCH", place, changes, scope=scope)
    else:
        fail("nothing to change: give --content, --type, --importance or --revert", code=2)
    show(changed, as_json=True) if json else say(f"{id} is at version {changed['version']}")


@app.command()
def forget(
    id: str = Id,
    with_history: bool = typer.Option(False, "--with-history", help="Also what it had replaced."),
    scope: str = ScopeOption,
    yes: bool = YesFlag,
    json: bool = JsonFlag,
) -> None:
    """Forget a memory, the words it came from included."""
    _confirm(f"Forget {id} and the turns it came from? It can't be brought back.", yes)
    receipt = _ask("POST", "/forget", {"memory_id": id, "with_history": with_history}, scope=scope)["receipt"]
    if json:
        show(receipt, as_json=True)
        return
    parts = ", ".join(counted(receipt[f"{thing}s"], thing) for thing in ("version", "turn", "vector"))
    say(f"{id} is forgotten: {parts} ({receipt['receipt_id']})")


@app.command()
def pin(
    id: str = Id, off: bool = typer.Option(False, "--off", help="Unpin."), scope: str = ScopeOption,
    json: bool = JsonFlag,
) -> None:  # fmt: skip
    """Pin a memory, so that it neither fades nor expires."""
    done = _ask("POST", "/pin", {"memory_id": id, "pinned": not off}, scope=scope)
    show(done, as_json=True) if json else say(f"{id} is {'unpinned' if off else 'pinned'}")


@app.command()
def stats(scope: str = ScopeOption, json: bool = JsonFlag) -> None:
    """Count memories, turns, jobs and vectors."""
    show(_ask("GET", "/stats", scope=scope), as_json=json)


@app.command()
def scopes(
    delete: str = typer.Option("", "--delete", metavar="SCOPE", help="Forget everything of this scope."),
    yes: bool = YesFlag,
    json: bool = JsonFlag,
) -> None:
    """List whose memories there are, or forget one's."""
    if delete:
        _confirm(f"Forget everything of {delete}? It can't be brought back.", yes)
        receipt = _ask("DELETE", f"/scopes/{quote(delete, safe='')}")["receipt"]
        show(receipt, as_json=True) if json else say(f"{delete} is forgotten ({receipt['receipt_id']})")
        return
    found = _ask("GET", "/scopes")["scopes"]
    show(found, as_json=json, empty="Nothing is remembered yet.")


@app.command()
def consolidate(
    undo: str = typer.Option("", "--undo", metavar="RUN", help="Take back what this run did."),
    scope: str = ScopeOption,
    json: bool = JsonFlag,
) -> None:
    """Tidy memories: near-duplicates, what faded, what expired."""
    path, body = ("/consolidate/undo", {"run_id": undo}) if undo else ("/consolidate", {})
    show(_ask("POST", path, body, scope=scope), as_json=json)


@app.command()
def reindex(
    everything: bool = typer.Option(False, "--all", help="All scopes."), scope: str = ScopeOption,
    json: bool = JsonFlag,
) -> None:  # fmt: skip
    """Build the search index anew from the store."""
    done = _ask("POST", "/reindex", {"all_scopes": everything}, scope=scope)
    show(done, as_json=True) if json else say(f"rebuilt in the background: {', '.join(done['scopes'])}")


@app.command("export")
def export(
    file: Path = typer.Argument(None, metavar="FILE", help="Where to; standard output unless given."),
    form: str = typer.Option("json", "--format", metavar="FORMAT", help="json, markdown or mem0."),
    everything: bool = typer.Option(False, "--all", help="All scopes."),
    scope: str = ScopeOption,
) -> None:
    """Write memories to a file."""
    from metaclaw_adapters.files import write_atomic

    wanted = {"format": form, "all_scopes": everything}
    reply = _reply("POST", "/export", wanted | ({"scope_id": scope} if scope else {}))
    if reply.status >= 400:
        _value(reply)
    data = reply.body
    if file is None:
        sys.stdout.buffer.write(data)
        return
    try:
        write_atomic(file, data, mode=0o600)
    except OSError as error:
        fail(f"{file} can't be written: {error.strerror}")
    note(f"{file}: {len(data)} bytes")


@app.command("import")
def import_(
    file: Path = typer.Argument(metavar="FILE", help="An export, the public MetaClaw's database, mem0's or Markdown."),
    form: str = typer.Option("auto", "--format", metavar="FORMAT", help="json, public, mem0, markdown or auto."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what would come in."),
    scope: str = ScopeOption,
    json: bool = JsonFlag,
) -> None:
    """Take memories in from a file."""
    try:
        data = file.read_bytes()
    except OSError as error:
        fail(f"{file} can't be read: {error.strerror}")
    wanted = {"format": form, "data_base64": base64.b64encode(data).decode(), "dry_run": dry_run}
    done = _ask("POST", "/import", wanted, scope=scope)
    if json:
        show(done, as_json=True)
        return
    for problem in done["problems"]:
        note(passage(problem))
    say(f"{'would come in' if dry_run else 'added'}: {done['added']}, known already: {done['reinforced']}, "
        f"left out: {done['skipped']}")  # fmt: skip


def _ask(
    method: str, path: str, body: Mapping[str, Any] | None = None, *, query: Mapping[str, Any] | None = None,
    scope: str = "",
) -> Any:  # fmt: skip
    """The service's answer as JSON; what is wrong ends the command in one line."""
    if body is not None:
        body = {**body, **({"scope_id": scope} if scope else {})}
    elif scope:
        query = {**(query or {}), "scope_id": scope}
    return _value(_reply(method, path, body, query))


def _value(reply: Reply) -> Any:
    from metaclaw.memory import MemoryDown

    try:
        return reply.value()
    except MemoryDown as down:
        return fail(str(down))


def _reply(
    method: str, path: str, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
) -> Reply:
    from metaclaw.cli.memory_call import call, place
    from metaclaw.cli.site import open_site
    from metaclaw.config import home
    from metaclaw.memory import MemoryDown

    settings = open_site().settings
    where = place(settings, home())
    if where is None:
        if not settings.memory.enabled:
            fail("memory is off: `metaclaw config memory.enabled true`, then `metaclaw restart`")
        fail("the memory service is not running: `metaclaw start` starts it, `metaclaw status` says what is wrong")
    try:
        return call(where, method, path, body, query, timeout=_TIMEOUT)
    except MemoryDown as down:
        return fail(str(down))


def _confirm(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        fail("this can't be undone: say --yes", code=2)
    if not typer.confirm(question):
        raise typer.Exit(1)
