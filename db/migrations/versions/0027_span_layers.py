"""Layers of error spans that were imported from files."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "span_layers",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("project_id", sa.Integer, sa.ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("outputs", sa.Integer, nullable=False),
        sa.Column("spans", sa.Integer, nullable=False),
        sa.Column("provenance", sa.Text, nullable=False),
        sa.Column("left_out", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_span_layer_a_name"),
    )
    op.create_table(
        "span_layer_outputs",
        sa.Column("layer", sa.Integer, sa.ForeignKey("span_layers.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("output", sa.Integer, sa.ForeignKey("outputs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("spans", sa.Text, nullable=False),
    )
    op.create_index("ix_span_layer_outputs_output", "span_layer_outputs", ["output"])
