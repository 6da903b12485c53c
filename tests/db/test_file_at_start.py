"""A start finds out whether the database file is the one that was there."""

import os
import sqlite3
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from typing import Any

import pytest

from core.errors import UserError
from db import sqlite_file
from db.sqlite_file import SqliteFile
from db.store import open_store
from tests.db.other_processes import open_database
from tests.db.running import Server, moved, opened, part, put_back, stored
from tests.db.running import closed as closed
from tests.db.running import db as db
from tests.db.running import server as server
from tests.processes import ended, started


def test_processes_may_start_during_a_migration(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[int] = []

    class Late(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> Any:
            cursor = super().execute(statement, *values)
            if began or "sqlite_master WHERE type" not in statement:
                return cursor
            rows = iter(cursor.fetchall())
            began.append(ended(started(open_database, f"sqlite:///{db}")))
            return rows

    connected = sqlite3.connect
    db.write_bytes(b"")
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_file.sqlite3, "connect", lambda *a, **k: connected(*a, factory=Late, **k))
        file = SqliteFile(db, 30)
        file.open()
    file.check()
    file.close()
    assert began == [0]
    assert part(db, ".made").exists()


def test_a_file_created_concurrently_is_not_missing(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[Server] = []

    def before_it_was_made(path: Any, **options: Any) -> os.stat_result:
        if path == db and not servers:
            servers.append(Server(db))
            servers[0].until(lambda: len(servers[0].saved) >= 1)
            raise FileNotFoundError
        return looked(path, **options)

    looked = os.stat
    monkeypatch.setattr(os, "stat", before_it_was_made)
    file = SqliteFile(db, 30)
    try:
        file.open()
        file.check()
    finally:
        file.close()
        servers[0].end()


def test_addresses_on_windows() -> None:
    for path, address in [
        (r"\\server\share\a b\x.db", "file:////server/share/a%20b/x.db?mode=rw"),
        (r"C:\a#b\x.db", "file:///C:/a%23b/x.db?mode=rw"),
    ]:
        on_windows: Any = SimpleNamespace(resolve=lambda path=path: PureWindowsPath(path))
        assert SqliteFile(on_windows, 30).uri() == address


def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    path = tmp_path / "50% é #1?" / "errorscope.db"
    path.parent.mkdir()
    file = SqliteFile(path, 30)
    file.open()
    file.close()
    assert path.exists()


def test_a_start_without_the_file_that_was_there_makes_none(closed: Path) -> None:
    aside = closed.rename(closed.parent / "aside.db")
    with pytest.raises(UserError, match="the database file is missing") as refused:
        open_store(f"sqlite:///{closed}")
    assert f"To start with an empty database, delete {closed.name}.made" in refused.value.hint
    assert not closed.exists()
    aside.rename(closed)
    with opened(closed) as store:
        assert len(store.projects.list()) == 1


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
    with opened(closed) as store:
        assert store.projects.list() == []
    assert part(closed, ".made").exists()
