"""Ids of projects and jobs are never given again, also in databases of the first release; and claims of work.

Migration 0001 was edited after the first release: SQLite databases made before that lack AUTOINCREMENT on two tables, so
the id of a deleted project was given to the next one, and old links opened the wrong project. This migration rebuilds
the two tables where it is missing. Other databases never reuse ids.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")
PROJECTS = """
CREATE TABLE {name} (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL,
	created DATETIME NOT NULL,
	sample BOOLEAN NOT NULL,
	UNIQUE (name)
)"""
JOBS = """
CREATE TABLE {name} (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	project_id INTEGER NOT NULL,
	metrics TEXT NOT NULL,
	state VARCHAR(16) NOT NULL,
	done INTEGER NOT NULL,
	total INTEGER NOT NULL,
	message TEXT NOT NULL,
	created DATETIME NOT NULL,
	started DATETIME,
	finished DATETIME,
	worker TEXT,
	heartbeat DATETIME,
	attempts INTEGER NOT NULL,
	FOREIGN KEY(project_id) REFERENCES projects (id) ON DELETE CASCADE
)"""
COLUMNS = {
    "projects": "id, name, created, sample",
    "jobs": "id, project_id, metrics, state, done, total, message, created, started, finished, worker, heartbeat, attempts",
}


def upgrade() -> None:
    _never_again()
    op.create_table(
        "claims",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("content_key", sa.String(64), primary_key=True),
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("worker", NAME, nullable=False),
    )


def _never_again() -> None:
    bind = op.get_bind()
    if bind.dialect.name != "sqlite":
        return
    kept = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name IN ('projects', 'jobs')"
    old = [name for name, sql in bind.exec_driver_sql(kept) if "AUTOINCREMENT" not in sql.upper()]
    if not old:
        return
    if bind.exec_driver_sql(
        "PRAGMA foreign_keys"
    ).scalar():  # dropping a table would delete every row that refers to it
        raise RuntimeError("this migration runs with foreign keys off; db.engine.migrate switches them off")
    objects = bind.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND sql IS NOT NULL"
    ).all()
    for name, _ in objects:  # a trigger that names a missing table stops ALTER TABLE
        bind.exec_driver_sql(f'DROP TRIGGER "{name}"')
    for table, definition in (("projects", PROJECTS), ("jobs", JOBS)):
        if table in old:
            _rebuild(table, definition)
    for _, sql in objects:
        bind.exec_driver_sql(sql)


def _rebuild(table: str, definition: str) -> None:
    bind = op.get_bind()
    found = f"SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = '{table}' AND sql IS NOT NULL"
    indices = bind.exec_driver_sql(found).scalars().all()
    columns = COLUMNS[table]
    bind.exec_driver_sql(definition.format(name=f"new_{table}"))
    bind.exec_driver_sql(f"INSERT INTO new_{table} ({columns}) SELECT {columns} FROM {table} ORDER BY id")
    bind.exec_driver_sql(f"DROP TABLE {table}")
    bind.exec_driver_sql(f"ALTER TABLE new_{table} RENAME TO {table}")
    for sql in indices:
        bind.exec_driver_sql(sql)
