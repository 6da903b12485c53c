"""The first tables. On SQLite the log of labels refuses every change, and every deletion but that of its whole project."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
NAME = sa.Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")
BYTES = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
UTC = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")

APPEND_ONLY = (
    """CREATE TRIGGER events_keep BEFORE UPDATE ON events
       BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END""",
    """CREATE TRIGGER events_stay BEFORE DELETE ON events
       WHEN EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id)
       BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END""",
)


def _key() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _to(name: str, target: str, *, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(
        name, sa.Integer, sa.ForeignKey(target, ondelete="CASCADE"), nullable=False, primary_key=primary_key
    )


def upgrade() -> None:
    op.create_table(
        "projects",
        _key(),
        sa.Column("name", NAME, nullable=False, unique=True),
        sa.Column("created", UTC, nullable=False),
        sa.Column("sample", sa.Boolean, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "segments",
        _key(),
        _to("project_id", "projects.id"),
        sa.Column("doc_id", NAME, nullable=False),
        sa.Column("segment_id", NAME, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("source", LONG),
        sa.UniqueConstraint("project_id", "doc_id", "segment_id", name="one_segment_a_key"),
    )
    op.create_table(
        "segment_references",
        _to("segment", "segments.id", primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("text", LONG, nullable=False),
    )
    op.create_table(
        "outputs",
        _key(),
        _to("segment", "segments.id"),
        sa.Column("system", NAME, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("text", LONG, nullable=False),
        sa.Column("content_key", sa.String(64), nullable=False, index=True),
        sa.UniqueConstraint("segment", "system", name="one_output_a_system"),
    )
    op.create_table(
        "human_scores",
        _key(),
        _to("output", "outputs.id"),
        sa.Column("name", NAME, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.UniqueConstraint("output", "name", name="one_human_score_a_name"),
    )
    op.create_table(
        "signatures",
        _key(),
        sa.Column("metric", NAME, nullable=False),
        sa.Column("signature", LONG, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
    )
    op.create_table(
        "runs",
        _key(),
        _to("signature", "signatures.id"),
        sa.Column("created", UTC, nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("machine", LONG, nullable=False),
    )
    op.create_table(
        "scores",
        _to("signature", "signatures.id", primary_key=True),
        sa.Column("content_key", sa.String(64), primary_key=True),
        _to("run", "runs.id"),
        sa.Column("value", sa.Double),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", LONG, nullable=False),
        sa.Column("parts", LONG, nullable=False),
        sa.Column("detail", BYTES),
        sa.Index("scores_by_content", "content_key"),
    )
    op.create_table(
        "jobs",
        _key(),
        _to("project_id", "projects.id"),
        sa.Column("metrics", LONG, nullable=False),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("message", LONG, nullable=False),
        sa.Column("created", UTC, nullable=False),
        sa.Column("started", UTC),
        sa.Column("finished", UTC),
        sa.Column("worker", NAME),
        sa.Column("heartbeat", UTC),
        sa.Column("attempts", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "raters",
        _key(),
        sa.Column("name", NAME, nullable=False, unique=True),
        sa.Column("created", UTC, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        _to("project_id", "projects.id"),
        sa.Column("action_id", NAME, nullable=False),
        sa.Column("time", UTC, nullable=False),
        sa.Column("rater", sa.Integer, sa.ForeignKey("raters.id"), nullable=False),
        _to("segment", "segments.id"),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("system", NAME),
        sa.Column("payload", LONG, nullable=False),
        sa.Column("client_time", LONG, nullable=False),
        sa.UniqueConstraint("project_id", "action_id", name="one_event_an_action"),
        sa.Index("events_by_segment", "segment", "rater"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "calibrations",
        _key(),
        _to("project_id", "projects.id"),
        sa.Column("name", NAME, nullable=False),
        sa.Column("value", sa.String(32), nullable=False),
        sa.Column("signature", LONG, nullable=False),
        sa.Column("refinement", LONG, nullable=False),
        sa.Column("result", LONG, nullable=False),
        sa.Column("created", UTC, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_calibration_a_name"),
    )
    if op.get_bind().dialect.name == "sqlite":
        for statement in APPEND_ONLY:
            op.execute(statement)
