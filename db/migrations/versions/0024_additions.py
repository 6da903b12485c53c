"""What an import adds to a project that has outputs is hidden until its last row is written: each new value names its import."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("projects", sa.Column("adds_to", sa.Integer))
    for table in ("segments", "segment_references", "outputs", "human_scores"):
        op.add_column(table, sa.Column("added_by", sa.Integer))
    op.add_column("segments", sa.Column("source_by", sa.Integer))
    op.add_column("outputs", sa.Column("next_key", sa.String(64)))
    op.add_column("outputs", sa.Column("next_key_by", sa.Integer))
