"""Batches: outputs chosen to be labelled, with their probabilities."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
NAME = sa.Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")
UTC = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "batches",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("project_id", sa.Integer, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("method", sa.String(32), nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("signature", LONG, nullable=False),
        sa.Column("population", sa.Integer, nullable=False),
        sa.Column("outputs", LONG, nullable=False),
        sa.Column("options", LONG, nullable=False),
        sa.Column("created", UTC, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_batch_a_name"),
    )
