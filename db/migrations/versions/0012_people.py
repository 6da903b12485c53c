"""Accounts, their roles and sessions, personal links, and the audit record, which refuses every change and deletion."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
NAME = sa.Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")
BYTES = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
UTC = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")

SQLITE = (
    """CREATE TRIGGER audit_keep BEFORE UPDATE ON audit
       BEGIN SELECT RAISE(ABORT, 'the audit record is append-only'); END""",
    """CREATE TRIGGER audit_stay BEFORE DELETE ON audit
       BEGIN SELECT RAISE(ABORT, 'the audit record is append-only'); END""",
)
POSTGRESQL = (
    """CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'the audit record is append-only'; END $$""",
    """CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON audit
       FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()""",
    """CREATE TRIGGER audit_stay BEFORE TRUNCATE ON audit
       FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()""",
)


def _key() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _to(name: str, target: str, *, index: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, sa.ForeignKey(target, ondelete="CASCADE"), nullable=False, index=index)


def upgrade() -> None:
    op.create_table(
        "accounts",
        _key(),
        sa.Column("name", NAME, nullable=False, unique=True),
        sa.Column("password", LONG),
        sa.Column("manager", sa.Boolean, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("created", UTC, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "project_roles",
        _key(),
        _to("project_id", "projects.id"),
        _to("account", "accounts.id"),
        sa.Column("role", sa.String(16), nullable=False),
        sa.UniqueConstraint("project_id", "account", name="one_role_an_account"),
    )
    op.create_table(
        "login_sessions",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        _to("account", "accounts.id", index=True),
        sa.Column("created", UTC, nullable=False),
        sa.Column("expires", UTC, nullable=False),
    )
    op.create_table(
        "links",
        _key(),
        _to("project_id", "projects.id"),
        sa.Column("rater", NAME, nullable=False),
        sa.Column("batch", NAME),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created", UTC, nullable=False),
        sa.Column("expires", UTC),
        sa.Column("revoked", UTC),
        sa.Column("created_by", NAME, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("time", UTC, nullable=False),
        sa.Column("who", NAME, nullable=False),
        sa.Column("act", sa.String(64), nullable=False),
        sa.Column("project_id", sa.Integer, index=True),
        sa.Column("details", LONG, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table("server_secret", _key(), sa.Column("value", BYTES, nullable=False))
    statements = {"sqlite": SQLITE, "postgresql": POSTGRESQL}.get(op.get_bind().dialect.name, ())
    for statement in statements:
        op.execute(statement)
