"""Memories out of a store and into another: everything survives, nothing comes twice, nothing leaks between scopes."""

from __future__ import annotations

import io
import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metaclaw_sidecar.errors import Refused
from metaclaw_sidecar.store import Database, memories, turns
from metaclaw_sidecar.transfer import Imported, export, take_in

from .conftest import Open, everything, remember


def exported(database: Database, form: Any, *scopes: str, raw: bool = True) -> bytes:
    out = io.BytesIO()
    export(database, out, form, scopes, raw=raw)
    return out.getvalue()


def taken(database: Database, folder: Path, data: bytes, **more: Any) -> Imported:
    file = folder / "given"
    file.write_bytes(data)
    return take_in(database, file, more.pop("form", "auto"), **{"into": "", "default": "default", **more})


def filled(database: Database) -> None:
    paris = remember(database, "ann", "The user lives in Paris.", told="I live in Paris", subject="user")
    remember(database, "ann", "The user lives in Berlin.", 1_710_000_000.0, replaces=paris, subject="user")
    more = {"kind": "preference", "pinned": True, "tags": ("sprache",), "importance": 0.9}
    remember(database, "ann", "Antworte auf Deutsch — bitte.", **more)
    remember(database, "ben", "ベンは緑茶が好きです。", kind="preference", expires_at=4e9)


def test_our_own_export_brings_everything_back(open_store: Open, tmp_path: Path) -> None:
    old, new = open_store("old"), open_store("new")
    filled(old)
    done = taken(new, tmp_path, exported(old, "json", "ann", "ben"))
    assert (done.format, done.added, done.turns, done.skipped, done.scopes) == ("json", 4, 1, 0, ["ann", "ben"])
    for scope_id in ("ann", "ben"):
        assert everything(new, scope_id) == everything(old, scope_id)
    berlin = next(one for one in everything(new, "ann") if "Berlin" in one.content)
    with new.reading() as db:
        older = memories.many(db, "ann", memories.predecessors(db, "ann", berlin.memory_id))
        assert [one.content for one in older.values()] == ["The user lives in Paris."]
        paris = next(iter(older.values()))
        assert [one["reason"] for one in memories.versions(db, "ann", paris.memory_id)] == ["created", "imported"]
        told = turns.many(db, "ann", memories.sources(db, paris.memory_id))
        assert [turn.prompt for turn in told.values()] == ["I live in Paris"]


def test_the_same_export_again_adds_nothing(open_store: Open, tmp_path: Path) -> None:
    store = open_store("old")
    filled(store)
    data = exported(store, "json", "ann", "ben")
    before = everything(store, "ann")
    again = taken(store, tmp_path, data)
    assert (again.added, again.turns, again.reinforced) == (0, 0, 4)
    assert everything(store, "ann") == before


def test_another_scope_gets_copies_of_its_own(open_store: Open, tmp_path: Path) -> None:
    store = open_store("old")
    filled(store)
    before = everything(store, "ann")
    done = taken(store, tmp_path, exported(store, "json", "ann"), into="carl")
    assert (done.added, done.scopes) == (3, ["carl"])
    copies = everything(store, "carl")
    assert everything(store, "ann") == before
    assert not {one.memory_id for one in copies} & {one.memory_id for one in before}
    paris, berlin = copies[0], copies[1]
    assert paris.superseded_by == berlin.memory_id


def test_a_dry_run_says_the_same_and_leaves_nothing(open_store: Open, tmp_path: Path) -> None:
    old, new = open_store("old"), open_store("new")
    filled(old)
    data = exported(old, "json", "ann")
    planned = taken(new, tmp_path, data, dry_run=True)
    assert not everything(new, "ann")
    done = taken(new, tmp_path, data)
    assert replace(planned, dry_run=False) == done


def test_a_newer_export_is_refused_and_a_bad_line_is_told(open_store: Open, tmp_path: Path) -> None:
    store = open_store("old")
    with pytest.raises(Refused, match="version 9"):
        taken(store, tmp_path, b'{"format": "metaclaw-memory", "version": 9}\n')
    filled(store)
    lines = exported(store, "json", "ben").splitlines()
    bad = b"\n".join([lines[0], b'{"memory": {"memory_type": "note"}}', b"no json", *lines[1:]])
    done = taken(open_store("new"), tmp_path, bad)
    assert (done.added, done.skipped) == (1, 2)
    assert done.problems[0] == "line 2: ValueError: unknown type 'note'"


def test_markdown_is_for_people_and_comes_back(open_store: Open, tmp_path: Path) -> None:
    old, new = open_store("old"), open_store("new")
    filled(old)
    text = exported(old, "markdown", "ann").decode()
    assert "## Preferences\n\n- [2023-11-14] (pinned) Antworte auf Deutsch — bitte.\n" in text
    assert "Paris" not in text  # it is no longer so
    done = taken(new, tmp_path, text.encode(), into="ann")
    assert (done.format, done.added) == ("markdown", 2)
    held = {one.content: one for one in everything(new, "ann")}
    assert held["Antworte auf Deutsch — bitte."].pinned
    assert held["Antworte auf Deutsch — bitte."].memory_type == "preference"
    assert held["The user lives in Berlin."].valid_from == 1_709_942_400.0  # the day of it


def test_notes_of_a_person_become_memories(open_store: Open, tmp_path: Path) -> None:
    notes = (
        "# Kitchen\n\nWe cook on Sundays,\nall of us.\n\n- [ ] buy figs\n* 1.5 kg flour\n  a month\n\n```\ncode\n```\n"
    )
    store = open_store("new")
    done = taken(store, tmp_path, notes.encode(), into="ann")
    assert done.added == 3
    held = {one.content: one.tags for one in everything(store, "ann")}
    assert set(held) == {"We cook on Sundays,\nall of us.", "buy figs", "1.5 kg flour\na month"}
    assert set(held.values()) == {("Kitchen",)}


def public_file(path: Path) -> None:
    columns = [
        "memory_id", "scope_id", "memory_type", "content", "summary", "source_session_id", "source_turn_start",
        "source_turn_end", "entities", "topics", "importance", "confidence", "access_count", "reinforcement_score",
        "status", "supersedes", "superseded_by", "created_at", "updated_at", "last_accessed_at", "expires_at", "tags",
    ]  # fmt: skip
    rows = [
        ("a1", "default", "semantic", "Lives in Paris", "", "s", 1, 2, '["Paris"]', "[]", 0.5, 0.7, 3, 1.0,
         "superseded", "[]", "a2", "2025-01-02T03:04:05+00:00", "2025-02-01T00:00:00+00:00", None, None, "[]"),
        ("a2", "default", "semantic", "Lives in Berlin", "", "s", 3, 3, "[]", "[]", 0.5, 0.7, 0, 0.0, "active",
         '["a1"]', "", "2025-02-01T00:00:00+00:00", "2025-02-01T00:00:00+00:00", None, "", '["home"]'),
        ("a3", "user:u|workspace:w", "preference", "password: hunter2222 for the wiki", "", "s", 3, 3, "[]", "[]", 0.5,
         0.7, 0, 0.0, "active", "[]", "", 1738368000.0, 1738368000.0, None, None, "[]"),
        ("a4", "default", "note", "?", "", "s", 3, 3, "[]", "[]", 0.5, 0.7, 0, 0.0, "active", "[]", "", "", "", None,
         None, "[]"),
    ]  # fmt: skip
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE memories ({', '.join(columns)})")
        db.executemany(f"INSERT INTO memories VALUES ({', '.join('?' * len(columns))})", rows)
    db.close()


def test_the_public_systems_file_comes_in_with_its_scopes_and_history(open_store: Open, tmp_path: Path) -> None:
    public_file(tmp_path / "public.db")
    store = open_store("new")
    for _ in range(2):
        done = take_in(store, tmp_path / "public.db", "auto", into="", default="default")
    assert (done.format, done.added, done.reinforced, done.skipped) == ("public", 0, 3, 1)
    assert done.problems == ['row 4: unknown type "note"']
    paris, berlin = everything(store, "default")
    assert (paris.status, paris.superseded_by, paris.entities) == ("superseded", berlin.memory_id, ("Paris",))
    assert paris.created_at == 1735787045.0
    (wiki,) = everything(store, "user:u|workspace:w")
    assert wiki.content == "password: [redacted] for the wiki"


def test_our_own_database_and_others_are_refused(open_store: Open, tmp_path: Path) -> None:
    store = open_store("old")
    with pytest.raises(Refused, match="export it"):
        take_in(store, tmp_path / "old" / "memory.sqlite3", "auto", into="", default="d")
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE songs (name)")
    with pytest.raises(Refused, match="neither"):
        take_in(store, tmp_path / "other.db", "auto", into="", default="d")


def test_mem0s_list_comes_in_by_user_agent_and_run(open_store: Open, tmp_path: Path) -> None:
    listed = {
        "results": [
            {"id": "x", "memory": "Likes figs", "user_id": "ann", "created_at": "2025-03-04T05:06:07+00:00"},
            {"id": "y", "memory": "Runs Linux", "agent_id": "coder", "run_id": "r1", "metadata": {"tags": "os, home"}},
            {"id": "z", "memory": "Everybody", "user_id": "*"},
            {"id": "w"},
        ]
    }
    store = open_store("new")
    done = taken(store, tmp_path, json.dumps(listed).encode())
    assert (done.format, done.added, done.skipped) == ("mem0", 2, 2)
    assert done.scopes == ["agent:coder|session:r1", "user:ann"]
    assert everything(store, "user:ann")[0].valid_from == 1741064767.0
    assert everything(store, "agent:coder|session:r1")[0].tags == ("os", "home")
