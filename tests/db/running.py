"""A server in a process of its own that records labels, and what its database file can be put through."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from core.ports.store import Store
from db.engine import connect, migrate
from db.store import store_over
from tests.builders import small_dataset
from tests.db.other_processes import record_labels
from tests.processes import started_with_pipe

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
    (db.parent / "aside").rmdir()


class Server:
    """A process that records labels, and what it said."""

    def __init__(self, db: Path) -> None:
        self.process, self.lines = started_with_pipe(record_labels, f"sqlite:///{db}")
        self.saved: list[str] = []
        self.refused: list[str] = []

    def until(self, enough: Callable[[], bool]) -> None:
        line = ""
        for _ in range(400):
            line = self.lines.recv()
            word, _, rest = line.partition(" ")
            (self.saved if word == "saved" else self.refused).append(rest)
            if enough():
                return
        raise AssertionError(f"it did not happen; the server last said {line!r}")

    def end(self) -> None:
        """Kill the server, and read what it said to the end; the second call does nothing."""
        self.process.kill()
        self.process.join()
        with suppress(EOFError):
            while self.lines.poll():
                word, _, rest = self.lines.recv().partition(" ")
                if word == "saved":
                    self.saved.append(rest)


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
    ids = {str(name) for (name,) in connection.execute("SELECT action_id FROM events")}
    connection.close()
    return ids


@contextmanager
def opened(db: Path) -> Iterator[Store]:
    """Open a database as a start does, and close it at the end."""
    engine = connect(f"sqlite:///{db}")
    migrate(engine)
    try:
        yield store_over(engine)
    finally:
        engine.dispose()


@pytest.fixture
def closed(db: Path) -> Path:
    """A database that was used and closed."""
    with opened(db) as store:
        store.projects.create("p")
    assert [part(db, s).exists() for s in PARTS] == [True, False, False]
    return db


def damaged(db: Path, first: int = 1) -> None:
    """Make a database with a project, and write noise over all its pages but the first ones."""
    with opened(db) as store:
        store.projects.add(store.projects.create("p").id, small_dataset(300))
    with open(db, "r+b") as file:
        for page in range(first, db.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(os.urandom(4096))
