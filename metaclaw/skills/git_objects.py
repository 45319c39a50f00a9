"""Git objects of skill folders: read from disk past every filter, written, listed and compared."""

from __future__ import annotations

import difflib
import json
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaclaw.skills.errors import HistoryError
from metaclaw.skills.format import FILE_NAME
from metaclaw.skills.state import STATE_FILE, STATE_FOLDER

if TYPE_CHECKING:
    from dulwich.objects import Commit
    from dulwich.repo import Repo

MAX_VERSIONED_BYTES = 10 * 1024 * 1024
Files = dict[str, tuple[int, bytes]]  # path, "/"-separated: git mode, object id in hexadecimal


def head_of(repo: Repo) -> bytes | None:
    """The id of the newest commit; None before the first."""
    try:
        return repo.head()
    except KeyError:
        return None


def commit_of(repo: Repo, commit_id: bytes | None) -> Commit | None:
    """The commit with this id."""
    from dulwich.objects import Commit

    if commit_id is None:
        return None
    found: Any = repo.object_store[commit_id]  # type: ignore[index]
    return found if isinstance(found, Commit) else None


def files_at(repo: Repo, commit_id: bytes | None) -> Files:
    """All files at a commit; none before the first."""
    from dulwich.object_store import iter_tree_contents

    commit = commit_of(repo, commit_id)
    if commit is None:
        return {}
    return {
        entry.path.decode(): (entry.mode, entry.sha)
        for entry in iter_tree_contents(repo.object_store, commit.tree)
        if entry.path is not None and entry.mode is not None and entry.sha is not None
    }


def skill_folders(files: Files) -> set[str]:
    """The top folders that hold skills or their state."""
    return {path.split("/")[0] for path in files if path.count("/") == 1 and path.endswith(f"/{FILE_NAME}")} | {
        STATE_FOLDER
    }


def files_of(files: Files, name: str) -> Files:
    """The files of one skill, without paths that lead out of its folder."""
    return {path: entry for path, entry in files.items() if path.startswith(f"{name}/") and _harmless(path)}


def _harmless(path: str) -> bool:
    parts = path.split("/")
    return all(part not in ("", ".", "..") and part.lower() != ".git" and "\\" not in part for part in parts)


def scan_folder(repo: Repo, folder: Path, prefix: str, found: Files) -> None:
    """Put a skill's files into the store, and list them in `found`."""
    for path in sorted(folder.iterdir()):
        info = path.lstat()
        inner = f"{prefix}/{path.name}"
        if stat.S_ISDIR(info.st_mode) and path.name != ".git":
            scan_folder(repo, path, inner, found)
        elif stat.S_ISREG(info.st_mode) and info.st_size <= MAX_VERSIONED_BYTES and not path.name.endswith(".tmp"):
            mode = 0o100755 if info.st_mode & 0o100 else 0o100644
            found[inner] = (mode, store_blob(repo, path.read_bytes()))


def store_blob(repo: Repo, data: bytes) -> bytes:
    """Put bytes into the store; their id."""
    from dulwich.objects import Blob

    blob = Blob.from_string(data)
    if blob.id not in repo.object_store:
        repo.object_store.add_object(blob)
    return blob.id


def read_blob(repo: Repo, object_id: bytes) -> bytes:
    """Bytes out of the store."""
    found: Any = repo.object_store[object_id]  # type: ignore[index]
    return bytes(found.data)


def write_commit(repo: Repo, head: bytes | None, files: Files, message: str, author: str) -> str:
    """Commit these files on top of `head`; the new commit's id. Raises HistoryError when somebody was faster."""
    from dulwich.index import commit_tree
    from dulwich.objects import Commit

    blobs: Any = [(path.encode(), object_id, mode) for path, (mode, object_id) in files.items()]
    commit = Commit()
    commit.tree = commit_tree(repo.object_store, blobs)
    commit.parents = [head] if head else []  # type: ignore[list-item]
    commit.author = commit.committer = author.encode()
    commit.author_time = commit.commit_time = int(time.time())
    commit.author_timezone = commit.commit_timezone = 0
    commit.encoding = b"UTF-8"
    commit.message = (message.rstrip("\n") + "\n").encode()
    repo.object_store.add_object(commit)
    if not repo.refs.set_if_equals(b"HEAD", head, commit.id):  # type: ignore[arg-type]
        raise HistoryError("another program committed at the same time")
    return commit.id.decode()


def look_at(repo: Repo, commit: Commit | None, name: str) -> tuple[str, bool]:
    """Id of the skill's folder at a commit (empty: not there), and whether the skill was on."""
    if commit is None:
        return "", True
    tree: Any = repo.object_store[commit.tree]
    content = tree[name.encode()][1].decode() if name.encode() in tree else ""
    if STATE_FOLDER.encode() not in tree:
        return content, True
    inner: Any = repo.object_store[tree[STATE_FOLDER.encode()][1]]
    try:
        state = json.loads(read_blob(repo, inner[STATE_FILE.encode()][1]))
        return content, name not in state["disabled"]
    except (KeyError, ValueError, TypeError):
        return content, True


def diff_files(repo: Repo, old: Files, new: Files) -> str:
    """A unified diff of two states."""
    lines: list[str] = []
    for path in sorted(old.keys() | new.keys()):
        before, after = (files[path][1] if path in files else None for files in (old, new))
        if before == after:
            continue
        texts = [read_blob(repo, item) if item is not None else b"" for item in (before, after)]
        try:
            a, b = (text.decode().splitlines(keepends=True) for text in texts)
        except UnicodeDecodeError:
            lines.append(f"Binary file {path} differs\n")
            continue
        names = (f"a/{path}" if before else "/dev/null", f"b/{path}" if after else "/dev/null")
        lines += [
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(a, b, *names)
        ]
    return "".join(lines)
