"""The queue, the groups, and what happens when writing goes wrong."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from metaclaw.journal import Call, Journal, JournalError, sqlite_url
from metaclaw.journal.database import open_engine
from metaclaw.journal.writer import Writer

from .sample import Talk, digest


class Gate:
    """Holds the writer thread inside an item until it is opened."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.entered, self.open = threading.Event(), threading.Event()

    def __call__(self) -> Call:
        self.entered.set()
        assert self.open.wait(20)
        return self._call


def bad(call: Call) -> Call:
    """A call that no database takes."""
    return replace(call, http_status="teapot", session=replace(call.session, opening=object()))  # type: ignore[arg-type]


def test_threads_that_write_at_once_get_every_row_once(journal: Journal) -> None:
    def speak(name: str, futures: list[Future[None]]) -> None:
        talk = Talk(name)
        for number in range(50):
            futures.append(journal.append(talk.exchange(f"question {number}")))

    futures: list[Future[None]] = []
    threads = [threading.Thread(target=speak, args=(f"talk{number}", futures)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for future in futures:
        future.result(20)
    assert len(futures) == journal.written == 400
    for number in range(8):
        assert [turn.number for turn in journal.turns(f"talk{number}", limit=99)] == list(range(1, 51))
    assert journal.queued == 0


def test_what_queues_up_goes_into_one_transaction(url: str) -> None:
    engine = open_engine(url)
    commits: list[sa.Connection] = []
    sa.event.listen(engine, "commit", commits.append)
    writer = Writer(engine)
    gate = Gate(Talk("gate").exchange())
    first = writer.append(gate)
    assert gate.entered.wait(10)
    talk = Talk()
    rest = [writer.append(talk.exchange(str(number))) for number in range(100)]
    gate.open.set()
    for future in (first, *rest):
        future.result(10)
    writer.close(10)
    assert len(commits) == 2


def test_close_writes_what_is_queued(url: str) -> None:
    journal = Journal.open(url)
    talk = Talk()
    futures = [journal.append(talk.exchange(str(number))) for number in range(200)]
    journal.close()
    assert all(future.done() and not future.exception() for future in futures)
    again = Journal.open(url)
    assert len(again.turns("talk", limit=999)) == 200
    again.close()


def test_a_callable_is_run_in_the_writer_thread(journal: Journal) -> None:
    ran: list[str] = []
    talk = Talk()

    def assemble() -> Call:
        ran.append(threading.current_thread().name)
        return talk.exchange("assembled")

    journal.append(assemble).result(10)
    assert ran == ["journal-writer"]
    assert journal.turns("talk", limit=1)[0].user_text == "assembled"


def test_an_item_that_cannot_be_written_fails_alone(journal: Journal) -> None:
    gate = Gate(Talk("gate").exchange())
    first = journal.append(gate)
    assert gate.entered.wait(10)
    talk = Talk()

    def broken() -> Call:
        raise ValueError("no such answer")

    good = [journal.append(talk.exchange("one")), journal.append(talk.exchange("three"))]
    wrong = [journal.append(bad(Talk("bad").exchange("two"))), journal.append(broken)]
    good.append(journal.append(talk.exchange("four")))
    gate.open.set()
    for future in (first, *good):
        future.result(10)
    for future in wrong:
        with pytest.raises(JournalError, match="could not be written"):
            future.result(10)
    assert [turn.user_text for turn in journal.turns("talk", limit=9)] == ["one", "three", "four"]
    assert journal.session("bad") is None
    assert (journal.written, journal.failed) == (4, 2)


def test_a_full_queue_refuses_at_once_and_counts(file: Path) -> None:
    writer = Writer(open_engine(sqlite_url(file)), max_items=3)
    gate = Gate(Talk("gate").exchange())
    writer.append(gate)
    assert gate.entered.wait(10)
    talk = Talk()
    futures = [writer.append(talk.exchange(str(number))) for number in range(5)]
    with pytest.raises(JournalError, match="queue is full"):
        futures[3].result(0)
    assert writer.dropped == 2
    gate.open.set()
    for future in futures[:3]:
        future.result(10)
    writer.close(10)
    assert writer.written == 4


def test_the_queue_is_bounded_in_bytes_but_takes_one_large_item(file: Path) -> None:
    writer = Writer(open_engine(sqlite_url(file)), max_bytes=100_000)
    gate = Gate(Talk("gate").exchange())
    writer.append(gate)
    assert gate.entered.wait(10)
    talk = Talk()
    large = writer.append(talk.exchange("x" * 500_000))
    refused = writer.append(talk.exchange("y"))
    assert refused.exception(0) is not None
    gate.open.set()
    large.result(10)
    writer.append(lambda: talk.exchange("z"), size=90_000).result(10)
    writer.close(10)


async def test_a_caller_that_stops_waiting_does_not_take_its_turn_back(journal: Journal) -> None:
    gate = Gate(Talk("gate").exchange())
    journal.append(gate)
    talk = Talk()
    future = journal.append(talk.exchange("kept"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.wrap_future(future), 0.01)
    gate.open.set()
    await asyncio.to_thread(future.result, 10)
    assert len(journal.turns("talk", limit=9)) == 1


def test_what_is_not_written_within_the_time_to_close_fails(file: Path) -> None:
    journal = Journal.open(sqlite_url(file))
    gate = Gate(Talk("gate").exchange())
    journal.append(gate)
    assert gate.entered.wait(10)
    late = journal.append(Talk().exchange())
    journal.close(timeout=0.05)
    with pytest.raises(JournalError, match="closed before"):
        late.result(0)
    gate.open.set()


def test_a_lock_held_by_another_program_delays_writing_and_loses_nothing(file: Path) -> None:
    journal = Journal.open(sqlite_url(file))
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    future = journal.append(Talk().exchange())
    with pytest.raises(TimeoutError):
        future.result(0.2)
    other.execute("ROLLBACK")
    future.result(10)
    journal.close()


def test_a_key_of_any_bytes_is_a_key(journal: Journal) -> None:
    talk = Talk()
    keys = [b"", b"\0", b"\0\0", b"\xff", digest("x")]
    for future in [journal.append(talk.exchange(key.hex(), turn_key=key)) for key in keys]:
        future.result(10)
    assert len(journal.turns("talk", limit=9)) == len(keys)
