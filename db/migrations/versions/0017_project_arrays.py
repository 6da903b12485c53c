"""Arrays of projects are kept, so that pages show a million outputs without reading them one by one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

BYTES = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "project_arrays",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("project_id", sa.Integer, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("imports", sa.Integer, nullable=False),
        sa.Column("newest", sa.BigInteger, nullable=False),
        sa.Column("data", BYTES, nullable=False),
        sa.UniqueConstraint("project_id", "digest", name="one_array_a_digest"),
    )
    op.create_index("scores_by_run", "scores", ["run"])
