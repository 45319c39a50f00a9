"""Opens the journal's database: finds out what it is, then creates, migrates or refuses it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from .errors import JournalError, NewerSchema, Unreadable
from .schema import REVISION, REVISIONS, metadata, numbering

VERSION_TABLE = "journal_version"
BUSY_SECONDS = 5.0
_CREATION_LOCK = 0x6D636C61  # any number, as long as every MetaClaw takes the same
_MIGRATIONS = Path(__file__).with_name("migrations")


def sqlite_url(path: Path) -> str:
    """The URL of a journal in a file."""
    return sa.URL.create("sqlite", database=str(path)).render_as_string()


def open_engine(url: str) -> sa.Engine:
    """Connect, and bring the schema to the newest revision. A newer schema is refused before anything is written."""
    parsed = _parsed(url)
    where = parsed.render_as_string(hide_password=True)
    if parsed.get_backend_name() == "sqlite":
        _prepare_file(Path(parsed.database or ""))
    engine = _engine(parsed)
    try:
        _bring_up(engine, where)
    except BaseException:
        engine.dispose()
        raise
    return engine


def reason(error: BaseException) -> str:
    """What went wrong in one line, without the statement and without anybody's text."""
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


def _parsed(url: str) -> sa.URL:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise JournalError("journal.url is not a database URL; use sqlite:///FILE or postgresql://HOST/NAME") from error
    if parsed.drivername in ("postgres", "postgresql"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise JournalError(f"journal.url names {parsed.drivername}; the journal is kept in SQLite or PostgreSQL")
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise JournalError("journal.url names no file; write it as sqlite:///FILE")
    return parsed


def _prepare_file(path: Path) -> None:
    """Refuse what isn't ours, unaltered; make the file private. SQLite gives -wal and -shm the same mode."""
    try:
        if path.exists() and path.stat().st_size:
            _look(path)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except sqlite3.Error as error:
        raise _unreadable(str(path), error) from error
    except OSError as error:
        raise Unreadable(f"journal {path} can't be opened: {error.strerror}; check its owner, mode and disk") from error


def _look(path: Path) -> None:
    """Check the revision without a trace: where no -wal lies beside it, nobody has the file open and no lock is due."""
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    with (
        contextlib.suppress(sqlite3.OperationalError),  # just now being made by another process: looked at again later
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as connection,
    ):
        _check_revision(_sqlite_revision(connection), str(path))


def _sqlite_revision(connection: sqlite3.Connection) -> str | None:
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if VERSION_TABLE not in names:
        return "" if names else None
    row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608
    return str(row[0]) if row else "base"


def _revision(connection: sa.Connection) -> str | None:
    """The revision of the schema: None where there is no schema, '' where the tables are somebody else's."""
    if connection.dialect.name == "sqlite":
        return _sqlite_revision(_raw(connection))
    names = set(sa.inspect(connection).get_table_names())
    if VERSION_TABLE not in names:
        return "" if names & set(metadata.tables) else None
    return connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar() or "base"  # noqa: S608


def _raw(connection: sa.Connection) -> sqlite3.Connection:
    """SQLite's own connection, for what may not run inside a transaction."""
    raw = connection.connection.dbapi_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _check_revision(revision: str | None, where: str) -> None:
    if revision is None or revision == "base" or revision in REVISIONS:
        return
    if revision == "":
        raise Unreadable(f"{where} is another program's database, not a journal; set journal.url to another one")
    raise NewerSchema(
        f"journal {where} has schema {revision}, newer than {REVISION}, which this MetaClaw knows; "
        "nothing was altered: upgrade MetaClaw or set journal.url to another database"
    )


def _unreadable(where: str, error: BaseException) -> Unreadable:
    return Unreadable(f"journal {where} can't be read: {reason(error)}; run `metaclaw doctor`")


def _engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(
            url, hide_parameters=True, paramstyle="named", pool_size=4, connect_args={"timeout": BUSY_SECONDS}
        )
        sa.event.listen(engine, "connect", _on_sqlite_connect)
        sa.event.listen(engine, "begin", _on_sqlite_begin)
        return engine
    try:
        return sa.create_engine(url, hide_parameters=True, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError as error:
        raise JournalError(
            f"the journal's database driver {error.name} is missing: pip install 'metaclaw[postgres]'"
        ) from error


def _on_sqlite_connect(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver's guess
    for pragma in (
        "auto_vacuum = INCREMENTAL",  # takes effect only while the file is empty, so it comes first
        "journal_mode = WAL",
        "synchronous = NORMAL",
        "foreign_keys = ON",
        "journal_size_limit = 67108864",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _on_sqlite_begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


def writing(connection: sa.Connection) -> sa.Connection:
    """A connection whose transactions take the write lock at once, so that they can't fail half-way for want of it."""
    return connection.execution_options(begin="BEGIN IMMEDIATE")


def _bring_up(engine: sa.Engine, where: str) -> None:
    try:
        with engine.connect() as connection:
            revision = _revision(connection)
            _check_revision(revision, where)
            connection.rollback()
            if revision != REVISION:
                _alter(writing(connection), where)
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        raise _unreadable(where, error) from error


def _alter(connection: sa.Connection, where: str) -> None:
    """Create or migrate in one transaction; two processes that start together take turns."""
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:  # migrations rebuild tables; with the keys on, dropping the old one would cascade
        _raw(connection).execute("PRAGMA foreign_keys = OFF")
    with connection.begin():
        if not sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK)))
        revision = _revision(connection)
        _check_revision(revision, where)
        if revision is None:
            _create(connection)
        elif revision != REVISION:
            _migrate(connection)
    if sqlite:
        _raw(connection).execute("PRAGMA foreign_keys = ON")


def _create(connection: sa.Connection) -> None:
    """The newest schema at once, stamped as migrations would: Alembic is heavy and isn't needed for this."""
    metadata.create_all(connection)
    connection.execute(sa.insert(numbering), {"id": 1, "turn": 0, "event": 0})
    version = sa.Table(VERSION_TABLE, sa.MetaData(), sa.Column("version_num", sa.String(32), nullable=False))
    version.append_constraint(sa.PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"))
    version.create(connection)
    connection.execute(sa.insert(version), {"version_num": REVISION})


def _migrate(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
