"""Opening a database: SQLite by default, any SQLAlchemy URL; transactions; and bringing its tables up to date.

SQLite runs in WAL mode with `synchronous=FULL`, foreign keys on and a busy timeout. The sqlite3 driver's own transaction
control is switched off, because it begins none before SELECT or CREATE; each transaction here begins with BEGIN, or
BEGIN IMMEDIATE when it will write, so that two writers queue up instead of failing half-way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, Insert, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from core.errors import Unavailable, UserError

BUSY_SECONDS = 30.0
MIGRATIONS = Path(__file__).resolve().parent / "migrations"
_MIGRATING = Lock()  # Alembic keeps its context in module globals
_ADVISORY_LOCK = 4_973_214  # any number; PostgreSQL takes turns on it
_NOT_WRITABLE = ("locked", "busy", "full", "readonly", "read-only", "disk i/o")


def connect(url: str) -> Engine:
    """An engine for `url`; makes the folder of an SQLite file. Raises `UserError` for a URL that cannot be used."""
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() != "sqlite":
            return create_engine(parsed, pool_pre_ping=True)
        _make_folder(parsed)
        engine = create_engine(parsed, connect_args={"timeout": BUSY_SECONDS})
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise UserError(
            "this database address cannot be used",
            got=str(error).splitlines()[0],
            expected="an SQLAlchemy URL such as sqlite:///errorscope.db",
            hint="Mend ERRORSCOPE_DB, or install the driver it names",
        ) from error
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_folder(url: URL) -> None:
    name = url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        return
    try:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            "the folder of the database cannot be made",
            where=str(Path(name).parent),
            got=error.strerror or str(error),
            hint="Set ERRORSCOPE_HOME to a folder you may write to",
        ) from error


def _prepare_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")
    cursor.execute("PRAGMA foreign_keys=ON")
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    """Switch to WAL. SQLite answers "locked" at once, timeout or not, when two connections switch a new file together."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    immediate = connection.get_execution_options().get("immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one state of the database and changes nothing."""
    with engine.connect() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: committed at the end, rolled back on any error.

    Raises `Unavailable` when the database is locked by somebody else, full, or may not be written to.
    """
    try:
        with engine.connect() as connection:
            connection.execution_options(immediate=True)
            with connection.begin():
                yield connection
    except OperationalError as error:
        if any(word in str(error.orig).lower() for word in _NOT_WRITABLE):
            raise Unavailable(
                "the database could not be written to",
                where=_shown(engine),
                got=str(error.orig),
                hint="Nothing was changed; try again, and look at free space and rights if it stays so",
            ) from error
        raise


def inserted(connection: Connection, row: Insert) -> int:
    """Insert one row; returns its new id."""
    key = connection.execute(row).inserted_primary_key
    if key is None:
        raise RuntimeError("the database returned no id for a new row")
    return int(key[0])


def migrate(engine: Engine) -> None:
    """Bring the tables up to date; safe when several processes start at once, nothing to do for a database that is current.

    Raises `UserError` for a database made by a newer version, and for one that cannot be opened.
    """
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    with _MIGRATING:
        current = _revision(engine)
        if current == scripts.get_current_head():
            return
        if current is not None and current not in {script.revision for script in scripts.walk_revisions()}:
            raise UserError(
                "this database was made by a newer version of Errorscope",
                where=_shown(engine),
                got=f"schema {current}",
                expected=f"schema {scripts.get_current_head()} or older",
                hint="Update Errorscope, or set ERRORSCOPE_DB to another database; nothing was changed",
            )
        with writing(engine) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _ADVISORY_LOCK})
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def _revision(engine: Engine) -> str | None:
    try:
        with reading(engine) as connection:
            return MigrationContext.configure(connection).get_current_revision()
    except DBAPIError as error:
        raise UserError(
            "the database cannot be opened",
            where=_shown(engine),
            got=str(error.orig),
            hint="Set ERRORSCOPE_DB to another address, or look at the file and its rights",
        ) from error


def _shown(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)
