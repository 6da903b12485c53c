"""Whatever happens to storage is said in words of ours, and readers do not wait for writers."""

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from core.data import SegmentKey
from core.errors import Unavailable, UserError
from core.ports.labels import Action
from db.engine import connect, migrate, reading, writing
from db.failures import explained
from db.store import open_store, store_over
from tests.db.running import damaged
from tests.processes import at_once
from tests.stores import project_with


@pytest.fixture
def database() -> str:
    """Most of these faults are those of a file."""
    return "sqlite"


def test_writers_of_a_locked_database_get_an_error(url: str) -> None:
    engine = connect(url, patience=1.0)
    migrate(engine)
    store = store_over(engine)
    project = project_with(store)
    outside = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    outside.execute("BEGIN IMMEDIATE")
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            action = Action(f"a{number}", "verdict", "A", {"value": "no_error"})
            store.labels.append(project, f"ann {number}", SegmentKey("doc", "0"), [action])
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(30)]
    began = time.monotonic()
    for writer in writers:
        writer.start()
    waits = []
    for _ in range(20):
        asked = time.monotonic()
        assert len(store.projects.list()) == 1
        waits.append(time.monotonic() - asked)
    for writer in writers:
        writer.join()
    assert max(waits) < 1.0
    assert time.monotonic() - began < 8.0  # together they wait as long as one of them
    assert {type(error) for error in errors} == {Unavailable}
    assert len(errors) == 30
    outside.execute("ROLLBACK")
    write(99)
    assert len(errors) == 30
    assert [event.action.id for event in store.labels.events(project)] == ["a99"]
    engine.dispose()


def test_every_writer_gets_through_once_the_lock_is_gone(url: str) -> None:
    engine = connect(url)
    migrate(engine)
    store = store_over(engine)
    outside = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)
    outside.execute("BEGIN IMMEDIATE")
    threading.Timer(0.5, outside.execute, ["ROLLBACK"]).start()
    at_once(*(lambda number=number: store.projects.create(f"p{number}") for number in range(60)))
    assert len(store.projects.list()) == 60
    engine.dispose()


def test_an_exclusive_lock_stops_readers_with_an_error(
    engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.engine.READ_SECONDS", 0.05)
    path = url.removeprefix("sqlite:///")
    engine.dispose()
    outside = sqlite3.connect(path, isolation_level=None)
    outside.execute("PRAGMA locking_mode=EXCLUSIVE")
    outside.execute("BEGIN EXCLUSIVE")
    outside.execute("COMMIT")
    with (
        pytest.raises(Unavailable, match="locked by another program"),
        reading(connect(url, patience=0.1)) as connection,
    ):
        connection.execute(text("SELECT * FROM projects"))
    outside.close()


def sqlite_error(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(name)
    error.sqlite_errorcode = getattr(sqlite3, name)
    return error


def test_sqlite_errors_are_explained() -> None:
    for wrapped in [True, False]:
        for name, message in [
            ("SQLITE_BUSY", "locked by another program"),
            ("SQLITE_BUSY_SNAPSHOT", "locked by another program"),
            ("SQLITE_LOCKED_SHAREDCACHE", "locked by another program"),
            ("SQLITE_FULL", "disk of the database is full"),
            ("SQLITE_READONLY", "read-only"),
            ("SQLITE_READONLY_DBMOVED", "read-only"),
            ("SQLITE_READONLY_CANTINIT", "read-only"),
            ("SQLITE_IOERR_WRITE", "cannot be read or written"),
            ("SQLITE_IOERR_SHORT_READ", "cannot be read or written"),
            ("SQLITE_CORRUPT", "is damaged"),
            ("SQLITE_CORRUPT_INDEX", "is damaged"),
            ("SQLITE_NOTADB", "not an SQLite database"),
            ("SQLITE_CANTOPEN", "cannot be opened"),
            ("SQLITE_NOMEM", "not enough memory"),
        ]:
            raw = sqlite_error(name)
            with pytest.raises(Unavailable, match=message) as told, explained("the database"):
                raise OperationalError("SELECT 1", {}, raw) if wrapped else raw
            assert told.value.hint
            assert "safe." not in str(told.value)


def test_a_fault_of_ours_stays_what_it_is() -> None:
    for name in ["SQLITE_ERROR", "SQLITE_MISUSE", "SQLITE_CONSTRAINT_NOTNULL", "SQLITE_SCHEMA"]:
        with pytest.raises(DBAPIError), explained("the database"):
            raise OperationalError("SELECT 1", {}, sqlite_error(name))


def test_a_text_that_is_too_long_is_said_to_be() -> None:
    with pytest.raises(UserError, match="too long"), explained("the database"):
        raise OperationalError("INSERT", {}, sqlite_error("SQLITE_TOOBIG"))


def test_a_database_that_may_only_be_read_can_be_read(engine: Engine, url: str) -> None:
    store_over(engine).projects.create("p")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=ON")
        connection.rollback()
    assert [p.name for p in store_over(engine).projects.list()] == ["p"]
    with pytest.raises(Unavailable, match="read-only"):
        store_over(engine).projects.create("q")


def test_a_damaged_file_is_said_to_be_damaged_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "errorscope.db"
    damaged(path)

    def use() -> None:
        store = open_store(f"sqlite:///{path}")
        store.projects.dataset(store.projects.list()[0].id)

    with pytest.raises(Unavailable, match="damaged") as told:
        use()
    assert "docs/backup.md" in told.value.hint


def notes(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        connection.execute("INSERT INTO notes VALUES (1, 'mine')")
    connection.close()


def logged_notes(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    notes(path)


def another_alembic(path: Path) -> None:
    notes(path)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('0003')")
        connection.execute("CREATE TABLE projects (id INTEGER)")
    connection.close()


def marked(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA application_id=252006673")
    connection.close()


@pytest.mark.parametrize("make", [notes, logged_notes, another_alembic, marked])
def test_the_database_of_another_program_is_named_and_not_changed(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "other.db"
    make(path)
    before = (
        hashlib.sha256(path.read_bytes()).hexdigest(),
        sorted(p.name for p in tmp_path.iterdir()),
        path.stat().st_mode,
    )
    with pytest.raises(UserError, match="belongs to another program") as told:
        open_store(f"sqlite:///{path}")
    assert "ERRORSCOPE_DB" in told.value.hint
    after = (
        hashlib.sha256(path.read_bytes()).hexdigest(),
        sorted(p.name for p in tmp_path.iterdir()),
        path.stat().st_mode,
    )
    assert after == before


def test_a_text_file_is_said_to_be_no_database_and_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "hyp.txt"
    path.write_text("The cat sat on the mat.\n" * 50)
    with pytest.raises(UserError, match="not an SQLite database"):
        open_store(f"sqlite:///{path}")
    assert path.read_text() == "The cat sat on the mat.\n" * 50
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hyp.txt"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_writer_that_waits_for_its_turn_holds_no_connection(engine: Engine) -> None:
    impatient = connect(str(engine.url), patience=0.3)
    with writing(impatient):
        errors: list[BaseException] = []

        def write() -> None:
            try:
                with writing(impatient):
                    pass
            except Unavailable as error:
                errors.append(error)

        at_once(*[write] * 100)
        assert impatient.pool.checkedout() == 1  # type: ignore[attr-defined]
    assert len(errors) == 100
    impatient.dispose()
