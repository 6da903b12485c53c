"""Projects are hidden while they are imported or deleted in slices, and their labels can be deleted then."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

UTC = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    op.add_column("projects", sa.Column("importing", UTC))
    op.add_column("projects", sa.Column("imports", sa.Integer))
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER events_stay")
        op.execute(
            """CREATE TRIGGER events_stay BEFORE DELETE ON events
               WHEN EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id AND importing IS NULL)
               BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END"""
        )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            """CREATE OR REPLACE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
               BEGIN
                 IF TG_OP = 'DELETE' THEN
                   IF NOT EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id AND importing IS NULL) THEN
                     RETURN OLD;
                   END IF;
                 END IF;
                 RAISE EXCEPTION 'the log of labels is append-only' USING ERRCODE = 'restrict_violation';
               END $$"""
        )
