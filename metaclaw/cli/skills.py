"""`metaclaw skills`: the skills that are recalled, and how they came to be."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from metaclaw.cli.output import JsonFlag, cell, counted, fail, note, passage, say, show
from metaclaw.cli.skill_stages import approve, proposals, reject, restore, retire, stats

if TYPE_CHECKING:
    from metaclaw.skills import Document, Library, Skill
    from metaclaw.skills.transfer import Package

app = typer.Typer(no_args_is_help=True, help="List, edit, search and revert skills.")
Name = typer.Argument(metavar="NAME", help="A skill's name, from `skills list`.")
NewName = typer.Argument(metavar="NAME", help="Its name: words in lower case, joined by hyphens.")
Names = typer.Argument(metavar="NAME...", help="Names of skills.")
Commit = typer.Argument(None, metavar="VERSION", help="A version, from `skills history`; at least 4 characters.")
Description = typer.Option(None, "--description", help="What it does and when to use it.")
Category = typer.Option(None, "--category", help="Its category.")
Body = typer.Option(None, "--body", metavar="FILE", help="File with its instructions; - reads stdin.")
Yes = typer.Option(False, "--yes", "-y", help="Ask nothing.")


@app.command("list")
def list_(json: bool = JsonFlag) -> None:
    """List all skills."""
    with open_library() as library:
        found = [_summary(skill) for skill in library.skills()]
        for problem in library.problems:
            note(f"{cell(str(problem.path))}: {problem.what}{'; skipped' if problem.skipped else ''}")
    show(found, as_json=json, empty="No skills.", one_line=True)


@app.command("show")
def show_one(name: str = Name, json: bool = JsonFlag) -> None:
    """Show a skill."""
    with open_library() as library:
        skill = library.get(name)
    facts = {**_summary(skill), "path": str(skill.path), "digest": skill.digest, "metadata": dict(skill.metadata)}
    if json:
        show({**facts, "body": skill.body}, as_json=True)
        return
    origin = {key.removeprefix("metaclaw-"): value for key, value in facts.pop("metadata").items()}
    show({**facts, **origin}, as_json=False)
    say()
    say(passage(skill.body))


@app.command()
def add(name: str = NewName, description: str = Description, category: str = Category, body: str = Body) -> None:
    """Write a new skill; without --body in your editor."""
    from metaclaw.skills import Document

    with open_library() as library:
        start = Document(name, description or "What it does. Use when …", "# Steps\n\n1. …", category or "general")
        document = _filled(start, description, category, body) if body else _edited(start)
        if document is None:
            fail("nothing was written, so there is no new skill")
        library.add(document)
        _report(library, f"added {name}")


@app.command()
def edit(name: str = Name, description: str = Description, category: str = Category, body: str = Body) -> None:
    """Change a skill; without options in your editor. A built-in one becomes your own."""
    with open_library() as library:
        current = library.document(name)
        given = any(value is not None for value in (description, category, body))
        document = _filled(current, description, category, body) if given else _edited(current)
        if document is None or document == current:
            say("nothing changed")
            return
        library.edit(name, document)
        _report(library, f"changed {name}")


@app.command()
def enable(names: list[str] = Names) -> None:
    """Recall these skills again."""
    _switch(names, True)


@app.command()
def disable(names: list[str] = Names) -> None:
    """Stop recalling these skills."""
    _switch(names, False)


@app.command()
def remove(name: str = Name, yes: bool = Yes) -> None:
    """Delete a skill of your own; `skills revert` brings it back."""
    with open_library() as library:
        library.get(name)
        _ask(f"Delete {name}?", yes)
        library.remove(name)
        _report(library, f"removed {name}; `metaclaw skills revert {name}` brings it back")


@app.command()
def search(
    query: list[str] = typer.Argument(metavar="WORDS...", help="What you would ask the agent."),
    limit: int = typer.Option(10, min=1, max=1000, metavar="N", help="Most skills shown."),
    json: bool = JsonFlag,
) -> None:
    """Show which skills fit some words, best first, with the score that recall compares with its threshold."""
    with open_library() as library:
        least = _settings().min_score
        found = [
            {"score": match.score, "recalled": match.score >= least, **_summary(match.skill)}
            for match in library.ranker().scores(" ".join(query))[:limit]
        ]
    show(found, as_json=json, columns=("score", "recalled", "name", "description"), empty="No skill fits.")


@app.command("import")
def import_(
    path: Path = typer.Argument(metavar="PATH", help="A skill's folder, a folder of skills, a SKILL.md or a .zip."),
    replace: bool = typer.Option(False, "--replace", help="Take the place of skills of the same name."),
    accept: list[str] = typer.Option([], "--accept", metavar="DIGEST", help="Accept exactly this content as it is."),
    yes: bool = Yes,
) -> None:
    """Take in skills. What the screens find is shown first, and needs your yes for exactly that content."""
    from metaclaw.skills.transfer import open_packages

    with open_library() as library:
        packages = open_packages(path)
        refused = [package.name for package in packages if not _accepted(package, accept, yes)]
        for package in packages:
            if package.name not in refused:
                library.install(package, replace)
                _report(library, f"imported {package.name}")
    if refused:
        fail(f"not imported: {', '.join(refused)}")


@app.command()
def export(
    names: list[str] = Names,
    to: Path = typer.Option(..., "--to", metavar="PATH", help="A folder, or a .zip file."),
) -> None:
    """Write skills to a folder or an archive."""
    from metaclaw.skills.transfer import export as write_out

    with open_library() as library:
        for path in write_out([library.get(name) for name in dict.fromkeys(names)], to):
            say(str(path))


@app.command()
def history(name: str = Name, json: bool = JsonFlag) -> None:
    """List the versions of a skill, the newest first."""
    with open_library() as library:
        found = library.versions(name)
    if json:
        show(found, as_json=True)
        return
    rows = [
        {
            "version": version.commit[:10],
            "when": _when(version.at),
            "who": version.author,
            "state": ("on" if version.enabled else "off") if version.exists else "removed",
            "what": version.message.split("\n")[0],
        }
        for version in found
    ]
    show(rows, as_json=False, empty=f"{name} has no history.")


@app.command()
def diff(name: str = Name, version: str = Commit, json: bool = JsonFlag) -> None:
    """Show a skill's newest change, or what has changed since a version."""
    with open_library() as library:
        text = library.diff(name, version)
    if json:
        show({"name": name, "since": version, "diff": text}, as_json=True)
    else:
        say(passage(text).rstrip("\n") or "no difference")


@app.command()
def revert(name: str = Name, version: str = Commit) -> None:
    """Bring a skill back as it was, byte for byte: at a version, or before its newest change."""
    with open_library() as library:
        skill = library.revert(name, version)
        state = "is as it was" if skill is not None else "is gone again: it was not there then"
        _report(library, f"{name} {state}")


@app.command()
def log(
    limit: int = typer.Option(20, min=1, max=2000, metavar="N", help="Most entries shown."), json: bool = JsonFlag
) -> None:
    """Show what was learned from conversations, what was not, and why."""
    from metaclaw.skills.evolver_state import EvolverState

    with open_library() as library:
        entries = EvolverState(library.user_dir).entries(limit)
    if json:
        show(entries, as_json=True)
        return
    rows = [
        {
            "when": _when(entry.at),
            "session": entry.session_id[:12],
            "turns": list(entry.turns),
            "outcome": entry.outcome,
            "skill": entry.skill,
            "reason": entry.reason,
        }
        for entry in entries
    ]
    show(rows, as_json=False, empty="Nothing learned yet.")


for _command in (proposals, approve, reject, retire, restore, stats):
    app.command()(_command)


@contextmanager
def open_library() -> Iterator[Library]:
    """The library of the configured folder; a fault of it becomes one line."""
    from metaclaw.config import expand
    from metaclaw.skills import Library, SkillError

    try:
        yield Library(expand(_settings().dir))
    except SkillError as error:
        fail(str(error))


def _settings() -> Any:
    from metaclaw.cli.site import open_site

    return open_site(read_secrets=False).settings.skills


def _summary(skill: Skill) -> dict[str, Any]:
    return {
        "name": skill.name,
        "category": skill.category,
        "source": skill.source,
        "enabled": skill.enabled,
        "stage": skill.stage if skill.source == "learned" else "",
        "description": skill.description,
    }


def _switch(names: list[str], enabled: bool) -> None:
    with open_library() as library:
        for name in names:
            library.get(name)
        for name in names:
            library.set_enabled(name, enabled)
            _report(library, f"{name} is {'on' if enabled else 'off'}")


def _filled(document: Document, description: str | None, category: str | None, body: str | None) -> Document:
    """The document with what was given on the command line."""
    from dataclasses import replace

    from metaclaw.skills.format import decode

    text = document.body
    if body == "-":
        text = sys.stdin.read()
    elif body is not None:
        try:
            text = decode(Path(body).read_bytes())
        except OSError as error:
            fail(f"{body}: {error.strerror}")
    words = " ".join((description if description is not None else document.description).split())
    return replace(document, description=words, category=category or document.category, body=text.strip("\n"))


def _edited(document: Document) -> Document | None:
    """The document after the person's editor; None when it was left as it was."""
    import tempfile

    from metaclaw.cli.editor import open_editor
    from metaclaw.skills.format import FILE_NAME, read, write

    before = write(document)
    with tempfile.TemporaryDirectory(prefix="skill-") as folder:
        path = Path(folder) / FILE_NAME
        path.write_bytes(before)
        open_editor(path)
        after = path.read_bytes()
    return None if after == before else read(after, document.name)


def _accepted(package: Package, accept: list[str], yes: bool) -> bool:
    say(f"{package.name}: {counted(len(package.files), 'file')}, content {package.digest[:16]}")
    for finding in package.findings:
        say(f"  {passage(str(finding))}")
    if any(len(mark) >= 8 and package.digest.startswith(mark) for mark in accept):
        return True
    if not package.findings and yes:
        return True
    if not sys.stdin.isatty():
        how = f"--accept {package.digest[:16]}" if package.findings else "--yes"
        note(f"{package.name} needs your yes: add {how}")
        return False
    return typer.confirm(f"Import {package.name} as it is?", err=True)


def _ask(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        fail("this needs your yes: add --yes", code=2)
    typer.confirm(question, abort=True, err=True)


def _report(library: Library, text: str) -> None:
    say(text)
    if library.history_problem:
        note(f"warning: the change is not in the history: {library.history_problem}")


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
