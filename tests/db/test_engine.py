import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, inspect, select, text
from sqlalchemy.exc import OperationalError

from core.errors import Unavailable, UserError
from db.columns import to_json
from db.engine import connect, migrate, reading, writing
from db.failures import Conflict
from db.store import open_store, store_over
from db.tables import projects
from tests.db.other_processes import list_projects
from tests.db.raw import scalar
from tests.postgres import on_postgres, on_sqlite
from tests.processes import at_once, ended, started_with_pipe


@on_sqlite
def test_sqlite_uses_wal_full_sync_and_foreign_keys(engine: Engine) -> None:
    with reading(engine) as connection:
        pragmas = {
            p: connection.exec_driver_sql(f"PRAGMA {p}").scalar()
            for p in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5_000}  # 2 is FULL
    with writing(engine) as connection:
        assert 29_000 < (connection.exec_driver_sql("PRAGMA busy_timeout").scalar() or 0) <= 30_000
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_migrating_twice_changes_nothing(engine: Engine) -> None:
    sqlite = engine.dialect.name == "sqlite"
    version = "PRAGMA schema_version" if sqlite else "SELECT max(CAST(CAST(xmin AS text) AS bigint)) FROM pg_class"
    before = scalar(engine, version)
    migrate(engine)
    assert scalar(engine, version) == before


def test_processes_that_start_together_all_find_the_tables(url: str) -> None:
    running = [started_with_pipe(list_projects, url) for _ in range(2)]
    for _, connection in running:
        assert connection.recv() == "ready"
    for _, connection in running:
        connection.send("go")
    assert [connection.recv() for _, connection in running] == [[], []]
    assert [ended(process) for process, _ in running] == [0, 0]


def test_threads_that_start_together_all_find_the_tables(url: str) -> None:
    assert at_once(*[lambda: open_store(url).projects.list()] * 4) == [[]] * 4


def test_addresses_of_other_databases_are_refused(tmp_path: Path) -> None:
    for url, message in [
        ("errorscope.db", "write sqlite:///errorscope.db"),
        ("nosuch://x/y", "nosuch://x/y: this database address cannot be used"),
        ("mysql+pymysql://u:secret@h/x", r"mysql\+pymysql://u:\*\*\*@h/x.*SQLite file .* or PostgreSQL"),
        ("postgresql+psycopg2://u@h/x", "postgresql\\+psycopg://USER"),
        ("postgresql://u:secret@h:port/x", "an address that cannot be read"),
        ("sqlite://", "SQLite file"),
        ("sqlite:///:memory:", "SQLite file"),
        (f"sqlite:///file:{tmp_path / 'x.db'}?mode=ro&uri=true", "without options"),
        (f"sqlite:///{tmp_path / 'x.db'}?cache=shared", "without options"),
    ]:
        with pytest.raises(UserError, match=message) as refused:
            open_store(url)
        assert "secret" not in str(refused.value)
        assert "ERRORSCOPE_DB" in str(refused.value) or "://" not in url
    assert list(tmp_path.iterdir()) == []


def test_addresses_of_postgresql_need_no_driver() -> None:
    assert connect("postgresql://u@h/x").url == connect("postgresql+psycopg://u@h/x").url


def test_a_folder_that_cannot_be_made_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="folder"):
        connect(f"sqlite:///{tmp_path / 'file' / 'errorscope.db'}")


@on_sqlite
def test_a_writer_holds_the_lock_from_its_first_statement_on(engine: Engine, url: str) -> None:
    # A second writer must wait even though the first has only read so far: otherwise both would read, then one would fail.
    seen: list[object] = []
    impatient = connect(url, patience=0.05)

    def second() -> None:
        with writing(engine) as connection:
            seen.append(connection.execute(text("SELECT count(*) FROM raters")).scalar())

    with writing(engine) as connection:
        connection.execute(text("SELECT count(*) FROM raters")).scalar()
        with pytest.raises(Unavailable, match="locked"), writing(impatient):
            pass
        impatient.dispose()
        thread = threading.Thread(target=second)
        thread.start()
        connection.execute(text("INSERT INTO raters (name, created) VALUES ('ann', '2026-01-01')"))
        assert scalar(engine, "SELECT count(*) FROM raters") == 0  # readers neither wait nor see what is not committed
    thread.join()
    assert seen == [1]


def test_an_error_rolls_back_everything_even_a_new_table(engine: Engine) -> None:
    def fail() -> None:
        with writing(engine) as connection:
            connection.execute(text("INSERT INTO raters (name, created) VALUES ('ann', '2026-01-01')"))
            connection.execute(text("CREATE TABLE extra (id INTEGER)"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert scalar(engine, "SELECT count(*) FROM raters") == 0
    assert "extra" not in inspect(engine).get_table_names()


def test_a_database_that_stays_locked_is_unavailable(engine: Engine, url: str) -> None:
    impatient = connect(url, patience=0.05)
    with writing(engine) as first:
        if first.dialect.name == "postgresql":
            first.execute(text("LOCK TABLE raters"))
        with pytest.raises(Unavailable, match="locked by another program"), writing(impatient) as second:
            second.execute(text("DELETE FROM raters"))
    impatient.dispose()


@on_postgres
def test_of_two_writers_in_a_deadlock_one_may_try_again(engine: Engine) -> None:
    both = threading.Barrier(2)
    failed: list[Exception] = []

    def lock(first: int, second: int) -> None:
        try:
            with writing(engine) as connection:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({first})"))
                both.wait()
                connection.execute(text(f"SELECT pg_advisory_xact_lock({second})"))
        except Conflict as error:
            failed.append(error)

    at_once(lambda: lock(1, 2), lambda: lock(2, 1))
    assert len(failed) == 1
    assert "deadlock" in str(failed[0])


def test_foreign_keys_are_enforced(engine: Engine) -> None:
    with pytest.raises(Conflict), writing(engine) as connection:
        connection.execute(text("INSERT INTO segment_references (segment, position, text) VALUES (7, 0, 'x')"))


@on_sqlite
def test_faults_of_ours_are_not_hidden_as_user_errors(engine: Engine) -> None:
    with pytest.raises(OperationalError), writing(engine) as connection:
        connection.execute(text("SELECT * FROM nowhere"))


def test_json_refuses_nan_at_any_depth() -> None:
    assert to_json({"a": [float("inf"), "NaN"]}) == '{"a":[Infinity,"NaN"]}'
    with pytest.raises(ValueError, match="NaN"):
        to_json({"a": [{"b": (float("nan"),)}]})


def test_a_read_transaction_sees_one_snapshot(engine: Engine) -> None:
    def names(connection: Connection) -> list[str]:
        return list(connection.execute(select(projects.c.name)).scalars())

    store = store_over(engine)
    store.projects.create("before")
    with reading(engine) as connection:
        assert names(connection) == ["before"]
        store.projects.create("meanwhile")
        assert names(connection) == ["before"]
    with reading(engine) as connection:
        assert names(connection) == ["before", "meanwhile"]
    with writing(engine) as connection:  # writers wait for each other, and see what the other has written
        assert connection.get_isolation_level() in ("SERIALIZABLE", "READ COMMITTED")


@on_postgres
def test_a_lost_server_is_noticed(url: str) -> None:
    engine = connect(f"{url}?connect_timeout=7")
    with reading(engine) as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        said = driver.info.get_parameters()
    engine.dispose()
    assert (said["connect_timeout"], said["keepalives_idle"], said["tcp_user_timeout"]) == ("7", "30", "60000")
