"""Tuning by replay: on a copy, by held-out turns, with a yes, and with a way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaclaw_sidecar.errors import Refused
from metaclaw_sidecar.settings import Settings, load
from metaclaw_sidecar.store import Database, turns
from metaclaw_sidecar.tuning import Policy, Tuner

_FRUITS = ("quince", "medlar", "loquat", "sloe", "damson", "mulberry", "persimmon", "rambutan", "cherimoya", "feijoa")
_TOWNS = ("Lund", "Ghent", "Siena", "Tartu", "Braga", "Graz", "Delft", "Bergen", "Toledo", "Vilnius")


def told(path: Path) -> None:
    """Sessions in which a thing is told, and others that ask for it."""
    database = Database(path)

    def fill(tx: object) -> None:
        at = 1_770_000_000.0
        for round_ in range(12):
            for fruit, town in zip(_FRUITS, _TOWNS, strict=True):
                name = f"{fruit}{round_}"
                place = f"{town}{round_}"
                said = turns.fresh("ann", f"told-{name}", f"My {name} tree grows in {place}", "I see.", at)
                asked = turns.fresh(
                    "ann", f"asked-{name}", f"where does the {name} tree grow", f"In {place}.", at + 86_400
                )
                for turn in (said, asked):
                    turns.buffer(tx, turn, "", 1000)  # type: ignore[arg-type]
                at += 60

    database.write(fill).result()
    database.close()


def settings(folder: Path, **more: str) -> Settings:
    given = {"memory_dir": str(folder), "embedder": "none", "mode": "keyword", **more}
    return load({f"METACLAW_SIDECAR_{name.upper()}": value for name, value in given.items()}, {})


async def test_a_setting_that_hides_memories_is_found_out_reviewed_and_taken_back(tmp_path: Path) -> None:
    store = tmp_path / "memory.sqlite3"
    told(store)
    before = store.read_bytes()
    adopted: list[Settings] = []
    strict = settings(tmp_path, recall_score="0.99")
    tuner = Tuner(strict, store, adopted.append)
    tuner.start()
    assert await tuner.run()
    status = tuner.status()
    assert status["state"] == "proposed"
    assert status["last"]["better"]
    assert status["last"]["after"] > status["last"]["before"] + 0.2
    assert status["current"] == {"mode": "keyword", "recall_score": 0.99, "top_k": 5}
    assert status["proposed"]["recall_score"] < 0.99
    assert not adopted  # nothing without a yes
    assert store.read_bytes() == before
    assert not any((tmp_path / "tuning").iterdir())  # the copy has gone

    status = tuner.approve()
    assert (status["state"], status["current"]) == ("idle", adopted[0].model_dump(include=set(status["current"])))
    with pytest.raises(Refused, match="nothing waits"):
        tuner.reject()

    again = Tuner(strict, store, adopted.append)  # the next start of the service
    again.start()
    assert adopted[1] == adopted[0]
    assert again.rollback()["current"]["recall_score"] == 0.99
    assert adopted[2].recall_score == 0.99
    assert [one["what"] for one in again.status()["history"]] == ["rolled back", "approved", "proposed"]
    with pytest.raises(Refused, match="nothing to go back to"):
        again.rollback()


async def test_without_review_it_is_put_in_force_and_another_configuration_ends_it(tmp_path: Path) -> None:
    store = tmp_path / "memory.sqlite3"
    told(store)
    adopted: list[Settings] = []
    tuner = Tuner(settings(tmp_path, recall_score="0.99", auto_upgrade_require_review="false"), store, adopted.append)
    assert await tuner.run()
    assert len(adopted) == 1
    assert tuner.status()["history"][0]["what"] == "promoted"
    changed = Tuner(settings(tmp_path, recall_score="0.3"), store, adopted.append)
    changed.start()
    assert len(adopted) == 1
    assert Policy.read(changed.status()["current"]) == Policy("keyword", 0.3, 5)


async def test_an_empty_store_changes_nothing(tmp_path: Path) -> None:
    store = tmp_path / "memory.sqlite3"
    Database(store).close()
    tuner = Tuner(settings(tmp_path), store, lambda _: None)
    assert not await tuner.run()
    assert tuner.status()["last"]["reason"] == "too few turns: 0 to choose on and 0 to judge on"
    tuner.status()


async def test_a_store_that_cant_be_read_is_said_so(tmp_path: Path) -> None:
    tuner = Tuner(settings(tmp_path), tmp_path / "none.sqlite3", lambda _: None)
    with pytest.raises(Refused, match="nothing was changed"):
        await tuner.run()
