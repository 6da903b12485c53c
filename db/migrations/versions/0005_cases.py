"""Cases: texts that put metrics to the test, kept in named collections."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
NAME = sa.Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "cases",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("project_id", sa.Integer, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("collection", NAME, nullable=False),
        sa.Column("phenomenon", LONG, nullable=False),
        sa.Column("source", LONG),
        sa.Column("reference", LONG),
        sa.Column("good", LONG, nullable=False),
        sa.Column("changed", LONG, nullable=False),
        sa.Column("what", LONG, nullable=False),
        sa.Column("scores", LONG, nullable=False),
        sa.Column("created", TIME, nullable=False),
    )
    op.create_index("cases_by_collection", "cases", ["project_id", "collection"])
