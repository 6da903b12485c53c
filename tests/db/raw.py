"""Databases past the code under test: looking into one, and one of schema 0025 with a row in every table, from text files that never change."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
from sqlalchemy import Engine, make_url, text

from db.tables import metadata

TABLES = sorted(
    metadata.tables.keys()
    - {
        "signatures",
        "runs",
        "project_arrays",
        "accounts",
        "project_roles",
        "login_sessions",
        "links",
        "audit",
        "server_secret",
    }
)
"""Tables whose rows belong to projects, or come with them."""


def counts(engine: Engine) -> dict[str, int]:
    """Rows of every table."""
    return {table: scalar(engine, f"SELECT count(*) FROM {table}") for table in TABLES}


def scalar(engine: Engine, sql: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(sql)).scalar() or 0)


def rows(engine: Engine, sql: str) -> list[tuple[object, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


FOLDER = Path(__file__).parent
REVISION = "0025"


def load_frozen(url: str) -> None:
    """Write the database into a new SQLite file, or into an empty database of PostgreSQL."""
    address = make_url(url)
    kind = address.get_backend_name()
    script = (FOLDER / f"frozen_{REVISION}.{kind}.sql").read_text(encoding="utf-8")
    if kind == "sqlite":
        path = Path(address.database or "")
        path.parent.mkdir(exist_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
        return
    plain = address.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection:
        connection.execute(script.encode())
