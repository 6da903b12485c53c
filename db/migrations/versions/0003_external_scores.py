"""Metrics that were computed elsewhere: their values belong to the outputs of a project."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
NAME = sa.Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")
UTC = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def _to(name: str, target: str, *, primary_key: bool = False, index: bool = False) -> sa.Column[int]:
    foreign = sa.ForeignKey(target, ondelete="CASCADE")
    return sa.Column(name, sa.Integer, foreign, nullable=False, primary_key=primary_key, index=index)


def upgrade() -> None:
    op.create_table(
        "external_metrics",
        sa.Column("id", sa.Integer, primary_key=True),
        _to("project_id", "projects.id"),
        sa.Column("name", NAME, nullable=False),
        sa.Column("higher_is_better", sa.Boolean, nullable=False),
        sa.Column("files", LONG, nullable=False),
        sa.Column("created", UTC, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_external_metric_a_name"),
    )
    op.create_table(
        "external_scores",
        _to("metric", "external_metrics.id", primary_key=True),
        _to("output", "outputs.id", primary_key=True, index=True),
        sa.Column("value", sa.Double),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", LONG, nullable=False),
    )
