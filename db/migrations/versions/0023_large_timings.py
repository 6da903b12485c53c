"""The size of a timing may exceed 2³¹. SQLite stored such sizes already, and they could not be copied to PostgreSQL."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("timings") as timings:
        timings.alter_column("size", type_=sa.BigInteger(), existing_type=sa.Integer(), existing_nullable=False)
