"""Judgements: the numbers single raters gave."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "judgements",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("output", sa.Integer, sa.ForeignKey("outputs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("rater", sa.Integer, sa.ForeignKey("raters.id"), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.UniqueConstraint("output", "rater", "name", name="one_judgement_a_rater"),
    )
