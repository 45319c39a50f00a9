"""A journal in SQLite, and the same in a real PostgreSQL server where its binaries are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from metaclaw.journal import Journal, sqlite_url


class Postgres:
    """A server of its own on a Unix socket, run by somebody who is not root, as it insists."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.folder = folder
        self._schemas = 0
        self._as = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
        if self._as:
            shutil.chown(folder, "nobody")
        data = folder / "data"
        initdb = [binaries / "initdb", "-D", data, "-U", "journal", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **self._as)
        self._command = [binaries / "postgres", "-D", data, "-k", folder, "-h", "", "-c", "fsync=off"]
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self.folder, **self._as)
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text(encoding="utf-8")
            else:
                return

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection for the test itself."""
        return psycopg.connect(host=str(self.folder), user="journal", dbname="postgres", autocommit=True)

    def database(self) -> str:
        """The URL of a journal of its own: a schema, which is quicker to make than a database."""
        self._schemas += 1
        name = f"journal{self._schemas}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"postgresql://journal@/postgres?host={self.folder}&options=-csearch_path%3D{name}"

    def crash(self) -> None:
        """Stop as if the machine had lost its power: connections break, nothing is finished."""
        self.process.send_signal(3)  # SIGQUIT is PostgreSQL's "immediate" shutdown
        self.process.wait()

    def stop(self) -> None:
        """Stop and leave nothing behind."""
        self.process.terminate()
        self.crash()
        shutil.rmtree(self.folder)


def _binaries() -> Path | None:
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server binaries on this machine (apt-get install postgresql)")
    server = Postgres(binaries, Path(tempfile.mkdtemp(prefix="pg", dir="/tmp")))
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a journal that does not exist yet."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "journal.sqlite3")
    server: Postgres = request.getfixturevalue("postgres")
    return server.database()


@pytest.fixture
def journal(url: str) -> Iterator[Journal]:
    """An open journal, in each database."""
    opened = Journal.open(url)
    yield opened
    opened.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a journal in SQLite will be."""
    return tmp_path / "journal.sqlite3"
