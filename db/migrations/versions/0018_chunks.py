"""Jobs become chunks, which many workers share.

Unfinished jobs of earlier versions are planned anew: their stored scores are reused.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")
LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
BYTES = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    op.drop_table("claims")
    for column in ("worker", "heartbeat", "attempts"):
        op.drop_column("jobs", column)
    for added in (sa.Column("priority", sa.Integer), sa.Column("served", TIME), sa.Column("imports", sa.Integer)):
        op.add_column("jobs", added)
    op.create_table(
        "job_metrics",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("metric", NAME, nullable=False),
        sa.Column("label", LONG, nullable=False),
        sa.Column("signature", LONG, nullable=False),
        sa.Column("unusable", LONG, nullable=False),
        sa.Column("abandoned", LONG, nullable=False),
        sa.Column("examples", LONG, nullable=False),
        sa.Column("speed", sa.Double),
        sa.Column("length", sa.Double, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("known", sa.Integer, nullable=False),
    )
    op.create_table(
        "chunks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("metric", sa.Integer, sa.ForeignKey("job_metrics.id", ondelete="CASCADE")),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("outputs", BYTES),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("size", sa.Double, nullable=False),
        sa.Column("begins_after", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("known", sa.Integer, nullable=False),
        sa.Column("reason", LONG, nullable=False),
        sa.Column("message", LONG, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("worker", NAME),
        sa.Column("heartbeat", TIME),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Index("chunks_in_turn", "job", "state", "position"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "claims",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("content_key", sa.String(64), primary_key=True),
        sa.Column("chunk", sa.Integer, sa.ForeignKey("chunks.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("worker", NAME, nullable=False),
    )
    op.execute(
        "INSERT INTO chunks (job, position, state, n, size, begins_after, done, failed, known, reason, message, seconds, attempts) "
        "SELECT id, 0, 'ready', 0, 0, 0, 0, 0, 0, '', '', 0, 0 FROM jobs WHERE state IN ('queued', 'running')"
    )
    op.execute("UPDATE jobs SET state = 'queued' WHERE state = 'running'")
