"""A running server whose database file is moved, deleted, replaced or cut short acknowledges nothing that would be lost."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import Unavailable
from db.sqlite_file import SqliteFile
from db.store import open_store
from tests.db.running import PARTS, Server, moved, part, put_back, stored
from tests.db.running import db as db
from tests.db.running import server as server


def replaced(db: Path) -> None:
    shutil.copy(db, db.parent / "copy")
    moved(db, "")
    (db.parent / "copy").rename(db)


def cut(db: Path, to: float) -> None:
    os.truncate(db, int(db.stat().st_size * to))


FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "main moved": (lambda db: moved(db, ""), "the database file is gone"),
    "log moved": (lambda db: moved(db, "-wal"), "errorscope.db-wal, a part of the database, is gone"),
    "index moved": (lambda db: moved(db, "-shm"), "errorscope.db-shm, a part of the database, is gone"),
    "all moved": (lambda db: moved(db, *PARTS), "the database file is gone"),
    "main replaced": (replaced, "another file has replaced errorscope.db"),
}


def test_nothing_acknowledged_is_lost(db: Path, server: Server) -> None:
    for fault, (act, message) in FAULTS.items():
        n = len(server.saved)
        server.until(lambda n=n: len(server.saved) >= n + 20)
        server.refused.clear()
        act(db)
        server.until(lambda: len(server.refused) >= 5)
        before = len(server.saved)
        assert message in server.refused[0], fault
        assert "docs/backup.md" in server.refused[0], fault
        server.until(lambda: len(server.refused) >= 10)
        assert len(server.saved) == before, fault
        put_back(db)
        server.until(lambda before=before: len(server.saved) >= before + 20)
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


@pytest.mark.parametrize("to", [pytest.param(0.0, marks=pytest.mark.extended), 0.5])
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


@pytest.mark.parametrize("held_back", [False, True], ids=["free", "held back by a reader"])
def test_pages_only_in_the_log_are_no_damage(db: Path, held_back: bool) -> None:
    store = open_store(f"sqlite:///{db}")
    other = grown(db)
    store.projects.create("before")
    other.execute("DELETE FROM filler WHERE rowid > 10")
    other.execute("VACUUM")
    other.execute("PRAGMA wal_checkpoint(FULL)")
    reader = sqlite3.connect(db, isolation_level=None)
    if held_back:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM filler").fetchall()
    other.execute("INSERT INTO filler VALUES (randomblob(200000))")
    (pages,) = other.execute("PRAGMA page_count").fetchone()
    assert pages * 4096 > db.stat().st_size  # or nothing is tested
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


def test_a_deleted_log_is_rescued_once_no_reader_holds_it_back(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'errorscope.db'}")
    file = SqliteFile(tmp_path / "errorscope.db", 30)
    anchor = file.open()
    reader = sqlite3.connect(file.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM projects").fetchall()
    store.projects.create("p")
    other = sqlite3.connect(file.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # a writer holds nothing back
    moved(file.path, "-wal")
    began = time.monotonic()
    for _ in range(3):
        with pytest.raises(Unavailable, match="-wal, a part of the database, is gone") as refused:
            file.check()
        assert "has been written" not in str(refused.value)
    reader.close()
    with pytest.raises(Unavailable, match="everything that was saved before has been written to the main file"):
        file.check()
    assert time.monotonic() - began < 3
    other.close()
    put_back(file.path)
    file.check()
    assert anchor.execute("SELECT name FROM projects").fetchall() == [("p",)]
    file.close()
