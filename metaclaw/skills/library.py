"""The library: the built-in bank and the person's folder as one set of skills, and every change of it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from metaclaw.skills.catalog import Catalog, Entry, as_skill
from metaclaw.skills.errors import Exists, HistoryError, NotFound, Refused
from metaclaw.skills.format import FILE_NAME, Document, check_name, write
from metaclaw.skills.history import EVOLVER, PERSON, History, Version
from metaclaw.skills.lifecycle import Move, MoveLog, Standing, moved
from metaclaw.skills.ranking import Ranker
from metaclaw.skills.skill import Problem, Skill
from metaclaw.skills.state import STATE_FILE, STATE_FOLDER, State, read_state, state_bytes, state_path
from metaclaw.skills.transfer import Package, write_package
from metaclaw_adapters.files import private_dir, write_atomic

_log = logging.getLogger(__name__)
BANK = Path(__file__).parent / "bank"
_LOCK_SECONDS = 30.0


class Library:
    """Skills of the built-in bank and of `user_dir`, whose skill wins when both have one of the same name.

    Reading never fails for one bad file (see `problems`). Each change is one commit in the history of `user_dir`;
    a history that can't be written is reported in `history_problem` and doesn't stop the change.
    """

    def __init__(self, user_dir: Path, builtin: bool | Path = True) -> None:
        self.user_dir = user_dir
        self.history = History(user_dir)
        self.history_problem = ""
        self.generation = 0
        self.problems: tuple[Problem, ...] = ()
        bank = BANK if builtin is True else builtin
        self._bank = Catalog(bank) if isinstance(bank, Path) else None
        self._user = Catalog(user_dir)
        self._before = Catalog(user_dir / STATE_FOLDER / "previous")
        self._earlier: dict[str, Skill] = {}
        self._log = MoveLog(user_dir / STATE_FOLDER)
        self._state = State()
        self._skills: tuple[Skill, ...] = ()
        self._entries: dict[str, Entry] = {}
        self._ranker: Ranker | None = None
        self._lock = threading.RLock()
        self.reload()

    def skills(self) -> tuple[Skill, ...]:
        """The present snapshot, in name order; disabled skills are part of it."""
        return self._skills

    def get(self, name: str) -> Skill:
        """The skill of this name. Raises NotFound."""
        for skill in self._skills:
            if skill.name == name:
                return skill
        raise NotFound(f"no skill is named {name!r}: `metaclaw skills list` shows all")

    def withdrawn(self) -> dict[str, str]:
        """Names and descriptions of learned skills that a person deleted."""
        return {name: words for name, words in self._state.withdrawn.items() if name not in self._entries}

    def document(self, name: str) -> Document:
        """The whole content of a skill's SKILL.md. Raises NotFound."""
        self.get(name)
        return self._entries[name].document

    def ranker(self) -> Ranker:
        """The ranker of the present snapshot, built once for each."""
        ranker = self._ranker
        if ranker is None:
            with self._lock:
                ranker = self._ranker = self._ranker or Ranker(self.served())
        return ranker

    def served(self) -> tuple[Skill, ...]:
        """What may be recalled now: what is switched on, and for an amendment that waits the version before it."""
        waiting = {skill.name for skill in self._skills if skill.stage == "proposed"}
        before = [self._earlier[name] for name in sorted(waiting & self._earlier.keys())]
        return (*(skill for skill in self._skills if skill.enabled), *before)

    def reload(self) -> bool:
        """Read the folders again; whether anything changed."""
        with self._lock:
            problems: list[Problem] = []
            self._state = self._read_state(problems)
            found: dict[str, tuple[Entry, bool]] = {}
            for catalog, builtin in ((self._bank, True), (self._user, False)):
                if catalog is not None:
                    entries, wrong = catalog.read()
                    found.update({entry.document.name: (entry, builtin) for entry in entries})
                    problems += wrong
            skills = tuple(as_skill(*found[name], self._state) for name in sorted(found))
            earlier, _ = self._before.read()
            self._earlier = {e.document.name: replace(as_skill(e, False, State()), source="learned") for e in earlier}
            self.problems = tuple(problems)
            self._entries = {name: entry for name, (entry, _) in found.items()}
            changed = skills != self._skills
            if changed:
                self._skills, self._ranker = skills, None
                self.generation += 1
            return changed

    async def watch(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Keep the snapshot current while files change, and say when it did; runs until it is cancelled."""
        from watchfiles import awatch

        await asyncio.to_thread(private_dir, self.user_dir)
        told = self.generation
        async for _ in awatch(self.user_dir, watch_filter=_is_content):
            await asyncio.to_thread(self.reload)
            # Not whether this reload found something: a change by this process has reloaded already.
            if self.generation == told:
                continue
            told = self.generation
            _log.info("skills reloaded: %d", len(self._skills))
            await changed()
            await asyncio.to_thread(self.record)

    def record(self) -> None:
        """Commit what was changed by hand since the last commit."""
        with self._changing():
            self._commit("Record changes made by hand", PERSON)

    def add(self, document: Document) -> Skill:
        """Write a new skill of the person's. Raises Exists, BadName or FormatError."""
        with self._changing():
            if (self.user_dir / check_name(document.name)).exists():
                raise Exists(f"{document.name} is there already: use `metaclaw skills edit {document.name}`")
            return self._put(document, f"Add {document.name}")

    def edit(self, name: str, document: Document) -> Skill:
        """Replace a skill's content; a built-in one is copied into the person's folder first. Raises NotFound."""
        with self._changing():
            self.get(name)
            if document.name != name:
                raise Refused(f"{name} can't be renamed to {document.name} by an edit: add the new one, remove the old")
            return self._put(document, f"Edit {name}")

    def remove(self, name: str) -> None:
        """Delete a skill of the person's folder; its history keeps it. Raises NotFound or Refused."""
        with self._changing():
            skill = self.get(name)
            if skill.source == "builtin":
                raise Refused(f"{name} is built in and can't be removed: use `metaclaw skills disable {name}`")
            self._commit("Record changes made by hand", PERSON)
            delete_tree(skill.path.parent)
            unwanted = skill.description if skill.source == "learned" else None
            self._write_state(self._theirs(name, "deleted by the person").without(name).with_withdrawn(name, unwanted))
            self._commit(f"Remove {name}", PERSON)
            self.reload()

    def set_enabled(self, name: str, enabled: bool) -> Skill:
        """Recall the skill, or stop recalling it. Raises NotFound."""
        with self._changing():
            if self.get(name).enabled != enabled:
                self._write_state(self._state.with_enabled(name, enabled))
                self._commit(f"{'Enable' if enabled else 'Disable'} {name}", PERSON)
                self.reload()
            return self.get(name)

    def enable(self, name: str) -> Skill:
        """Recall the skill. Raises NotFound."""
        return self.set_enabled(name, True)

    def disable(self, name: str) -> Skill:
        """Stop recalling the skill. Raises NotFound."""
        return self.set_enabled(name, False)

    def propose(self, document: Document, move: Move, message: str) -> Skill:
        """Write a skill of the evolver's in the stage of `move`; the version before it is kept beside. One commit.

        Doing it twice is doing it once. Raises Refused for a name that is a person's or built in.
        """
        with self._changing():
            data = write(document)
            digest = hashlib.sha256(data).hexdigest()
            current = self._by_name(document.name)
            if current is not None and current.digest == digest and current.stage == move.stage:
                self._commit(message, EVOLVER)  # killed ahead of its commit
                return current
            if current is not None and current.source != "learned" and current.digest != digest:
                raise Refused(f"{document.name} is not the evolver's to change")
            if current is not None and current.digest != digest and current.stage == "active":
                previous = private_dir(self._previous(document.name).parent)
                write_atomic(previous / FILE_NAME, current.path.read_bytes())
            folder = private_dir(self.user_dir / check_name(document.name))
            # The file first: killed in between, the same call finds its own bytes and goes on.
            write_atomic(folder / FILE_NAME, data)
            state = self._state.with_learned(document.name, digest).with_withdrawn(document.name, None)
            return self._move(state, replace(move, version=digest), message, EVOLVER)

    def decide(self, name: str, move: Move, message: str = "") -> Skill | None:
        """Move a skill to another stage: promote, turn down, retire, bring back. One commit, one line in the log.

        An amendment that is turned down gives way to the version before it; a new skill that is turned down goes, and
        its history keeps it (None). Raises NotFound, or Refused for a move that isn't allowed.
        """
        with self._changing():
            skill = self.get(name)
            if skill.source != "learned":
                raise Refused(f"{name} is {'built in' if skill.source == 'builtin' else 'yours'}: it has no stages")
            move = replace(move, version=skill.digest)
            moved(self._standing(skill), move)  # before anything is touched
            author = PERSON if move.by == "person" else EVOLVER
            message = message or f"{name} is {move.stage}\n\n{move.reason}"
            if move.stage == "rejected":
                return self._turn_down(skill, move, message, author)
            kept = self._move(self._state, move, message, author)
            if move.stage == "active" and self._previous(name).exists():
                delete_tree(self._previous(name).parent)
                self.reload()
            return kept

    def previous(self, name: str) -> Skill | None:
        """The version before an amendment that is not decided on yet: it serves where the amendment doesn't."""
        return self._earlier.get(name)

    def _turn_down(self, skill: Skill, move: Move, message: str, author: str) -> Skill | None:
        previous = self._previous(skill.name)
        standing = moved(self._standing(skill), move)
        self._log.append([move])
        if not previous.exists():
            delete_tree(skill.path.parent)
            self._write_state(self._state.without(skill.name).with_withdrawn(skill.name, skill.description))
            self._commit(message, author)
            self.reload()
            return None
        data = previous.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        write_atomic(skill.path, data)
        back = replace(move, stage="active", version=digest, reason="the version before the one that was turned down")
        state = self._state.with_learned(skill.name, digest).with_standing(skill.name, standing)
        kept = self._move(state, back, message, author)
        delete_tree(previous.parent)
        self.reload()
        return kept

    def _move(self, state: State, move: Move, message: str, author: str) -> Skill:
        standing = moved(state.standings.get(move.name), move)
        self._log.append([move])
        self._write_state(state.with_standing(move.name, standing))
        self._commit(message, author)
        self.reload()
        return self.get(move.name)

    def _theirs(self, name: str, reason: str) -> State:
        """The state without a stage for this name: a person has taken the skill over."""
        standing = self._state.standings.get(name)
        if standing is None:
            return self._state
        self._log.append([Move(time.time(), name, standing.version, "theirs", "person", reason)])
        if self._previous(name).exists():
            delete_tree(self._previous(name).parent)
        return self._state.with_standing(name, None)

    def _standing(self, skill: Skill) -> Standing | None:
        standing = self._state.standings.get(skill.name)
        return standing if standing is not None and standing.version == skill.digest else None

    def _previous(self, name: str) -> Path:
        return self.user_dir / STATE_FOLDER / "previous" / name / FILE_NAME

    def install(self, package: Package, replace: bool = False) -> Skill:
        """Take in a skill with all its files, as a whole or not at all. Raises Exists unless it may replace one."""
        with self._changing():
            folder = self.user_dir / check_name(package.name)
            if folder.exists() and not replace:
                raise Exists(f"{package.name} is there already: use --replace to take the new one instead")
            self._commit("Record changes made by hand", PERSON)
            incoming = self.user_dir / STATE_FOLDER / "incoming"
            if incoming.exists():
                delete_tree(incoming)
            write_package(package, private_dir(incoming))
            if folder.exists():
                delete_tree(folder)
            incoming.rename(folder)
            state = self._theirs(package.name, "imported by the person")
            self._write_state(state.with_learned(package.name, None).with_withdrawn(package.name, None))
            self._commit(f"Import {package.name}", PERSON)
            self.reload()
            return self.get(package.name)

    def versions(self, name: str) -> list[Version]:
        """The commits that changed a skill, newest first. Raises HistoryError."""
        return self.history.versions(name)

    def diff(self, name: str, commit: str | None = None) -> str:
        """What changed in a skill since a commit (default: in its newest change), as a unified diff."""
        return self.history.diff(name, commit)

    def revert(self, name: str, commit: str | None = None) -> Skill | None:
        """Bring a skill back, byte for byte, as it was at a commit (default: before its newest change).

        None when the skill did not exist then. What is there now is committed first. Raises NotFound, HistoryError.
        """
        with self._changing():
            self._commit("Record changes made by hand", PERSON)
            if self.history_problem:
                raise HistoryError(self.history_problem)
            target = self.history.resolve(name, commit)
            self.history.restore(name, target)
            self._commit(f"Revert {name} to {target[:10]}", PERSON)
            self.reload()
            return self._by_name(name)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One change at a time, among threads and among processes, on the newest content."""
        from filelock import FileLock, Timeout

        with self._lock:
            private_dir(self.user_dir)
            lock = FileLock(private_dir(self.user_dir / STATE_FOLDER) / "lock", timeout=_LOCK_SECONDS, mode=0o600)
            try:
                lock.acquire()
            except Timeout:
                raise Refused(f"{self.user_dir} is being changed by another program: try again") from None
            try:
                self.reload()
                yield
            finally:
                lock.release()

    def _put(self, document: Document, message: str) -> Skill:
        data = write(document)
        self._commit("Record changes made by hand", PERSON)
        folder = private_dir(self.user_dir / document.name)
        state = self._theirs(document.name, "changed by the person")
        self._write_state(state.with_learned(document.name, None).with_withdrawn(document.name, None))
        write_atomic(folder / FILE_NAME, data)
        self._commit(message, PERSON)
        self.reload()
        return self.get(document.name)

    def _by_name(self, name: str) -> Skill | None:
        return next((skill for skill in self._skills if skill.name == name), None)

    def _read_state(self, problems: list[Problem]) -> State:
        try:
            return read_state(self.user_dir)
        except (OSError, ValueError) as error:
            problems.append(
                Problem(state_path(self.user_dir), f"unreadable state, the last one is kept: {error}", True)
            )
            return self._state

    def _write_state(self, state: State) -> None:
        if state != self._state or not state_path(self.user_dir).exists():
            private_dir(self.user_dir / STATE_FOLDER)
            write_atomic(state_path(self.user_dir), state_bytes(state))
            self._state = state

    def _commit(self, message: str, author: str) -> None:
        try:
            self.history.commit(message, author)
            self.history_problem = ""
        except HistoryError as error:
            self.history_problem = str(error)
            _log.warning("skill history: %s", error)


def delete_tree(folder: Path) -> None:
    """Delete a skill's folder; a link is unlinked, never followed."""
    import shutil

    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder)


def _is_content(_: object, path: str) -> bool:
    parts = Path(path).parts
    return ".git" not in parts and (STATE_FOLDER not in parts or parts[-1] == STATE_FILE)


def _same(path: Path, data: bytes) -> bool:
    return path.exists() and path.read_bytes() == data
