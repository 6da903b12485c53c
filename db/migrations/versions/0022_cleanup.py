"""What is removed after an interrupted import is kept with the project: its content, or the project too if the import created it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("projects", sa.Column("cleanup", sa.String(8)))
