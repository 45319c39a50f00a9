"""The real mem0's folder comes in, and what we export goes into the real mem0."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metaclaw_sidecar.errors import Refused
from metaclaw_sidecar.transfer import export, take_in

from .conftest import Open, everything, remember

pytest.importorskip("mem0", reason="mem0ai is not installed")
pytest.importorskip("chromadb", reason="chromadb is not installed")

_MEM0 = """
import hashlib, json, sys
from mem0 import Memory

class Words:
    config = None
    def embed(self, text, *_):
        digest = hashlib.blake2b(text.encode(), digest_size=32).digest()
        return [byte / 255 for byte in digest]
    def embed_batch(self, texts, *_):
        return [self.embed(text) for text in texts]

folder = sys.argv[1]
unused = {"provider": "openai", "config": {"api_key": "none"}}
memory = Memory.from_config({
    "vector_store": {"provider": "chroma", "config": {"path": folder + "/chroma", "collection_name": "notes"}},
    "llm": unused, "embedder": unused, "history_db_path": folder + "/history.db",
})
memory.embedding_model = Words()
"""
_FILL = """
for user, text in (("ann", "Likes figs"), ("ann", "Runs Linux"), ("ben", "喜欢绿茶")):
    memory.add(text, user_id=user, infer=False, metadata={"source": "test"})
first = memory.get_all(filters={"user_id": "ann"})["results"][0]
memory.update(first["id"], first["memory"] + " very much")
"""
_LOAD = """
for row in json.load(open(sys.argv[2], encoding="utf-8"))["results"]:
    owners = {name: row[name] for name in ("user_id", "agent_id", "run_id") if name in row}
    memory.add(row["memory"], infer=False, metadata=row["metadata"], **owners)
for user in ("ann", "ben"):
    print(*sorted(row["memory"] for row in memory.get_all(filters={"user_id": user})["results"]), sep="|")
"""


def mem0(folder: Path, work: str, *arguments: str) -> str:
    """Run the real mem0 in a process of its own, as its users do."""
    environ = os.environ | {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "home"), "PYTHONUTF8": "1"}
    command = [sys.executable, "-c", _MEM0 + work, str(folder), *arguments]
    return subprocess.run(command, env=environ, capture_output=True, check=True, timeout=120, encoding="utf-8").stdout


def test_mem0s_folder_comes_in_and_is_left_as_it_was(open_store: Open, tmp_path: Path) -> None:
    folder = tmp_path / "mem0"
    folder.mkdir()
    mem0(folder, _FILL)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    store = open_store("new")
    done = take_in(store, folder, "auto", into="", default="default")
    assert (done.format, done.added, done.problems) == ("mem0", 3, [])
    assert {one.content for one in everything(store, "user:ben")} == {"喜欢绿茶"}
    assert sum(one.content.endswith("very much") for one in everything(store, "user:ann")) == 1
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    history = take_in(open_store("history"), folder / "history.db", "auto", into="ann", default="default")
    assert (history.format, history.added) == ("mem0", 3)
    with pytest.raises(Refused, match=r"no chroma\.sqlite3"):
        take_in(store, tmp_path / "new", "mem0", into="", default="default")


def test_our_export_goes_into_mem0(open_store: Open, tmp_path: Path) -> None:
    store = open_store("old")
    remember(store, "user:ann", "The user plays chess.", tags=("games",))
    old = remember(store, "ben", "Ben lives in Paris.")
    remember(store, "ben", "Ben lives in Rome.", 1_710_000_000.0, replaces=old)
    file, folder = tmp_path / "mem0.json", tmp_path / "mem0"
    folder.mkdir()
    out = io.BytesIO()
    export(store, out, "mem0", ["user:ann", "ben"], raw=False)
    file.write_bytes(out.getvalue())
    assert mem0(folder, _LOAD, str(file)).splitlines() == ["The user plays chess.", "Ben lives in Rome."]
    again = take_in(open_store("new"), file, "auto", into="", default="default")
    assert (again.format, again.added, again.scopes) == ("mem0", 2, ["user:ann", "user:ben"])
