"""Labels and judgements name the import that adds them in slices, and can be deleted until it is complete (`db.imports.slices`)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

SQLITE = (
    "DROP TRIGGER events_stay",
    """CREATE TRIGGER events_stay BEFORE DELETE ON events
               WHEN EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id AND importing IS NULL)
               AND NOT EXISTS (SELECT 1 FROM projects WHERE id = OLD.added_by AND adds_to IS NOT NULL)
               BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END""",
)
POSTGRESQL = (
    """CREATE OR REPLACE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
               BEGIN
                 IF TG_OP = 'DELETE' THEN
                   IF NOT EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id AND importing IS NULL)
                      OR EXISTS (SELECT 1 FROM projects WHERE id = OLD.added_by AND adds_to IS NOT NULL) THEN
                     RETURN OLD;
                   END IF;
                 END IF;
                 RAISE EXCEPTION 'the log of labels is append-only' USING ERRCODE = 'restrict_violation';
               END $$""",
)


def upgrade() -> None:
    for table, key in (("events", "number"), ("judgements", "id")):
        op.add_column(table, sa.Column("added_by", sa.Integer))
        added = sa.text("added_by IS NOT NULL")
        op.create_index(f"{table}_by_import", table, ["added_by", key], sqlite_where=added, postgresql_where=added)
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
