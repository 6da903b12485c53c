"""Public pages of results, which are read with a link and without an account."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "shared_results",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("project_id", sa.Integer, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id", ondelete="CASCADE")),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("blind", sa.Boolean, nullable=False),
        sa.Column("page", sa.LargeBinary),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("revoked", sa.DateTime),
        sqlite_autoincrement=True,
    )
    op.create_index("shared_results_by_project", "shared_results", ["project_id"])
