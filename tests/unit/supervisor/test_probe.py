"""Facts from outside: the upstream, the journal file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from metaclaw.config.models import Settings
from metaclaw.supervisor.checks_upstream import Probe
from metaclaw.supervisor.probe import ask_upstream, look_at_journal
from tests.scripted_upstream import ScriptedUpstream


def settings(base: str) -> Settings:
    return Settings.model_validate({"llm": {"provider": "custom", "api_base": base, "api_key": "sk-upstream-key"}})


def test_an_upstream_is_asked_once_for_its_models(upstream: ScriptedUpstream) -> None:
    probe = ask_upstream(settings(upstream.base_url))
    assert isinstance(probe, Probe)
    assert probe.status == 200
    assert probe.models
    assert probe.latency_ms > 0
    assert len(upstream.requests) == 1


def test_nobody_at_the_address_is_a_reason_without_the_url(free_port: int) -> None:
    probe = ask_upstream(settings(f"http://127.0.0.1:{free_port}/v1"))
    assert isinstance(probe, Probe)
    assert probe.status == 0
    assert "refused" in probe.error.lower()
    assert "/v1" not in probe.error


def test_no_upstream_is_no_question() -> None:
    assert ask_upstream(Settings()) is None


def test_a_journal_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    detail, error = look_at_journal("", tmp_path / "journal.sqlite3")
    assert "begins with the first turn" in detail
    assert error == ""


def test_a_file_that_is_no_journal_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite3"
    path.write_bytes(b"something else entirely" * 100)
    assert "can't be read" in look_at_journal("", path)[1]
    assert path.read_bytes() == b"something else entirely" * 100


def test_a_journal_is_counted_without_being_changed(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite3"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE turns (id INTEGER)")
        database.execute("INSERT INTO turns VALUES (1)")
    before = path.read_bytes()
    assert look_at_journal(f"sqlite:///{path}", tmp_path / "none")[0].startswith("1 turn,")
    assert path.read_bytes() == before
