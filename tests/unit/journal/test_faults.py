"""The process is killed, the disk is full, the folder is read-only, the server goes away."""

from __future__ import annotations

import json
import os
import random
import select
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest
import sqlalchemy as sa

from metaclaw.journal import Journal, JournalError, Unreadable, sqlite_url

from .conftest import Postgres
from .sample import Talk

ROOT = Path(__file__).parents[3]


def killed_while_writing(url: str, name: str, lines: int) -> list[tuple[str, int, int]]:
    """What a writing process had acknowledged when it was killed, some time behind its first `lines` lines."""
    command = [sys.executable, "-m", "tests.unit.journal.writing", url, name]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        output = b""
        while output.count(b"\n") < lines:
            assert select.select([process.stdout], [], [], 30)[0], "the writing process is silent"
            output += os.read(process.stdout.fileno(), 65536)
        process.kill()
        output += process.stdout.read()
    whole = output[: output.rindex(b"\n")].decode().splitlines()
    return [(session, int(number), int(said)) for session, number, said in (line.split() for line in whole)]


@pytest.mark.skipif(sys.platform == "win32", reason="select on a pipe, and kill -9, are POSIX")
def test_what_was_acknowledged_before_kill_9_is_there_once(url: str) -> None:
    rng = random.Random(20261201)
    for round_ in range(4):
        acknowledged = killed_while_writing(url, f"round{round_}", rng.randint(4, 250))
        newest: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for session, number, said in acknowledged:
            newest[session] = max(newest[session], (number, said))
        journal = Journal.open(url)
        for session, (number, said) in newest.items():
            turns = journal.turns(session, limit=100_000)
            numbers = [turn.number for turn in turns]
            assert numbers == list(range(1, len(numbers) + 1))
            assert number <= len(numbers) <= number + 1  # at most the one in flight was written unacknowledged
            assert all(turn.status == "ok" for turn in turns[:number])
            chains = journal.chains(session)
            assert said <= len(chains) == len(set(chains))
        events = journal.events(0, kinds=["turn"], limit=1_000_000)
        assert len({event.turn_id for event in events}) == len(events)
        journal.append(Talk(f"after{round_}").exchange()).result(10)
        journal.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the limit on file sizes is POSIX")
def test_a_full_disk_fails_turns_and_loses_none_that_was_acknowledged(file: Path) -> None:
    command = [sys.executable, "-m", "tests.unit.journal.filling", str(file)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    seen = json.loads(done.stdout)
    assert seen["failed"] == len(seen["errors"]) > 0
    assert all(error.startswith("journal could not be written: ") for error in seen["errors"])
    assert seen["readable"] == len(seen["acknowledged"]) - 1
    journal = Journal.open(sqlite_url(file))
    texts = [" ".join(turn.user_text.split()[:2]) for turn in journal.turns("talk", limit=999)]
    assert texts == seen["acknowledged"]
    journal.close()
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_disk_without_a_free_block_is_survived(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a small disk can't be mounted here")
    try:
        journal = Journal.open(sqlite_url(disk / "journal.sqlite3"))
        talk = Talk()
        futures = [journal.append(talk.exchange(f"{number} " + "x" * 20_000)) for number in range(60)]
        written = sum(future.exception(60) is None for future in futures)
        assert 0 < written < 60
        assert len(journal.turns("talk", limit=99)) == written
        subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
        journal.append(talk.exchange("after")).result(20)
        assert len(journal.turns("talk", limit=99)) == written + 1
        journal.close()
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_journal_that_became_read_only_is_still_read_and_says_why_it_does_not_write(file: Path) -> None:
    journal = Journal.open(sqlite_url(file))
    journal.append(Talk().exchange("kept")).result(10)
    with journal._engine.connect() as connection:  # every connection of the pool, the writer's among them
        connection.exec_driver_sql("PRAGMA query_only = ON")
    journal._writer.run(lambda connection: connection.exec_driver_sql("PRAGMA query_only = ON")).result()
    with pytest.raises(JournalError, match="readonly"):
        journal.append(Talk().exchange("lost")).result(20)
    assert [turn.user_text for turn in journal.turns("talk", limit=9)] == ["kept"]
    journal.close()


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(Unreadable, match=r"can't be opened: .*; check its owner, mode and disk"):
        Journal.open(sqlite_url(tmp_path / "file" / "journal.sqlite3"))


@pytest.mark.postgres
def test_a_server_that_crashed_and_came_back_is_written_to_again(postgres: Postgres) -> None:
    journal = Journal.open(postgres.database())
    talk = Talk()
    journal.append(talk.exchange("before")).result(10)
    postgres.crash()
    with pytest.raises(JournalError, match="could not be written"):
        journal.append(talk.exchange("down")).result(30)
    with pytest.raises(Unreadable):
        journal.sessions()
    postgres.start()
    journal.append(talk.exchange("after")).result(30)
    assert [turn.user_text for turn in journal.turns("talk", limit=9)] == ["before", "after"]
    journal.close()


@pytest.mark.postgres
def test_a_commit_that_took_place_while_the_connection_broke_is_not_repeated(postgres: Postgres) -> None:
    url = postgres.database()
    journal = Journal.open(url)
    talk = Talk()
    journal.append(talk.exchange("before")).result(10)
    commits = 0

    @sa.event.listens_for(journal._engine, "commit")
    def cut_behind_the_commit(connection: sa.Connection) -> None:
        nonlocal commits
        commits += 1
        if commits == 1:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            raw.commit()  # it arrives at the server, and then the answer is lost
            raw.execute("BEGIN")  # type: ignore[attr-defined]
            with postgres.connect() as other:
                other.execute("SELECT pg_terminate_backend(%s)", [raw.info.backend_pid])  # type: ignore[attr-defined]

    deadline = time.monotonic() + 30
    journal.append(talk.exchange("once")).result(30)
    assert time.monotonic() < deadline
    (turn,) = [turn for turn in journal.turns("talk", limit=9) if turn.user_text == "once"]
    assert turn.calls == 1
    journal.close()
