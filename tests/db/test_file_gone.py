"""A running server whose database file is moved, deleted, replaced or cut short acknowledges nothing that would be lost."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from core.errors import Unavailable, UserError
from db import sqlite_file
from db.sqlite_file import SqliteFile
from db.store import open_store
from tests.paths import ROOT

PARTS = ("", "-wal", "-shm")


def part(db: Path, suffix: str) -> Path:
    return Path(f"{db}{suffix}")


def moved(db: Path, *suffixes: str) -> None:
    (db.parent / "aside").mkdir()
    for suffix in suffixes:
        part(db, suffix).rename(db.parent / "aside" / part(db, suffix).name)


def put_back(db: Path) -> None:
    for file in (db.parent / "aside").iterdir():
        file.rename(db.parent / file.name)


def replaced(db: Path) -> None:
    shutil.copy(db, db.parent / "copy")
    moved(db, "")
    (db.parent / "copy").rename(db)


def cut(db: Path, to: float) -> None:
    os.truncate(db, int(db.stat().st_size * to))


class Server:
    """A process that records labels, and what it said."""

    def __init__(self, db: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.db.label_server", f"sqlite:///{db}"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.saved: list[str] = []
        self.refused: list[str] = []

    def until(self, enough: Callable[[], bool]) -> None:
        assert self.process.stdout is not None
        line = ""
        for line in islice(self.process.stdout, 400):
            word, _, rest = line.strip().partition(" ")
            (self.saved if word == "saved" else self.refused).append(rest)
            if enough():
                return
        raise AssertionError(f"it did not happen; the server last said {line!r}")

    def end(self) -> None:
        """Kill the server, and read what it said to the end; the second call does nothing."""
        self.process.kill()
        with self.process:
            assert self.process.stdout is not None
            if not self.process.stdout.closed:
                lines = self.process.stdout.read().splitlines()
                self.saved += [line.removeprefix("saved ") for line in lines if line.startswith("saved a")]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "errorscope.db"


@pytest.fixture
def server(db: Path) -> Iterator[Server]:
    running = Server(db)
    yield running
    running.end()


def stored(db: Path) -> set[str]:
    connection = sqlite3.connect(db)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    found = {str(name) for (name,) in connection.execute("SELECT action_id FROM events")}
    connection.close()
    return found


FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "main moved": (lambda db: moved(db, ""), "the database file is gone"),
    "log moved": (lambda db: moved(db, "-wal"), "errorscope.db-wal, a part of the database, is gone"),
    "index moved": (lambda db: moved(db, "-shm"), "errorscope.db-shm, a part of the database, is gone"),
    "all moved": (lambda db: moved(db, *PARTS), "the database file is gone"),
    "main replaced": (replaced, "another file has replaced errorscope.db"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_acknowledged_is_lost(fault: str, db: Path, server: Server) -> None:
    act, message = FAULTS[fault]
    server.until(lambda: len(server.saved) >= 20)
    act(db)
    server.until(lambda: len(server.refused) >= 5)
    before = len(server.saved)
    assert message in server.refused[0]
    assert "docs/backup.md" in server.refused[0]
    server.until(lambda: len(server.refused) >= 10)
    assert len(server.saved) == before
    put_back(db)
    server.until(lambda: len(server.saved) >= before + 20)
    server.end()
    assert set(server.saved) <= stored(db)


def test_labels_in_a_deleted_log_are_rescued(db: Path, server: Server) -> None:
    server.until(lambda: len(server.saved) >= 60)
    part(db, "-wal").unlink()
    server.until(lambda: len(server.refused) >= 3)
    assert "everything that was saved before has been written to the main file" in server.refused[0]
    server.end()
    part(db, "-shm").unlink()
    assert set(server.saved) <= stored(db)


@pytest.mark.parametrize("to", [0.0, 0.5])
def test_a_file_that_was_cut_short_takes_nothing_more(db: Path, server: Server, to: float) -> None:
    server.until(lambda: len(server.saved) >= 20)
    before = len(server.saved)
    cut(db, to)
    server.until(lambda: len(server.refused) >= 3)
    assert "cut short" in server.refused[-1] or "damaged" in server.refused[-1]
    assert len(server.saved) <= before + 40  # what was said already, and read only now
    count = len(server.saved)
    server.until(lambda: len(server.refused) >= 10)
    assert len(server.saved) == count


def test_a_deleted_database_is_neither_written_to_nor_made_anew(db: Path, server: Server) -> None:
    server.until(lambda: len(server.saved) >= 20)
    db.unlink()
    server.until(lambda: len(server.refused) >= 3)
    count = len(server.saved)
    server.until(lambda: len(server.refused) >= 10)
    assert len(server.saved) == count
    assert not db.exists()


def test_another_program_may_shorten_the_file_and_the_log(db: Path, server: Server) -> None:
    server.until(lambda: len(server.saved) >= 20)
    other = sqlite3.connect(db, timeout=30)
    for statement in (
        "CREATE TABLE big (x BLOB)",
        "INSERT INTO big VALUES (zeroblob(3000000))",
        "DROP TABLE big",
        "VACUUM",
    ):
        other.execute(statement)
        other.commit()
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    count = len(server.saved)
    server.until(lambda: len(server.saved) >= count + 20)
    server.end()
    assert server.refused == []
    assert set(server.saved) <= stored(db)


def grown(db: Path) -> sqlite3.Connection:
    """Another connection to `db`, whose pages made the main file long."""
    other = sqlite3.connect(db, timeout=30, isolation_level=None)
    other.execute("PRAGMA wal_autocheckpoint=0")
    other.execute("CREATE TABLE filler (x BLOB)")
    for _ in range(30):
        other.execute("INSERT INTO filler VALUES (randomblob(100000))")
    other.execute("PRAGMA wal_checkpoint(FULL)")
    return other


def test_pages_only_in_the_log_are_no_damage(db: Path) -> None:
    store = open_store(f"sqlite:///{db}")
    other = grown(db)
    store.projects.create("before")
    other.execute("DELETE FROM filler WHERE rowid > 10")
    other.execute("VACUUM")
    other.execute("PRAGMA wal_checkpoint(FULL)")
    other.execute("INSERT INTO filler VALUES (randomblob(200000))")
    (pages,) = other.execute("PRAGMA page_count").fetchone()
    assert pages * 4096 > db.stat().st_size  # or nothing is tested
    store.projects.create("after")
    other.close()
    assert {project.name for project in store.projects.list()} == {"before", "after"}


def test_the_same_is_no_damage_while_a_reader_holds_the_log_back(db: Path) -> None:
    store = open_store(f"sqlite:///{db}")
    other = grown(db)
    store.projects.create("before")
    other.execute("DELETE FROM filler WHERE rowid > 10")
    other.execute("VACUUM")
    other.execute("PRAGMA wal_checkpoint(FULL)")
    reader = sqlite3.connect(db, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM filler").fetchall()
    other.execute("INSERT INTO filler VALUES (randomblob(200000))")
    store.projects.create("after")
    reader.close()
    other.close()
    assert {project.name for project in store.projects.list()} == {"before", "after"}


def test_a_cut_file_with_pages_in_the_log_is_refused(db: Path) -> None:
    store = open_store(f"sqlite:///{db}")
    other = grown(db)
    store.projects.create("before")
    other.execute("INSERT INTO filler VALUES (randomblob(200000))")  # a checkpoint would make the file long again
    os.truncate(db, db.stat().st_size // 4096 // 2 * 4096)
    for _ in range(3):
        with pytest.raises(Unavailable, match="cut short"):
            store.projects.create("after")
    other.close()


def test_the_open_log_is_rescued_once(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path / 'errorscope.db'}").projects.create("p")
    file = SqliteFile(tmp_path / "errorscope.db", 30)
    file.open()
    assert file.anchor is not None
    said: list[str] = []
    file.anchor.set_trace_callback(said.append)
    other = sqlite3.connect(file.path, timeout=30, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def checks(times: int) -> int:
        """How often the rescue was tried."""
        said.clear()
        for _ in range(times):
            with pytest.raises(Unavailable, match="-wal, a part of the database, is gone"):
                file.check()
        return len([statement for statement in said if "wal_checkpoint" in statement])

    moved(file.path, "-wal")
    began = time.monotonic()
    assert checks(5) == 1  # a writer is in the way
    assert time.monotonic() - began < 3
    other.execute("ROLLBACK")
    file._rescue_again = 0.0  # as after some seconds
    assert checks(5) == 1
    with pytest.raises(Unavailable, match="everything that was saved before has been written to the main file"):
        file.check()
    put_back(file.path)
    file.check()
    (tmp_path / "aside").rmdir()
    moved(file.path, "-wal")
    assert checks(5) == 1
    put_back(file.path)
    other.close()
    file.close()


def test_processes_may_start_during_a_migration(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    class Late(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> Any:
            found = super().execute(statement, *values)
            if started or "sqlite_master WHERE type" not in statement:
                return found
            rows = iter(found.fetchall())
            started.append(start(db).stdout)
            return rows

    connected = sqlite3.connect
    db.write_bytes(b"")
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_file.sqlite3, "connect", lambda *a, **k: connected(*a, factory=Late, **k))
        file = SqliteFile(db, 30)
        file.open()
    file.check()
    file.close()
    assert started == ["0\n"]
    assert part(db, ".made").exists()


def test_a_file_created_concurrently_is_not_missing(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[Server] = []

    def before_it_was_made(path: Path) -> tuple[int, int] | None:
        if not servers:
            servers.append(Server(db))
            servers[0].until(lambda: len(servers[0].saved) >= 1)
            return None
        return looked(path)

    looked = sqlite_file._identity
    monkeypatch.setattr(sqlite_file, "_identity", before_it_was_made)
    file = SqliteFile(db, 30)
    try:
        file.open()
        file.check()
    finally:
        file.close()
        servers[0].end()


@pytest.mark.parametrize(
    ("path", "address"),
    [
        (r"\\server\share\a b\x.db", "file:////server/share/a%20b/x.db?mode=rw"),
        (r"C:\a#b\x.db", "file:///C:/a%23b/x.db?mode=rw"),
    ],
)
def test_addresses_on_windows(db: Path, monkeypatch: pytest.MonkeyPatch, path: str, address: str) -> None:
    file = SqliteFile(db, 30)
    monkeypatch.setattr(file, "_beside", PureWindowsPath(path))
    assert file.uri() == address


def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    path = tmp_path / "50% é #1?" / "errorscope.db"
    path.parent.mkdir()
    file = SqliteFile(path, 30)
    file.open()
    file.close()
    assert path.exists()


def made(db: Path) -> None:
    open_store(f"sqlite:///{db}").projects.create("p")


def start(db: Path) -> "subprocess.CompletedProcess[str]":
    code = f"from db.store import open_store; print(len(open_store('sqlite:///{db}').projects.list()))"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.fixture
def closed(db: Path) -> Path:
    """A database that was used and closed."""
    run(f"from tests.db.test_file_gone import made; from pathlib import Path; made(Path({str(db)!r}))")
    assert [part(db, s).exists() for s in PARTS] == [True, False, False]
    return db


def test_a_start_without_the_file_that_was_there_makes_none(closed: Path) -> None:
    aside = closed.rename(closed.parent / "aside.db")
    with pytest.raises(UserError, match="the database file is missing") as refused:
        open_store(f"sqlite:///{closed}")
    assert f"To start with an empty database, delete {closed.name}.made" in refused.value.hint
    assert not closed.exists()
    aside.rename(closed)
    assert start(closed).stdout == "1\n"


@pytest.mark.parametrize("content", ["", "tables"])
def test_a_start_with_an_empty_file_where_data_was_is_refused(closed: Path, content: str) -> None:
    closed.write_bytes(b"")
    if content:
        with sqlite3.connect(closed) as connection:
            connection.execute("CREATE TABLE x (y)")
            connection.execute("DROP TABLE x")
        connection.close()
    before = closed.read_bytes()
    with pytest.raises(UserError, match="is empty, and one with data was here"):
        open_store(f"sqlite:///{closed}")
    assert closed.read_bytes() == before


def test_a_log_without_its_file_is_left_alone(db: Path, server: Server) -> None:
    server.until(lambda: len(server.saved) >= 20)
    server.end()
    moved(db, "")
    part(db, ".made").unlink()
    log = part(db, "-wal").read_bytes()
    with pytest.raises(UserError, match="its log exists"):
        open_store(f"sqlite:///{db}")
    assert part(db, "-wal").read_bytes() == log
    put_back(db)
    assert set(server.saved) <= stored(db)


def test_after_the_marker_is_deleted_an_empty_database_is_made(closed: Path) -> None:
    closed.unlink()
    part(closed, ".made").unlink()
    assert start(closed).stdout == "0\n"
    assert part(closed, ".made").exists()
