"""PostgreSQL databases for tests, on the server that ERRORSCOPE_TEST_POSTGRES names. Each is a copy of one made once per process."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import event, make_url
from sqlalchemy.pool import Pool

from db.engine import connect, migrate
from tests.ports import free_port

SERVER = os.environ.get("ERRORSCOPE_TEST_POSTGRES", "")
"""URL of a database whose role may create others."""
needs_postgres = pytest.mark.skipif(
    not SERVER,
    reason="needs a PostgreSQL server: run `.ci/postgres make test`, or set ERRORSCOPE_TEST_POSTGRES to the URL of a "
    "database on one, such as postgresql+psycopg://ROLE@localhost/postgres; ROLE needs CREATEDB",
)
POSTGRES = pytest.param("postgresql", marks=[needs_postgres, pytest.mark.postgresql, pytest.mark.extended])
on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("database", [POSTGRES], indirect=True)
on_both = pytest.mark.parametrize("database", ["sqlite", POSTGRES], indirect=True)

_numbers = count()
_opened: list[psycopg.Connection[Any]] = []


@event.listens_for(Pool, "connect")
def _remember(connection: Any, _: object) -> None:
    if isinstance(connection, psycopg.Connection):
        _opened.append(connection)


@contextmanager
def postgres_database(*, empty: bool = False) -> Iterator[str]:
    """Yield the URL of a new database, with tables unless `empty`; it is dropped at the end with all its connections."""
    name = f"errorscope_{os.getpid()}_{next(_numbers)}"
    _create(name, "template0" if empty else _template())
    try:
        yield url_of(name)
    finally:
        while _opened:
            _opened.pop().close()
        _drop(name)


def url_of(name: str) -> str:
    return make_url(SERVER).set(database=name).render_as_string(hide_password=False)


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, the newest if there are several; None if it is not installed."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = str(versions[-1]) if versions else shutil.which("initdb")
    return None if found is None else Path(found).resolve().parent


class OwnServer:
    """A PostgreSQL server in a folder, which a test can stop and start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(folder, "postgres")
        self._run("initdb", "-U", "errorscope", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://errorscope@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder} -c fsync=off"
        self._run("pg_ctl", "-l", str(self._folder / "log"), "-o", options, "-w", "start")

    def stop(self, mode: str) -> None:
        """Stop the server: `fast` ends transactions, `immediate` is as a crash."""
        self._run("pg_ctl", "-m", mode, "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        folder = programs()
        assert folder is not None
        owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*owner, str(folder / program), "-D", str(self._folder / "data"), *arguments]
        subprocess.run(command, cwd=self._folder, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """Yield a running server that no other test uses."""
    with TemporaryDirectory(prefix="errorscope-postgres-") as folder:
        server = OwnServer(Path(folder))
        server.start()
        try:
            yield server
        finally:
            with suppress(subprocess.CalledProcessError):  # it is stopped already
                server.stop("immediate")


@cache
def _server() -> psycopg.Connection[Any]:
    plain = make_url(SERVER).set(drivername="postgresql").render_as_string(hide_password=False)
    connection = psycopg.connect(plain, autocommit=True)
    atexit.register(connection.close)
    return connection


@cache
def _template() -> str:
    name = f"errorscope_{os.getpid()}_template"
    _create(name, "template0")
    engine = connect(url_of(name))
    migrate(engine)
    engine.dispose()
    atexit.register(_drop, name)
    return name


def _create(name: str, template: str) -> None:
    # A copy of the files takes the server half of the time of the default, which writes each page to its log.
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
    _server().execute(statement.format(sql.Identifier(name), sql.Identifier(template)))


def _drop(name: str) -> None:
    # WITH (FORCE) would ask for the right to end an autovacuum worker too; without it, PostgreSQL ends that one itself.
    own = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND usename = current_user"
    with suppress(psycopg.OperationalError):  # the server went first
        _server().execute(own, [name])
        _server().execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
