"""The table of stress test reports is called what the feature is called; its rows stay."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.rename_table("stress_runs", "stress_test_runs")
    op.create_index("stress_test_runs_by_project", "stress_test_runs", ["project_id"])
    op.drop_index("stress_runs_by_project", "stress_test_runs")
