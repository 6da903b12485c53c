"""Outputs have no index on their content keys any more.

Content keys are random, so that each new output changed another page of the index: for a large project, most of the time of an import.
Queries that join outputs and scores begin with the outputs of the project and look up their scores.
"""

from __future__ import annotations

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_outputs_content_key", "outputs")
