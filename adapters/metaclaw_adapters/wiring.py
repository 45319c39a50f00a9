"""The engine: carries a plan out so that a crash anywhere can be undone, proves it by reading back, and reverts it."""

from __future__ import annotations

import contextlib
import glob
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from . import manifest as records
from .base import Adapter, ChangeSet, Endpoint, FileChange, Installation, Outcome, State
from .commands import Completed, run
from .decisions import apply_all, changes_for, state_of
from .errors import AdapterError, CommandFailed, Refused
from .files import backup, close_to_others, locked, sweep
from .manifest import FileRecord, Manifest
from .recording import in_force, merged, record_for, unexpected
from .registry import adapters
from .reverting import read_values, revert, write_edited
from .values import ABSENT, Json, describe, dotted, get, same


class Wiring:
    """Wires claws to the gateway and gives them back. What it needs for that lies in `<state_dir>/claws/<claw>/`."""

    def __init__(self, state_dir: Path, environ: Mapping[str, str] | None = None) -> None:
        self._folder = state_dir / "claws"
        self._environ = environ

    def wire(self, adapter: Adapter, endpoint: Endpoint, *, dry_run: bool = False, again: bool = False) -> Outcome:
        """Send the claw's model traffic through the endpoint. A second run changes nothing.

        Where the user has changed what we wrote, that is reported and left, unless `again` says otherwise.
        """
        found = adapter.detect()
        if found is None:
            return Outcome(adapter.name, "absent", notes=(f"{adapter.title} was not found on this machine",))
        if found.blocked:
            snippet = adapter.snippet(found, endpoint)
            return Outcome(adapter.name, "manual", notes=(*found.notes, found.blocked), snippet=snippet)
        with self._locked(adapter.name):
            outcome = self._wire(adapter, found, endpoint, dry_run=dry_run, again=again)
        findings = tuple(adapter.findings(adapter.detect() or found, endpoint))
        return replace(outcome, findings=findings, notes=(*found.notes, *outcome.notes))

    def unwire(self, name: str) -> Outcome:
        """Give the claw back as it was; edits that its user made since stay."""
        with self._locked(name):
            manifest = records.load(self._record(name))
            if manifest is None:
                return Outcome(name, "not_wired", notes=("MetaClaw has changed nothing there",))
            reverts = [revert(record) for record in reversed(manifest.files)]
            records.discard(self._record(name))
            self._forget(manifest, keep=not all(done.exact for done in reverts))
        notes = [note for done in reverts for note in done.notes]
        diff = tuple(line for done in reverts for line in done.diff)
        if adapter := adapters().get(name):
            notes += self._reload(adapter)
        return Outcome(name, "unwired" if diff else "not_wired", diff=diff, notes=tuple(notes))

    def status(self, name: str) -> State:
        """Does what we wrote still stand?"""
        manifest = records.load(self._record(name))
        if manifest is not None:
            return self._state(manifest)
        adapter = adapters().get(name)
        return "not_wired" if adapter is not None and adapter.detect() is not None else "absent"

    def diff(self, adapter: Adapter, endpoint: Endpoint) -> tuple[str, ...]:
        """What wiring would change, line by line, secrets hidden; empty when it would change nothing."""
        return self.wire(adapter, endpoint, dry_run=True, again=True).diff

    def _wire(
        self, adapter: Adapter, found: Installation, endpoint: Endpoint, *, dry_run: bool, again: bool
    ) -> Outcome:
        manifest = records.load(self._record(adapter.name))
        plan = adapter.plan(found, endpoint)
        if manifest is not None and (manifest.state == "planned" or self._state(manifest) != "wired"):
            if manifest.state == "applied" and not again:
                return Outcome(adapter.name, "drifted", notes=tuple(_drifts(manifest)))
            if not dry_run:
                # From the user's own state, not from half of ours: what is recorded as original is never our own.
                for record in reversed(manifest.files):
                    revert(record)
                records.discard(self._record(adapter.name))
                manifest = None
                plan = adapter.plan(adapter.detect() or found, endpoint)
        diff = tuple(line for change in plan.files for line in _diff(change, manifest))
        if not diff:
            by_hand = (
                () if manifest else ("it already points to the gateway; MetaClaw has not done that, nor undoes it",)
            )
            return Outcome(adapter.name, "unchanged", notes=by_hand)
        if dry_run:
            return Outcome(adapter.name, "planned", diff=diff, notes=plan.notes)
        notes = self._apply(plan, manifest)
        return Outcome(adapter.name, "wired", diff=diff, notes=(*plan.notes, *notes, *self._reload(adapter)))

    def _apply(self, plan: ChangeSet, previous: Manifest | None) -> list[str]:
        """Record, write, verify, record again. If any of it fails, everything is put back first."""
        path = self._record(plan.claw)
        steps = [record_for(change, path.parent) for change in plan.files]
        whole = [merged(step, previous) for step in steps]
        records.save(Manifest(plan.claw, "planned", tuple(whole)), path)
        notes: list[str] = []
        try:
            self._run_checks(plan, "before")
            for change in plan.files:
                notes += self._write(change)
            self._run_checks(plan, "after")
        except BaseException as error:
            left = _put_back(steps)
            if previous is None and not left:
                records.discard(path)
            elif previous is not None:
                records.save(previous, path)
            if left and isinstance(error, AdapterError):
                raise type(error)("; ".join([str(error), *left])) from error
            raise
        done = [replace(record, written=backup(record.path, path.parent)) for record in whole]
        records.save(Manifest(plan.claw, "applied", tuple(done)), path)
        return notes

    def _write(self, change: FileChange) -> list[str]:
        document = change.document
        if change.writer is None:
            wanted = changes_for(document.value, change.edits)
            write_edited(document.path, document.format, document.data, wanted, change.within, secret=change.secret)
        else:
            answer = run(change.writer, self._environ)
            if answer.code != 0:
                raise Refused(f"`{change.writer.argv[0]}` refused the change: {answer.said()}")
        _, value = read_values(document.path, document.format)
        if changes_for(value, change.edits):
            missing = ", ".join(dotted(edit.keys) for edit in change.edits if not edit.holds(value))
            raise Refused(f"{document.path} does not hold the change after writing ({missing})")
        if change.secret:
            close_to_others(document.path)
        return unexpected(change, value)

    def _run_checks(self, plan: ChangeSet, when: str) -> None:
        for change in plan.files:
            for check in change.before if when == "before" else change.after:
                answer = run(check.command, self._environ)
                told = answer.said() if answer.code else ""
                if not told and check.expect is not ABSENT:
                    value = get(_answer(answer), check.at)
                    told = "" if same(value, check.expect) else f"it answered {value!r}, not {check.expect!r}"
                if told:
                    raise Refused(f"{check.why}: {told}")

    def _reload(self, adapter: Adapter) -> list[str]:
        found = adapter.detect()
        command = adapter.reload(found) if found is not None else None
        if command is None:
            return []
        try:
            answer = run(command, self._environ)
        except CommandFailed as error:
            return [f"written; it takes effect at {adapter.title}'s next start ({error})"]
        if answer.code != 0:
            return [f"written; it takes effect at {adapter.title}'s next start ({answer.said()})"]
        return []

    def _state(self, manifest: Manifest) -> State:
        states: set[State] = set()
        for record in manifest.files:
            if not record.path.exists():
                states.add("absent" if record.saved is not None else "not_wired")
            else:
                states.add(state_of(read_values(record.path, record.format)[1], record.edits))
        return states.pop() if len(states) == 1 else "drifted"

    def _forget(self, manifest: Manifest, *, keep: bool) -> None:
        """Delete the copies, which hold its user's keys; keep the originals where the claw isn't exactly as it was."""
        originals = {record.saved.copy.name for record in manifest.files if record.saved is not None}
        sweep(self._record(manifest.claw))
        for record in manifest.files:
            for copy in self._record(manifest.claw).parent.glob(f"{glob.escape(record.path.name)}.*"):
                if not keep or copy.name not in originals:
                    copy.unlink(missing_ok=True)

    def _record(self, name: str) -> Path:
        return self._folder / name / "manifest.json"

    @contextlib.contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        with locked(self._folder / name / "lock"):
            yield


def _put_back(steps: list[FileRecord]) -> list[str]:
    """After a failure: every file as it was a moment ago. Returns what could not be made so, and where its copy is."""
    left = []
    for step in reversed(steps):
        try:
            exact, failed = revert(replace(step, exact=True)).exact, ""
        except (AdapterError, OSError) as error:
            exact, failed = False, f" ({error})"
        if not exact:
            copy = step.saved.copy if step.saved is not None else "not needed: there was no such file"
            left.append(f"{step.path} is not as it was before{failed}; its copy: {copy}")
    return left


def _diff(change: FileChange, manifest: Manifest | None) -> list[str]:
    """The lines this change would alter; none if it was made before and still holds."""
    tree = change.document.value
    known = [record for record in manifest.files if record.path == change.document.path] if manifest else []
    record = known[0] if known else None
    if all(in_force(edit, record, tree) for edit in change.edits):
        return []
    return describe(tree, apply_all(tree, change.edits))


def _drifts(manifest: Manifest) -> Iterator[str]:
    for record in manifest.files:
        tree = read_values(record.path, record.format)[1]
        for edit in record.edits:
            if not edit.holds(tree):
                yield f"{dotted(edit.keys)} in {record.path} was changed since MetaClaw set it; it is left as it is"


def _answer(answer: Completed) -> Json:
    try:
        return json.loads(answer.out)
    except ValueError:
        return ABSENT
