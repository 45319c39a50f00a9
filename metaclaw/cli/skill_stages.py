"""`metaclaw skills`: proposals, trials and verdicts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import typer

from metaclaw.cli.output import JsonFlag, note, passage, say, show

if TYPE_CHECKING:
    from metaclaw.skills.lifecycle import Stage

Name = typer.Argument(metavar="NAME", help="The skill's name.")
Reason = typer.Option("", "--reason", metavar="TEXT", help="Why; kept in the log.")


def proposals(json: bool = JsonFlag) -> None:
    """List learned skills that wait for your yes or are on trial."""
    from metaclaw.cli.skills import open_library
    from metaclaw.skills.trials import RecordStore

    with open_library() as library:
        records = RecordStore(library.user_dir).load()
        rows = [
            {
                "name": skill.name,
                "stage": skill.stage,
                **_told(records.of(skill).evidence),
                "rests_on": skill.metadata.get("metaclaw-quotes", ""),
            }
            for skill in library.skills()
            if skill.stage in ("proposed", "trial")
        ]
    show(rows, as_json=json, empty="Nothing is proposed or on trial.", one_line=True)


def approve(name: str = Name, reason: str = Reason) -> None:
    """Let a proposed skill be used, or a trial end well."""
    _decide(name, "active", reason or "approved by the person")


def reject(name: str = Name, reason: str = Reason) -> None:
    """Turn a proposed skill down, or end its trial; an amendment gives way to the version before it."""
    _decide(name, "rejected", reason or "turned down by the person")


def retire(name: str = Name, reason: str = Reason) -> None:
    """Stop using a learned skill; it stays in the library."""
    _decide(name, "retired", reason or "retired by the person")


def restore(name: str = Name, reason: str = Reason) -> None:
    """Use a retired skill again."""
    _decide(name, "active", reason or "brought back by the person")


def stats(
    name: str = typer.Argument(None, metavar="NAME", help="One skill; all learned ones unless given."),
    json: bool = JsonFlag,
) -> None:
    """Show what learned skills are worth: outcomes with and without them, use and cost."""
    from metaclaw.cli.skills import open_library
    from metaclaw.skills.trials import RecordStore

    with open_library() as library:
        records = RecordStore(library.user_dir).load()
        skills = [library.get(name)] if name else [s for s in library.skills() if s.source == "learned"]
        rows: list[dict[str, Any]] = []
        for skill in skills:
            record = records.of(skill)
            rows.append(
                {
                    "name": skill.name,
                    "stage": skill.stage if skill.source == "learned" else skill.source,
                    **_told(record.evidence),
                    "recalled": record.recalled,
                    "tokens": record.tokens,
                    "last_used": time.strftime("%Y-%m-%d", time.localtime(record.last_used))
                    if record.last_used
                    else "",
                    "turns": skill.metadata.get("metaclaw-turns", ""),
                    "model": skill.metadata.get("metaclaw-model", ""),
                }
            )
    show(rows, as_json=json, empty="Nothing learned yet.")


def _told(evidence: Any) -> dict[str, str]:
    """`with` and `without`: good outcomes of all, and the 95 % interval of their share."""
    arms = (("with", evidence.treated), ("without", evidence.control))
    told = {}
    for title, arm in arms:
        low, high = arm.interval()
        told[title] = f"{arm.good}/{arm.total} ({low:.0%} to {high:.0%})" if arm.total else "0/0"
    return told


def _decide(name: str, stage: Stage, reason: str) -> None:
    from metaclaw.cli.skills import open_library
    from metaclaw.skills.lifecycle import Move

    with open_library() as library:
        before = library.get(name)
        after = library.decide(name, Move(time.time(), name, before.digest, stage, "person", reason))
        if library.history_problem:
            note(f"note: not in the history: {library.history_problem}")
    if after is None:
        say(passage(f"{name} is gone; `metaclaw skills revert {name}` brings its words back"))
    elif stage == "rejected":
        say(passage(f"{name} is as it was before the amendment"))
    else:
        say(passage(f"{name} is {after.stage}"))
