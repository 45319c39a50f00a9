"""The git history of the person's skill folder: one commit a change, and every version brought back byte for byte.

Links and very large files are not versioned. dulwich is imported when history is first needed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from metaclaw.skills.errors import HistoryError, NotFound
from metaclaw.skills.format import FILE_NAME
from metaclaw.skills.git_objects import (
    Files,
    commit_of,
    diff_files,
    files_at,
    files_of,
    head_of,
    look_at,
    read_blob,
    scan_folder,
    skill_folders,
    store_blob,
    write_commit,
)
from metaclaw.skills.lifecycle import LOG_FILE
from metaclaw.skills.state import STATE_FILE, STATE_FOLDER
from metaclaw_adapters.files import private_dir, write_atomic

if TYPE_CHECKING:
    from dulwich.objects import Commit
    from dulwich.repo import Repo

PERSON = "You <you@metaclaw.invalid>"
EVOLVER = "MetaClaw <evolver@metaclaw.invalid>"
_STATE = f"{STATE_FOLDER}/{STATE_FILE}"
_STALE_LOCK_SECONDS = 5.0
_LOG = f"{STATE_FOLDER}/{LOG_FILE}"
_EXCLUDED = f"# MetaClaw's working files\n/{STATE_FOLDER}/*\n!/{_STATE}\n!/{_LOG}\n"


@dataclass(frozen=True, slots=True)
class Version:
    """One commit that changed a skill."""

    commit: str
    at: float
    author: str
    message: str
    exists: bool
    enabled: bool
    content: str  # id of the folder's tree: equal for equal files


class History:
    """The history of one folder. Nothing is created before the first commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def commit(self, message: str, author: str) -> str | None:
        """Commit all skill folders and the state as they are on disk; None when nothing changed."""
        with self._repo(create=True) as repo:
            assert repo is not None
            head = head_of(repo)
            before = files_at(repo, head)
            now = self._disk_files(repo)
            ours = {path.split("/")[0] for path in now} | skill_folders(before)
            kept = {path: entry for path, entry in before.items() if path.split("/")[0] not in ours}
            after = {**kept, **now}
            if after == before:
                return None
            commit = write_commit(repo, head, after, message, author)
            self._write_index(repo, after)
            return commit

    def versions(self, name: str, limit: int = 200) -> list[Version]:
        """The commits that changed this skill's files or turned it on or off, newest first."""
        with self._repo() as repo:
            found: list[Version] = []
            commit = None if repo is None else commit_of(repo, head_of(repo))
            while repo is not None and commit is not None and len(found) < limit:
                parent = commit_of(repo, commit.parents[0] if commit.parents else None)
                now, before = look_at(repo, commit, name), look_at(repo, parent, name)
                if now != before:
                    found.append(_version(commit, *now))
                commit = parent
            return found

    def resolve(self, name: str, commit: str | None) -> str:
        """The full id of a commit; by default the one before the newest change of the skill's files."""
        if commit is None:
            versions = self.versions(name)
            if not versions:
                raise NotFound(f"{name} has no history")
            before = next((version for version in versions if version.content != versions[0].content), None)
            if before is not None:
                return before.commit
            raise NotFound(f"{name} has no version before {versions[-1].commit[:10]}")
        with self._repo() as repo:
            wanted = commit.strip().lower().encode()
            at = None if repo is None else commit_of(repo, head_of(repo))
            while repo is not None and at is not None:
                if len(wanted) >= 4 and at.id.startswith(wanted):
                    return at.id.decode()
                at = commit_of(repo, at.parents[0] if at.parents else None)
        raise NotFound(f"no version {commit!r}: `metaclaw skills history {name}` shows them")

    def restore(self, name: str, commit: str) -> None:
        """Write a skill's files as they were at a commit, and delete those that were not there."""
        with self._repo() as repo:
            if repo is None:
                raise NotFound(f"{name} has no history")
            now, then = files_of(files_at(repo, head_of(repo)), name), files_of(files_at(repo, commit.encode()), name)
            if not now and not then:
                raise NotFound(f"{name} did not exist at {commit[:10]}")
            for path in now.keys() - then.keys():
                (self.folder / path).unlink(missing_ok=True)
            for path, (mode, object_id) in then.items():
                target = self.folder / path
                private_dir(target.parent)
                write_atomic(target, read_blob(repo, object_id), mode=0o700 if mode & 0o100 else 0o600)
            _remove_empty(self.folder / name)

    def diff(self, name: str, commit: str | None) -> str:
        """A unified diff of a skill's files: from a commit to the disk, or by default of its newest change."""
        with self._repo() as repo:
            if repo is None:
                raise NotFound(f"{name} has no history")
            if commit is None:
                newest = commit_of(repo, self._newest_change(name).commit.encode())
                assert newest is not None
                old = files_at(repo, newest.parents[0] if newest.parents else None)
                new = files_at(repo, newest.id)
            else:
                old, new = files_at(repo, self.resolve(name, commit).encode()), self._disk_files(repo)
            return diff_files(repo, files_of(old, name), files_of(new, name))

    def _newest_change(self, name: str) -> Version:
        """The newest commit that changed the skill's files."""
        versions = self.versions(name)
        if not versions:
            raise NotFound(f"{name} has no history")
        for version, older in pairwise(versions):
            if version.content != older.content:
                return version
        return versions[-1]

    def _disk_files(self, repo: Repo) -> Files:
        found: Files = {}
        for folder in sorted(self.folder.iterdir()):
            if not folder.name.startswith(".") and not folder.is_symlink() and (folder / FILE_NAME).is_file():
                scan_folder(repo, folder, folder.name, found)
        for name in (_STATE, _LOG):
            path = self.folder / name
            if path.is_file():
                found[name] = (0o100644, store_blob(repo, path.read_bytes()))
        return found

    def _write_index(self, repo: Repo, files: Files) -> None:
        """So that a person's own `git status` is clean; a failure costs only that."""
        from dulwich.index import index_entry_from_stat

        index = repo.open_index()
        mine = skill_folders(files)
        for known in list(index):
            if known.decode(errors="replace") not in files and known.split(b"/")[0].decode(errors="replace") in mine:
                del index[known]
        for path, (mode, object_id) in files.items():
            try:
                info = (self.folder / path).lstat()
            except OSError:
                continue
            index[path.encode()] = index_entry_from_stat(info, object_id, mode=mode)
        index.write()

    @contextmanager
    def _repo(self, create: bool = False) -> Iterator[Repo | None]:
        """The repository, or None when there is none; whatever goes wrong in it becomes a HistoryError."""
        from dulwich.errors import NotGitRepository

        try:
            self._drop_stale_locks()
            repo = self._open(create)
        except (NotGitRepository, OSError, ValueError) as error:
            raise HistoryError(f"{self.folder / '.git'} can't be opened: {error}") from error
        try:
            yield repo
        except (HistoryError, NotFound):
            raise
        except Exception as error:  # a damaged repository fails in as many ways as dulwich has parts
            detail = f"{type(error).__name__}: {error}"
            raise HistoryError(f"{self.folder / '.git'} can't be used: {detail}") from error
        finally:
            if repo is not None:
                repo.close()

    def _open(self, create: bool) -> Repo | None:
        from dulwich.config import StackedConfig
        from dulwich.repo import Repo

        if (self.folder / ".git").exists():
            return Repo(str(self.folder))
        if not create:
            return None
        repo = Repo.init(str(self.folder), default_branch=b"main", config=StackedConfig([]))
        if os.name == "posix":
            (self.folder / ".git").chmod(0o700)
        private_dir(self.folder / ".git" / "info")
        write_atomic(self.folder / ".git" / "info" / "exclude", _EXCLUDED.encode())
        return repo

    def _drop_stale_locks(self) -> None:
        """A program killed in mid-commit leaves its lock files; the library's own lock says that nobody is at it."""
        git = self.folder / ".git"
        for lock in (git / "index.lock", git / "HEAD.lock", *(git / "refs" / "heads").glob("*.lock")):
            try:
                if time.time() - lock.stat().st_mtime > _STALE_LOCK_SECONDS:
                    lock.unlink()
            except OSError:
                continue


def _version(commit: Commit, content: str, enabled: bool) -> Version:
    return Version(
        commit=commit.id.decode(),
        at=float(commit.commit_time),
        author=commit.author.decode(errors="replace").split(" <")[0],
        message=commit.message.decode(errors="replace").strip(),
        exists=bool(content),
        enabled=enabled,
        content=content,
    )


def _remove_empty(folder: Path) -> None:
    if not folder.is_dir() or folder.is_symlink():
        return
    for path in folder.iterdir():
        if path.is_dir():
            _remove_empty(path)
    if not any(folder.iterdir()):
        folder.rmdir()
