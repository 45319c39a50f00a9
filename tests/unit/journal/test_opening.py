"""A database is created, brought up to date, or refused unaltered."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import metaclaw.journal
from metaclaw.journal import Journal, JournalError, NewerSchema, Unreadable, sqlite_url
from metaclaw.journal.database import VERSION_TABLE, open_engine
from metaclaw.journal.schema import REVISION, REVISIONS, metadata

from .sample import Talk

VERSIONS = f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, CONSTRAINT v PRIMARY KEY (version_num))"
FIRST = Path(__file__).with_name("first_revision.sql")


def shape(engine: sa.Engine) -> dict[str, object]:
    """Everything about the tables that a program could notice."""
    inspector = sa.inspect(engine)
    with engine.connect() as connection:
        numbering = connection.exec_driver_sql("SELECT * FROM numbering").all()
        version = connection.exec_driver_sql(f"SELECT * FROM {VERSION_TABLE}").all()
    tables = {
        name: [
            [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in inspector.get_columns(name)],
            inspector.get_pk_constraint(name),
            sorted(map(repr, inspector.get_foreign_keys(name))),
            sorted(map(repr, inspector.get_indexes(name))),
            sorted(map(repr, inspector.get_unique_constraints(name))),
        ]
        for name in inspector.get_table_names()
        if name != VERSION_TABLE
    }
    return {"tables": tables, "numbering": list(map(tuple, numbering)), "version": list(map(tuple, version))}


def at_base(url: str) -> None:
    """A database that no migration has touched yet."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql(VERSIONS)
    engine.dispose()


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_new_journal_has_the_shape_that_all_migrations_lead_to(url: str) -> None:
    created = open_engine(url)
    new = shape(created)
    with created.begin() as connection:
        metadata.drop_all(connection)
        connection.exec_driver_sql(f"DROP TABLE {VERSION_TABLE}")
    created.dispose()
    at_base(url)
    migrated = open_engine(url)
    assert shape(migrated) == new
    with migrated.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []
    migrated.dispose()


def test_the_list_of_revisions_is_that_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(metaclaw.journal.__file__).with_name("migrations")))
    scripts = ScriptDirectory.from_config(config)
    assert tuple(script.revision for script in scripts.walk_revisions())[::-1] == REVISIONS
    assert scripts.get_heads() == [REVISION]


def test_a_journal_of_the_first_revision_is_opened_with_all_that_is_in_it(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.executescript(FIRST.read_text(encoding="utf-8"))
    connection.close()
    journal = Journal.open(sqlite_url(file))
    session = journal.session("talk")
    assert session is not None
    assert [(turn.user_text, turn.status) for turn in journal.turns("talk", limit=9)] == [
        ("one", "ok"),
        ("two", "error"),
    ]
    assert len(journal.messages("talk")) == 3
    assert [event.kind for event in journal.events(0, kinds=["turn", "session_ended"], limit=9)] == [
        "turn",
        "turn",
        "session_ended",
    ]
    assert journal.cursor("skills") == 2
    journal.append(Talk().exchange("new", turn_key=b"new")).result(10)
    assert [turn.number for turn in journal.turns("talk", limit=9)] == [1, 2, 3]
    journal.close()


def test_a_newer_journal_is_refused_and_not_altered(file: Path) -> None:
    Journal.open(sqlite_url(file)).close()
    with sqlite3.connect(file) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    connection.close()
    before = digest_of(file)
    with pytest.raises(NewerSchema, match=r"schema 9999, newer than .* nothing was altered: upgrade MetaClaw"):
        Journal.open(sqlite_url(file))
    assert digest_of(file) == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.postgres
def test_a_newer_journal_on_a_server_is_refused(postgres: object) -> None:
    url = postgres.database()  # type: ignore[attr-defined]
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    engine.dispose()
    with pytest.raises(NewerSchema, match="9999"):
        Journal.open(url)


def test_another_programs_database_is_refused_and_not_altered(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE photos (id INTEGER)")
    connection.close()
    before = digest_of(file)
    with pytest.raises(Unreadable, match="another program's database"):
        Journal.open(sqlite_url(file))
    assert digest_of(file) == before


@pytest.mark.parametrize("content", [b"this is a letter, not a database" * 200, b"SQLite format 3\0" + b"\xff" * 8000])
def test_what_is_not_a_database_is_refused_and_not_altered(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(Unreadable, match=r"can't be read: .*run `metaclaw doctor`"):
        Journal.open(sqlite_url(file))
    assert file.read_bytes() == content


def test_an_empty_file_becomes_a_journal(file: Path) -> None:
    file.touch()
    Journal.open(sqlite_url(file)).close()
    assert open_engine(sqlite_url(file)) is not None


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "not a database URL"),
        ("journal.sqlite3", "not a database URL"),
        ("mysql://host/name", "kept in SQLite or PostgreSQL"),
        ("sqlite://", "names no file"),
    ],
)
def test_a_url_that_is_no_place_for_a_journal_is_one_clear_line(url: str, message: str) -> None:
    with pytest.raises(JournalError, match=message):
        Journal.open(url)


def test_a_server_that_is_not_there_is_one_clear_line_without_the_password() -> None:
    with pytest.raises(Unreadable) as caught:
        Journal.open("postgres://me:hunter2@127.0.0.1:1/journal")
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_a_journal_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "state" / "journal.sqlite3"
    journal = Journal.open(sqlite_url(file))
    journal.append(Talk().exchange()).result(10)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    assert modes == dict.fromkeys(modes, 0o600)
    assert len(modes) == 3
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    journal.close()
    file.chmod(0o644)
    Journal.open(sqlite_url(file)).close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_that_start_at_once_make_one_journal(url: str) -> None:
    opened: list[Journal] = []
    threads = [threading.Thread(target=lambda: opened.append(Journal.open(url))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    for number, journal in enumerate(opened):
        journal.append(Talk(f"talk{number}").exchange()).result(10)
        journal.close()


def test_nothing_heavy_is_imported_to_open_a_journal_that_is_up_to_date(file: Path) -> None:
    program = (
        "import sys; from metaclaw.journal import Journal, sqlite_url; from pathlib import Path;"
        f"Journal.open(sqlite_url(Path({str(file)!r}))).close();"
        "print([name for name in ('alembic', 'mako', 'psycopg', 'sqlalchemy.orm', 'sqlalchemy.dialects.postgresql')"
        " if name in sys.modules])"
    )
    for _ in range(2):
        assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"
