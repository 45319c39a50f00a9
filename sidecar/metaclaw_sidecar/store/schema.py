"""The tables of the memory store, and their version."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from ..errors import NewerSchema, StoreError

VERSION = 1
APPLICATION_ID = 0x4D435342  # "MCSB", so that no other program's file is taken for ours

_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE memories (
  memory_id TEXT PRIMARY KEY, scope_id TEXT NOT NULL, memory_type TEXT NOT NULL, content TEXT NOT NULL,
  created_at REAL NOT NULL, updated_at REAL NOT NULL, valid_from REAL NOT NULL,
  summary TEXT NOT NULL, subject TEXT NOT NULL, source_session_id TEXT NOT NULL,
  source_turn_start INTEGER, source_turn_end INTEGER,
  entities TEXT NOT NULL, topics TEXT NOT NULL, tags TEXT NOT NULL,
  importance REAL NOT NULL, confidence REAL NOT NULL, access_count INTEGER NOT NULL, reinforcement_score REAL NOT NULL,
  status TEXT NOT NULL, superseded_by TEXT NOT NULL, superseded_at REAL, last_accessed_at REAL, expires_at REAL,
  pinned INTEGER NOT NULL, origin TEXT NOT NULL, version INTEGER NOT NULL,
  fingerprint TEXT NOT NULL
);
CREATE INDEX memories_by_scope ON memories (scope_id, status, created_at);
CREATE INDEX memories_by_words ON memories (scope_id, fingerprint);
CREATE INDEX memories_by_successor ON memories (superseded_by) WHERE superseded_by != '';

CREATE TABLE versions (
  memory_id TEXT NOT NULL REFERENCES memories ON DELETE CASCADE, version INTEGER NOT NULL,
  at REAL NOT NULL, reason TEXT NOT NULL, run_id TEXT NOT NULL, record TEXT NOT NULL,
  PRIMARY KEY (memory_id, version)
) WITHOUT ROWID;
CREATE INDEX versions_by_run ON versions (run_id) WHERE run_id != '';

CREATE TABLE sources (
  memory_id TEXT NOT NULL REFERENCES memories ON DELETE CASCADE, turn_id TEXT NOT NULL,
  PRIMARY KEY (memory_id, turn_id)
) WITHOUT ROWID;
CREATE INDEX sources_by_turn ON sources (turn_id);

CREATE TABLE turns (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, turn_id TEXT NOT NULL UNIQUE, scope_id TEXT NOT NULL, session_id TEXT NOT NULL,
  position INTEGER NOT NULL, mark TEXT NOT NULL, prompt TEXT NOT NULL, response TEXT NOT NULL, at REAL NOT NULL,
  state TEXT NOT NULL, job_id INTEGER,
  UNIQUE (scope_id, session_id, position), UNIQUE (scope_id, session_id, mark)
);
CREATE INDEX turns_buffered ON turns (scope_id, session_id) WHERE state = 'buffered';
CREATE INDEX turns_by_job ON turns (job_id);

CREATE TABLE sessions (
  scope_id TEXT NOT NULL, session_id TEXT NOT NULL, started_at REAL NOT NULL, ended_at REAL,
  PRIMARY KEY (scope_id, session_id)
) WITHOUT ROWID;

CREATE TABLE jobs (
  job_id INTEGER PRIMARY KEY AUTOINCREMENT, scope_id TEXT NOT NULL, session_id TEXT NOT NULL, state TEXT NOT NULL,
  attempts INTEGER NOT NULL, final INTEGER NOT NULL, not_before REAL NOT NULL, leased_until REAL NOT NULL,
  error TEXT NOT NULL, created_at REAL NOT NULL, finished_at REAL, added INTEGER NOT NULL
);
CREATE INDEX jobs_open ON jobs (state, job_id) WHERE state IN ('waiting', 'running');

CREATE TABLE vectors (
  scope_id TEXT NOT NULL, model TEXT NOT NULL, id TEXT NOT NULL, dim INTEGER NOT NULL, vector BLOB NOT NULL,
  PRIMARY KEY (scope_id, model, id)
);
CREATE INDEX vectors_by_id ON vectors (id);

CREATE TABLE feedback (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL REFERENCES memories ON DELETE CASCADE,
  at REAL NOT NULL, useful INTEGER NOT NULL
);
CREATE INDEX feedback_by_memory ON feedback (memory_id);

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, kind TEXT NOT NULL, scope_id TEXT NOT NULL,
  subject TEXT NOT NULL, data TEXT NOT NULL
);
CREATE INDEX events_by_scope ON events (scope_id, seq);

CREATE TABLE receipts (receipt_id TEXT PRIMARY KEY, scope_id TEXT NOT NULL, at REAL NOT NULL, record TEXT NOT NULL)
  WITHOUT ROWID;
"""


def check(path: Path) -> None:
    """Refuse a file that isn't ours or is newer, without altering it. Raises StoreError."""
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            owner = db.execute("PRAGMA application_id").fetchone()[0]
        finally:
            db.close()
    except sqlite3.Error as error:
        raise StoreError(f"{path} can't be read ({error}): move it away, or restore a copy") from error
    if owner != APPLICATION_ID:
        raise StoreError(f"{path} is not a memory store of MetaClaw: `POST /import` reads other formats")
    if version > VERSION:
        raise NewerSchema(f"{path} has schema {version}, this version knows {VERSION}: update MetaClaw")


def create(db: sqlite3.Connection) -> None:
    """Make the tables where there are none."""
    if db.execute("PRAGMA user_version").fetchone()[0]:
        return
    key = secrets.token_hex(32)
    db.executescript(
        f"BEGIN IMMEDIATE;{_TABLES}"  # noqa: S608 - a key of our own making
        f"INSERT INTO settings VALUES ('mark_key', '{key}');"
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
    )
