"""Scores have no index on content keys alone any more.

It was the largest index of all, and two fifths of the time of storing scores. Queries name the signature too, as the primary key begins with it.
"""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("scores_by_content", "scores")
