"""`metaclaw sessions`: the conversations in the journal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import typer

from metaclaw.cli.output import JsonFlag, fail, passage, plain, say, show

if TYPE_CHECKING:
    from metaclaw.journal import Journal, Session, Turn

_LONGEST = 60
_ALL = 1_000_000

app = typer.Typer(no_args_is_help=True, help="Read conversations; end one.")
Id = typer.Argument(metavar="ID", help="A session's id, from `sessions list`; its beginning is enough.")


@app.command("list")
def list_(
    limit: int = typer.Option(20, min=1, max=1000, metavar="N", help="Most sessions shown."),
    open_only: bool = typer.Option(False, "--open", help="Only those that have not ended."),
    json: bool = JsonFlag,
) -> None:
    """List conversations, the newest first."""
    with open_journal() as journal:
        found = journal.sessions(limit=limit, active=True if open_only else None) if journal else []
        first = {session.id: _opening(journal, session) for session in found} if journal else {}
    if json:
        show([{**_session(session), "said": first[session.id]} for session in found], as_json=True)
        return
    rows = [
        {
            "id": session.id,
            "agent": session.claw,
            "model": session.model,
            "began": _when(session.started_at),
            "last": _when(session.last_at),
            "turns": session.turns,
            "state": _state(session),
            "said": _short(first[session.id]),
        }
        for session in found
    ]
    show(rows, as_json=False, empty="No conversation yet.")


def _opening(journal: Journal, session: Session) -> str:
    """What the person said first."""
    return next((turn.user_text for turn in journal.turns(session.id, limit=1)), "")


@app.command("show")
def show_one(id: str = Id, json: bool = JsonFlag) -> None:
    """Show a conversation: what was said, and what was recalled."""
    with open_journal() as journal:
        session = _known(journal, id)
        found = journal.turns(session.id, limit=_ALL) if journal else []
    if json:
        show({**_session(session), "conversation": [plain(turn) for turn in found]}, as_json=True)
        return
    show(
        {
            "session": session.id,
            "agent": session.claw,
            "model": session.model,
            "began": _when(session.started_at),
            "state": _state(session),
        },
        as_json=False,
    )
    for turn in found:
        _print_turn(turn)


@app.command()
def turns(
    id: str = Id,
    limit: int = typer.Option(50, min=1, max=10_000, metavar="N", help="Most turns shown."),
    after: int = typer.Option(0, min=0, metavar="N", help="Only turns behind this number."),
    json: bool = JsonFlag,
) -> None:
    """List the turns of a conversation."""
    with open_journal() as journal:
        session = _known(journal, id)
        found = journal.turns(session.id, limit=limit, after=after) if journal else []
    if json:
        show(found, as_json=True)
        return
    rows = [
        {
            "turn": turn.number,
            "at": _when(turn.started_at),
            "status": turn.status,
            "calls": turn.calls,
            "tokens": turn.usage.prompt + turn.usage.completion,
            "recalled": [item.get("name", "") for item in turn.recalled if not item.get("withheld")],
            "said": _short(turn.user_text),
            "answered": _short(turn.answer_text),
        }
        for turn in found
    ]
    show(rows, as_json=False, empty="No turn yet.")


@app.command()
def close(id: str = Id, json: bool = JsonFlag) -> None:
    """End a conversation, so that it is learned from now."""
    from metaclaw.config import home
    from metaclaw.supervisor import Absent, Running, ask, observe
    from metaclaw.supervisor.gateway import any_gateway

    with open_journal() as journal:
        session = _known(journal, id)
        id = session.id
        already = session.ended_at is not None
        if not already:
            found = observe(any_gateway(home()))
            if isinstance(found, Running):
                path = f"/v1/sessions/{quote(id, safe='')}/close"
                reply = ask(found.run.host, found.run.port, path, method="POST", token=found.run.token, timeout=10)
                if reply is None or reply.status != 200:
                    fail(f"{id} was not ended: {_reason(reply)}")
            elif isinstance(found, Absent):
                session = _end(journal, session)
            else:
                fail("the gateway runs but does not answer; try again, or `metaclaw restart`")
        session = (journal.session(id) if journal else None) or session
    if json:
        show(_session(session), as_json=True)
    else:
        say(f"{id} {'had ended' if already else 'is ended'}")


def _reason(reply: Any) -> str:
    if reply is None:
        return "the gateway does not answer"
    error = reply.body.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return str(message or f"the gateway answered {reply.status}")


def _end(journal: Journal | None, session: Session) -> Session:
    """End it in the journal itself: no gateway runs that would have to know."""
    from metaclaw.journal import SessionEnd

    at = time.time()
    if journal is not None:
        journal.append(SessionEnd(session.id, "closed", at)).result(30)
    return replace(session, ended_at=at, end_reason="closed")


@contextmanager
def open_journal() -> Iterator[Journal | None]:
    """The journal, or None while there is none: reading makes no file."""
    from metaclaw.cli.site import open_site
    from metaclaw.config import home

    url, file = open_site(read_secrets=False).settings.journal.url, home() / "journal.sqlite3"
    if not url and not file.exists():
        yield None
        return
    from metaclaw.journal import Journal, sqlite_url

    journal = Journal.open(url or sqlite_url(file))
    try:
        yield journal
    finally:
        journal.close()


def _known(journal: Journal | None, id: str) -> Session:
    """The session of this id, or the one whose id begins so."""
    exact = journal.session(id) if journal else None
    found = [exact] if exact else journal.sessions_from(id) if journal and id else []
    if len(found) == 1:
        return found[0]
    if found:
        fail(f"{id!r} begins the ids of several sessions: {', '.join(session.id for session in found)}")
    return fail(f"there is no session {id!r}; `metaclaw sessions list` shows them")


def _session(session: Session) -> dict[str, Any]:
    hidden = ("opening", "head")  # digests, of no use outside
    return {name: value for name, value in plain(session).items() if name not in hidden}


def _print_turn(turn: Turn) -> None:
    say()
    say(f"[{turn.number}] {_when(turn.started_at)}{'' if turn.status == 'ok' else f' ({turn.status})'}")
    say(f"> {passage(turn.user_text)}")
    say(passage(turn.answer_text or turn.error))
    names = ", ".join(str(item.get("name", "")) for item in turn.recalled if not item.get("withheld"))
    if names:
        say(f"recalled: {passage(names)}")


def _state(session: Session) -> str:
    return "open" if session.ended_at is None else f"ended ({session.end_reason})" if session.end_reason else "ended"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else ""
