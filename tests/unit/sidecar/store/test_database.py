"""The file: closing it is safe whoever still reads."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from metaclaw_sidecar.errors import StoreError
from metaclaw_sidecar.store import Database


def test_closing_waits_for_those_who_read_and_refuses_the_next(tmp_path: Path) -> None:
    database = Database(tmp_path / "memory.sqlite3")
    inside, go_on, closed = threading.Event(), threading.Event(), threading.Event()
    seen: list[int] = []

    def read() -> None:
        with database.reading() as db:
            inside.set()
            go_on.wait(10)
            seen.append(db.execute("SELECT count(*) FROM events").fetchone()[0])

    def close() -> None:
        database.close()
        closed.set()

    threads = [threading.Thread(target=read), threading.Thread(target=close)]
    threads[0].start()
    assert inside.wait(10)
    threads[1].start()
    assert not closed.wait(0.3)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert closed.is_set() and seen == [0]
    with pytest.raises(StoreError, match="closed"), database.reading():
        pass
