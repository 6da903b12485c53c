"""Human-evaluation campaigns: their units, participants and assignments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
NAME = sa.Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")
UTC = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def _key() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _to(name: str, target: str, *, unique: bool | None = None) -> sa.Column[int]:
    reference = sa.ForeignKey(target, ondelete="CASCADE")
    return sa.Column(name, sa.Integer, reference, nullable=False, unique=unique)


def upgrade() -> None:
    op.create_table(
        "campaigns",
        _key(),
        _to("project_id", "projects.id"),
        _to("texts", "projects.id", unique=True),
        sa.Column("name", NAME, nullable=False),
        sa.Column("design", LONG, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created", UTC, nullable=False),
        sa.Column("created_by", NAME, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_campaign_a_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "campaign_units",
        _key(),
        _to("campaign", "campaigns.id"),
        sa.Column("name", NAME, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("of_document", NAME, nullable=False),
        sa.Column("of_segment", NAME, nullable=False),
        sa.Column("systems", LONG, nullable=False),
        sa.Column("details", LONG, nullable=False),
        sa.Column("retired", sa.Boolean, nullable=False),
        sa.UniqueConstraint("campaign", "name", name="one_unit_a_name"),
    )
    op.create_table(
        "participants",
        _key(),
        _to("campaign", "campaigns.id"),
        sa.Column("rater", NAME, nullable=False),
        sa.Column("code", NAME, nullable=False),
        sa.Column("joined", UTC, nullable=False),
        sa.Column("excluded", LONG, nullable=False),
        sa.Column("has_left", sa.Boolean, nullable=False),
        sa.Column("passed_tutorial", sa.Boolean),
        sa.UniqueConstraint("campaign", "rater", name="one_participant_a_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "assignments",
        _key(),
        _to("unit", "campaign_units.id"),
        _to("participant", "participants.id"),
        sa.Column("slot", sa.Integer),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("systems", LONG, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("assigned", UTC, nullable=False),
        sa.Column("lease_until", UTC),
        sa.Column("opened", UTC),
        sa.Column("submitted", UTC),
        sa.UniqueConstraint("unit", "participant", name="one_assignment_a_participant"),
        sa.UniqueConstraint("unit", "slot", name="one_assignment_a_slot"),
    )
    op.create_index("assignments_by_participant", "assignments", ["participant", "position"])
