"""What Alembic runs: the migrations, on the connection and in the transaction that `db.engine.migrate` opened."""

from __future__ import annotations

from alembic import context

from db.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
