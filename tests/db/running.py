"""A server in a process of its own that records labels, and what its database file can be put through."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

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


def made(db: Path) -> None:
    open_store(f"sqlite:///{db}").projects.create("p")


def start(db: Path) -> "subprocess.CompletedProcess[str]":
    code = f"from db.store import open_store; print(len(open_store('sqlite:///{db}').projects.list()))"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def closed(db: Path) -> Path:
    """A database that was used and closed."""
    code = f"from tests.db.running import made; from pathlib import Path; made(Path({str(db)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert [part(db, s).exists() for s in PARTS] == [True, False, False]
    return db
