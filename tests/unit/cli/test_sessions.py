"""`metaclaw sessions`, over a real journal."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metaclaw.journal import Call, Journal, Message, Session, Usage, sqlite_url
from metaclaw.supervisor import Running, observe
from metaclaw.supervisor.gateway import any_gateway
from tests.unit.cli.conftest import Metaclaw


def message(role: str, text: str) -> Message:
    digest = hashlib.sha256(text.encode()).digest()
    return Message(role, json.dumps({"role": role, "content": text}).encode(), text, digest, digest)


@pytest.fixture
def journal(state: Path) -> Path:
    """A journal with two conversations, the second one newer."""
    state.mkdir(mode=0o700)
    file = state / "journal.sqlite3"
    opened = Journal.open(sqlite_url(file))
    for number, id in enumerate(("first", "second")):
        at = 1_700_000_000.0 + 1000 * number
        for turn, said in enumerate(("tidy my desk", "\x1b[31mnow\nthe floor")):
            call = Call(
                session=Session(id=id, claw="openclaw", model="kimi-k2.5", started_at=at, last_at=at + turn),
                kind="main",
                turn_key=said.encode(),
                user_text=said,
                answer_text=f"done: {said}",
                messages=[message("user", f"{id} {said}"), message("assistant", f"{id} done {said}")],
                recalled=[{"kind": "skill", "name": "tidy-first", "version": "1", "score": 0.9, "tokens": 12}],
                started_at=at + turn,
                usage=Usage(prompt=100, completion=7),
            )
            opened.append(call).result(10)
    opened.close()
    return file


def test_without_a_journal_there_is_nothing_and_nothing_is_made(metaclaw: Metaclaw, state: Path) -> None:
    assert metaclaw("sessions", "list").err == "No conversation yet.\n"
    assert metaclaw("sessions", "list", "--json").out == "[]\n"
    assert not (state / "journal.sqlite3").exists()
    assert metaclaw("sessions", "show", "x").code == 1


def test_list_has_the_newest_first(metaclaw: Metaclaw, journal: Path) -> None:
    lines = metaclaw("sessions", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["id", "second", "first"]
    assert lines[1].split()[-5:] == ["2", "open", "tidy", "my", "desk"]
    rows = json.loads(metaclaw("sessions", "list", "--json", "--limit", "1").out)
    assert [(row["id"], row["turns"], row["said"]) for row in rows] == [("second", 2, "tidy my desk")]


def test_show_prints_what_was_said_without_steering_the_terminal(metaclaw: Metaclaw, journal: Path) -> None:
    ran = metaclaw("sessions", "show", "first")
    assert ran.code == 0
    assert "> tidy my desk\ndone: tidy my desk\nrecalled: tidy-first\n" in ran.out
    assert "now\nthe floor" in ran.out
    assert "\x1b" not in ran.out
    found = json.loads(metaclaw("sessions", "show", "first", "--json").out)
    assert [turn["user_text"] for turn in found["conversation"]] == ["tidy my desk", "\x1b[31mnow\nthe floor"]


def test_turns_are_listed_in_order(metaclaw: Metaclaw, journal: Path) -> None:
    lines = metaclaw("sessions", "turns", "first").out.splitlines()
    assert len(lines) == 3
    assert "107" in lines[1]
    assert "tidy my desk" in lines[1]
    assert "\x1b" not in lines[2]
    (row,) = json.loads(metaclaw("sessions", "turns", "first", "--after", "1", "--json").out)
    assert (row["number"], row["usage"]["prompt"]) == (2, 100)


def test_close_ends_a_conversation_once(metaclaw: Metaclaw, journal: Path) -> None:
    assert metaclaw("sessions", "close", "first").out == "first is ended\n"
    assert metaclaw("sessions", "close", "first").out == "first had ended\n"
    assert json.loads(metaclaw("sessions", "close", "first", "--json").out)["end_reason"] == "closed"
    opened = Journal.open(sqlite_url(journal))
    assert [event.session_id for event in opened.events(0, kinds=["session_ended"], limit=9)] == ["first"]
    opened.close()
    assert [row["id"] for row in json.loads(metaclaw("sessions", "list", "--open", "--json").out)] == ["second"]


def test_the_beginning_of_an_id_is_enough(metaclaw: Metaclaw, journal: Path) -> None:
    assert "session: first" in " ".join(metaclaw("sessions", "show", "fi").out.split())
    assert len(metaclaw("sessions", "turns", "sec").out.splitlines()) == 3
    assert metaclaw("sessions", "close", "f").out == "first is ended\n"
    opened = Journal.open(sqlite_url(journal))
    opened.append(Call(session=Session(id="fifth", started_at=1.0), kind="main", turn_key=b"k")).result(10)
    opened.close()
    ran = metaclaw("sessions", "show", "fi")
    assert ran.code == 1 and "first" in ran.err and "fifth" in ran.err
    assert metaclaw("sessions", "show", "f%").code == 1


@pytest.mark.parametrize("command", ["show", "turns", "close"])
def test_an_unknown_conversation_is_one_line(command: str, metaclaw: Metaclaw, journal: Path) -> None:
    ran = metaclaw("sessions", command, "third")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "metaclaw: there is no session 'third'; `metaclaw sessions list` shows them\n"


def test_a_file_that_is_no_journal_is_told_in_one_line(metaclaw: Metaclaw, state: Path) -> None:
    state.mkdir()
    (state / "journal.sqlite3").write_bytes(b"this is no database, but it is long enough to look at" * 20)
    ran = metaclaw("sessions", "list")
    assert ran.code == 1
    assert ran.err.startswith("metaclaw: ")
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") == 1


def test_a_running_gateway_is_told_even_when_it_wants_a_key(metaclaw: Metaclaw, journal: Path, free_port: int) -> None:
    environ = {
        **os.environ,
        "METACLAW_PROXY_PORT": str(free_port),
        "METACLAW_PROXY_API_KEY": "sk-gate",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    gateway = subprocess.Popen([sys.executable, "-m", "metaclaw.gateway"], env=environ)
    try:
        deadline = time.monotonic() + 30
        while not isinstance(observe(any_gateway(journal.parent)), Running):
            assert gateway.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert metaclaw("sessions", "close", "first").out == "first is ended\n"
    finally:
        gateway.terminate()
        gateway.wait(30)
    assert json.loads(metaclaw("sessions", "show", "first", "--json").out)["end_reason"] == "closed"
    assert "sk-gate" not in (journal.parent / "logs" / "metaclaw.log").read_text(encoding="utf-8")
