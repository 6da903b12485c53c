"""A database of schema 0025 with a row in every table, from text files that never change."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
from sqlalchemy import make_url

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
