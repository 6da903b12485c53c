"""Measured times of scoring, and jobs for some segments or for measuring only."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    op.add_column("jobs", sa.Column("segments", LONG))
    op.add_column("jobs", sa.Column("timing", sa.Boolean))
    op.create_table(
        "timings",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("length", sa.Double, nullable=False),
        sa.Column("created", TIME, nullable=False),
    )
    op.create_index("ix_timings_digest", "timings", ["digest"])
