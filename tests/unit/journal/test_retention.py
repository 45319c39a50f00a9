"""What is old is forgotten without holding up what is new."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import sqlalchemy as sa

from metaclaw.journal import Journal, SessionEnd, sqlite_url
from metaclaw.journal.schema import metadata

from .sample import START, Talk, injection

YEAR = 365 * 86400.0


def fill(journal: Journal, *items: object) -> None:
    for future in [journal.append(item) for item in items]:
        future.result(20)


def rows(journal: Journal) -> dict[str, int]:
    with journal._engine.connect() as connection:
        return {
            name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }


def test_a_session_that_is_over_goes_with_all_that_hangs_on_it(journal: Journal) -> None:
    old, new = Talk("old"), Talk("new", at=START + YEAR)
    for number in range(130):
        fill(journal, old.exchange(str(number), injection=injection(old) if number else None))
    fill(journal, old.exchange("x", kind="side", messages=[]), SessionEnd("old", "idle", START + 5))
    fill(journal, new.exchange("kept"), new.exchange("kept", kind="side", messages=[]))
    assert journal.delete_before(START + YEAR) == 130
    assert journal.session("old") is None
    left = {"sessions": 1, "turns": 1, "messages": 2, "calls": 2, "injections": 0, "numbering": 1, "cursors": 0}
    assert rows(journal) == left | {"events": 1 if journal.events(0, kinds=["session_started"], limit=9) == [] else 2}
    assert [turn.user_text for turn in journal.turns("new", limit=9)] == ["kept"]


def test_a_session_that_goes_on_keeps_its_lineage_and_injections_without_the_words(journal: Journal) -> None:
    talk = Talk()
    first = talk.exchange("old words")
    kept = injection(talk)
    fill(journal, talk.exchange("x", messages=first.messages, injection=kept, turn_key=first.turn_key))
    lineage = journal.chains("talk")
    talk.at += YEAR
    fill(journal, talk.exchange("new words"))
    assert journal.delete_before(START + YEAR / 2) == 1
    assert [turn.user_text for turn in journal.turns("talk", limit=9)] == ["new words"]
    assert journal.messages("talk")[0].text == "new words"
    assert journal.chains("talk")[: len(lineage)] == lineage
    assert journal.injections("talk") == [kept]
    assert journal.find_by_chain(lineage[:1])[0][1].id == "talk"
    fill(journal, talk.exchange("newer"))
    assert [turn.number for turn in journal.turns("talk", limit=9)] == [2, 3]
    assert journal.delete_before(START + 3 * YEAR) == 2
    assert rows(journal)["messages"] == rows(journal)["sessions"] == 0


def test_ids_are_not_given_out_again_when_everything_is_forgotten(journal: Journal) -> None:
    fill(journal, Talk("a").exchange(), Talk("b").exchange())
    (last,) = journal.events(0, kinds=["turn"], limit=9)[-1:]
    journal.advance("skills", last.id)
    journal.delete_before(START + YEAR)
    fill(journal, Talk("c").exchange())
    with journal.reading("skills", kinds=["turn"]) as reading:
        assert [(event.session_id, event.turn_id) for event in reading] == [("c", 3)]


def test_turns_are_written_while_old_ones_are_deleted(journal: Journal) -> None:
    old = Talk("old")
    fill(journal, *(old.exchange(str(number)) for number in range(1500)))
    deleted: list[int] = []
    thread = threading.Thread(target=lambda: deleted.append(journal.delete_before(START + YEAR)))
    new = Talk("new", at=START + 2 * YEAR)
    thread.start()
    meanwhile = 0
    while not deleted:
        journal.append(new.exchange(str(meanwhile))).result(10)
        meanwhile += 1
    thread.join()
    assert deleted == [1500]
    assert meanwhile > 3
    assert len(journal.turns("new", limit=100_000)) == meanwhile


def test_vacuum_gives_the_space_back(journal: Journal) -> None:
    fill(journal, Talk().exchange())
    journal.vacuum()
    assert len(journal.turns("talk", limit=9)) == 1


def test_vacuum_makes_the_file_smaller(file: Path) -> None:
    journal = Journal.open(sqlite_url(file))
    talk = Talk()
    fill(journal, *(talk.exchange("x" * 10_000) for _ in range(200)))
    journal.delete_before(START + YEAR)
    journal.vacuum()
    journal.close()
    assert os.path.getsize(file) < 300_000
