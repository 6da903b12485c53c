"""Open a database (an SQLite file or PostgreSQL, and no other), run transactions, and migrate the tables.

SQLite runs in WAL mode with `synchronous=FULL`, foreign keys and a busy timeout. The transaction control of the sqlite3
driver is off, because it begins no transaction before SELECT or CREATE. Each transaction begins with BEGIN, or BEGIN
IMMEDIATE if it writes, so that two writers queue up instead of failing half-way.

Writers wait for their turn before they take a connection, so that readers never wait for them.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock, Semaphore
from typing import Any
from weakref import WeakKeyDictionary

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, Insert, Select, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import ArgumentError

from core.errors import Unavailable, UserError
from core.text.words import fold
from db.failures import explained
from db.sqlite_file import TABLES, SqliteFile, foreign, private_folder
from db.tables import metadata

BUSY = WRITE_SECONDS = 30.0  # longest wait of a writer for its turn and other programs' locks together
READ_SECONDS = 5.0  # readers wait only while another program locks the whole file
RETRY_MILLISECONDS = 3
LOG_PAGES = 16_000  # in SQLite's log before a commit copies it into the database; an import copies it earlier
POOL_SECONDS = 10.0
POOL, MORE = 10, 40
WRITERS = 10  # at once on a database server; the rest of the pool is for readers
MIGRATIONS = Path(__file__).resolve().parent / "migrations"
_MIGRATING = Lock()  # Alembic keeps its context in module globals


@dataclass
class _EngineState:
    """State of an engine: turns of the writers, how long they wait in seconds, and the SQLite file, if any."""

    turns: Semaphore
    patience: float
    file: SqliteFile | None = None


class Repository:
    """Implements a port of `core.ports` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def _rows(self, query: Select[Any]) -> Sequence[Any]:
        """Return the rows of a query, read in a transaction of its own."""
        with reading(self._engine) as connection:
            return connection.execute(query).all()

    def _first(self, query: Select[Any]) -> Any:
        """Return the first row of a query, or None."""
        with reading(self._engine) as connection:
            return connection.execute(query).first()

    def _scalar(self, query: Select[Any]) -> Any:
        """Return the first cell of the first row of a query, or None."""
        with reading(self._engine) as connection:
            return connection.execute(query).scalar()


_STATES: WeakKeyDictionary[Engine, _EngineState] = WeakKeyDictionary()


def connect(url: str, patience: float = WRITE_SECONDS) -> Engine:
    """Return an engine whose writers wait at most `patience` seconds; creates the folder of an SQLite file.

    Raises `UserError` for an address that is neither an SQLite file nor a PostgreSQL database.
    """
    pool: dict[str, Any] = {"pool_size": POOL, "max_overflow": MORE, "pool_timeout": POOL_SECONDS}
    address, file = _address(url), sqlite_file(url, patience)
    if file is None:
        engine = create_engine(address, pool_pre_ping=True, connect_args=_timeout_options(address), **pool)
        _STATES[engine] = _EngineState(Semaphore(WRITERS), patience)
        return engine
    _make_folder(file.path)
    engine = create_engine(address, pool_use_lifo=True, **pool)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "do_connect", _opening(file))
    event.listen(engine, "engine_disposed", lambda _: file.close())
    _STATES[engine] = _EngineState(Semaphore(1), patience, file)
    return engine


def _address(url: str) -> URL:
    """Return the address of an SQLite file or a PostgreSQL database. Raises `UserError` for any other."""
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        address = None
    if address is not None:
        driver, path = address.drivername, address.database
        if driver in ("sqlite", "sqlite+pysqlite") and path not in (None, "", ":memory:") and not address.query:
            return address
        if driver in ("postgresql", "postgresql+psycopg"):
            return address.set(drivername="postgresql+psycopg")
    raise UserError(
        "this database address cannot be used",
        where="an address that cannot be read" if address is None else address.render_as_string(hide_password=True),
        expected="an SQLite file (sqlite:///errorscope.db, without options) or PostgreSQL (postgresql+psycopg://USER@HOST/DATABASE)",
        hint="Set ERRORSCOPE_DB or --database to one of these"
        if "://" in url
        else f"For a file, write sqlite:///{url}",
    )


def _timeout_options(url: URL) -> dict[str, int]:
    """Return driver options in seconds (`tcp_user_timeout`: ms).

    A connection ends within two minutes after PostgreSQL becomes unreachable. Options in the URL take precedence.
    """
    options = {
        "connect_timeout": 20,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
    }
    return {name: value for name, value in options.items() if name not in url.query}


def sqlite_file(url: str, patience: float = WRITE_SECONDS) -> SqliteFile | None:
    """Return the file of an SQLite database, None for PostgreSQL. Raises `UserError` for any other address."""
    address = _address(url)
    if address.get_backend_name() == "postgresql":
        return None
    return SqliteFile(Path(address.database or ""), patience)


def _make_folder(path: Path) -> None:
    try:
        private_folder(path.parent)
    except OSError as error:
        raise UserError(
            "cannot create the folder of the database",
            where=str(path.parent),
            got=error.strerror or str(error),
            hint="Set ERRORSCOPE_HOME to a folder you may write to",
        ) from error


def _opening(file: SqliteFile) -> Any:
    def opening(dialect: object, record: object, arguments: list[Any], options: dict[str, Any]) -> None:
        """Connect to the file that was opened first, never to one that replaced it."""
        file.open()
        file.check()
        arguments[:1] = [file.uri()]
        options["uri"] = True

    return opening


def _prepare_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
    connection.create_function("folded", 1, fold, deterministic=True)


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction. A writer takes the lock at the start and waits for it until its time is up."""
    options = connection.get_execution_options()
    writes = "until" in options
    wait = max(0.0, options["until"] - time.monotonic()) if writes else READ_SECONDS
    cursor = connection.connection.cursor()
    cursor.execute(f"PRAGMA foreign_keys={'ON' if options.get('foreign_keys', True) else 'OFF'}")
    if writes:
        _lock(cursor, options["until"])
    cursor.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")
    if not writes:
        cursor.execute("BEGIN")
    cursor.close()


def _lock(cursor: DBAPICursor, until: float) -> None:
    """Begin a writing transaction once the database is free.

    SQLite itself asks again only every 100 ms after a while. Between the slices of an import it is free for less.
    """
    cursor.execute(f"PRAGMA busy_timeout={RETRY_MILLISECONDS}")
    while True:
        try:
            cursor.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A read-only transaction on one snapshot of the database. Raises `UserError` if storage fails (`db.failures`)."""
    file = _STATES[engine].file
    with explained(_shown(engine)):
        if file is not None:
            file.check()
        with engine.connect() as connection:
            # By default, each statement on PostgreSQL sees what others have committed meanwhile.
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection


@contextmanager
def writing(engine: Engine, *, foreign_keys: bool = True, pooled: bool = True) -> Iterator[Connection]:
    """A writing transaction, committed at the end and rolled back on any error.

    Without `pooled`, the connection is closed afterwards. For large values: a connection keeps the last ones that it stored, in SQLite's prepared
    statements and in PostgreSQL's send buffer.
    Raises `Unavailable` if the database is locked, full, missing or read-only; also if the file is no longer at its path
    after the commit, because the commit would be lost. Raises `Conflict` if a constraint is violated.
    """
    state = _STATES[engine]
    until = time.monotonic() + state.patience
    with explained(_shown(engine)), _turn(state, until, engine):
        if state.file is not None:
            state.file.check()
        with engine.connect() as connection:
            if not pooled:
                connection.detach()
            connection.execution_options(until=until, foreign_keys=foreign_keys)
            with connection.begin():
                if connection.dialect.name == "postgresql":
                    wait = max(1, int((until - time.monotonic()) * 1000))
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait}")
                yield connection
        if state.file is not None:
            state.file.check()


def copy_log(engine: Engine) -> None:
    """Copy SQLite's log into the database while others read and write, so that no commit of theirs has to."""
    if _STATES[engine].file is not None:
        with explained(_shown(engine)), closing(engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").close()


@contextmanager
def _turn(state: _EngineState, until: float, engine: Engine) -> Iterator[None]:
    if not state.turns.acquire(timeout=max(0.0, until - time.monotonic())):
        raise Unavailable(
            "the database is busy, because others are writing to it",
            where=_shown(engine),
            hint="Nothing was changed. Try again. If it stays busy, close the program that has the database open",
        )
    try:
        yield
    finally:
        state.turns.release()


def explained_for(engine: Engine) -> AbstractContextManager[None]:
    """Convert errors of the storage as `reading` and `writing` do, for a connection of the caller's own."""
    return explained(_shown(engine))


def take_turns(connection: Connection, subject: str) -> None:
    """Wait until no other transaction that called this for `subject` is open. On SQLite, writers take turns anyway."""
    if connection.dialect.name == "postgresql":
        number = int.from_bytes(hashlib.sha256(f"errorscope {subject}".encode()).digest()[:8], "big", signed=True)
        connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": number})


def inserted(connection: Connection, row: Insert) -> int:
    key = connection.execute(row).inserted_primary_key
    if key is None:
        raise RuntimeError("the database returned no id for a new row")
    return int(key[0])


def migrate(engine: Engine) -> None:
    """Migrate the tables to the current schema. Safe if several processes start at once.

    Raises `UserError` if the database is of another program, of a newer version, or of one from before the first migration, or
    cannot be opened.
    """
    file = _STATES[engine].file
    with _MIGRATING:
        current = revision(engine)
        if current != head():
            _require_migration_from(current, engine)
            with writing(engine, foreign_keys=False) as connection:  # SQLite rebuilds tables to which others refer
                take_turns(connection, "migrations")
                config = _config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        if file is not None:
            file.remember()


def _require_migration_from(current: str | None, engine: Engine) -> None:
    """Raise `UserError` if no migration begins at a schema version."""
    known = sorted(script.revision for script in _scripts().walk_revisions())
    if current is None or current in known:
        return
    newer = current > known[-1]
    raise UserError(
        f"this database was made by {'a newer' if newer else 'an older'} version of Errorscope",
        where=_shown(engine),
        got=f"schema {current}",
        expected=f"schema {known[-1]}" if len(known) == 1 else f"schema {known[0]} to {known[-1]}",
        hint="Update Errorscope, or set ERRORSCOPE_DB to another database; nothing was changed"
        if newer
        else "Open it once with a version that migrates it (docs/backup.md has the steps); nothing was changed",
    )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


@cache
def _scripts() -> ScriptDirectory:
    """Return the migrations. Their files are read once per process."""
    return ScriptDirectory.from_config(_config())


def head() -> str | None:
    """Return the newest schema version, which `migrate` leads to."""
    return _scripts().get_current_head()


def revision(engine: Engine) -> str | None:
    """Return the schema version of a database, None without tables. Raises `UserError` if it is of another program."""
    with reading(engine) as connection:
        names = set(inspect(connection).get_table_names())
        if not names >= TABLES and names & {"alembic_version", *metadata.tables}:
            raise foreign(_shown(engine), names)
        return MigrationContext.configure(connection).get_current_revision()


def _shown(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)
