"""Runs migrations on the connection that the journal hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from metaclaw.journal.database import VERSION_TABLE
from metaclaw.journal.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
