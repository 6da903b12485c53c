"""Events have an index by rater and one by number, both within a project.

Without them, the events of one rater, the names of raters and the number of the newest event were found by reading all events of a project.
"""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("events_by_rater", "events", ["rater", "project_id", "number"])
    op.create_index("events_by_number", "events", ["project_id", "number"])
