"""Back up an SQLite database to one file, and restore it: a consistent copy, even while others write, checked before it is kept.

A database on PostgreSQL is backed up with `pg_dump` (docs/backup.md).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from core.errors import Unavailable, UserError
from core.progress import Progress, no_progress
from db.database_copy import require_database
from db.engine import BUSY, connect, migrate, sqlite_file
from db.failures import explained
from db.sqlite_file import MARKER, TABLES, SqliteFile, private_file, private_folder


class Backup(NamedTuple):
    """A finished backup. `source` is the path of the database; `size` is in bytes."""

    path: Path
    source: str
    size: int
    projects: int
    events: int


def backup(url: str, target: Path, *, overwrite: bool = False, progress: Progress = no_progress) -> Backup:
    """Copy the SQLite database at `url` to the file `target`, which is complete and checked or not written at all.

    Raises `UserError` if the database does not exist, is damaged or is on PostgreSQL, or if `target` exists and `overwrite` is
    not set.
    """
    file = _file_of(url, "Make backups with pg_dump, or a copy in an SQLite file with db copy")
    require_database(url)
    _refuse(target, file.path, overwrite)
    with _partial(target) as partial:
        with explained(str(file.path)), _opened(file) as source:
            _copy_pages(source, partial)
            file.check()
        progress(0.5)
        counts = _checked(partial)
        _keep(partial, target)
    progress(1.0)
    return Backup(target, str(file.path), target.stat().st_size, *counts)


def restore(file: Path, url: str, *, overwrite: bool = False, progress: Progress = no_progress) -> tuple[str, int, int]:
    """Put the content of a backup into the SQLite database at `url`; return its path, and the counts of projects and events.

    The backup may be of an older version. The content of the database is replaced in one transaction. Raises `UserError` if
    `file` is no backup, or if the database has projects and `overwrite` is not set; nothing is changed then.
    """
    target = _file_of(url, "Restore dumps with pg_restore; db copy moves an SQLite backup to PostgreSQL")
    if not file.is_file():
        raise UserError("there is no such backup", where=str(file), hint="Check the path")
    missing = not target.path.exists()
    if missing:
        _refuse_log(target.path)
        private_folder(target.path.parent)
    elif target.path.samefile(file):
        raise UserError("this is the database itself", where=str(file), hint="Choose the file of a backup")
    elif not overwrite:
        with explained(str(target.path)), _opened(target) as present:
            if _counts(present)[0]:
                hint = "Add --overwrite to replace all that is in it, or choose another with --to"
                raise UserError("this database has projects", where=str(target.path), hint=hint)
    with _partial(target.path) as partial:
        address = f"{file.resolve().as_uri()}?mode=ro"
        with explained(str(file)), closing(sqlite3.connect(address, uri=True, timeout=BUSY)) as stored:
            _copy_pages(stored, partial)  # with what is in its log, if it has one
        counts = _checked(partial)
        progress(0.5)
        engine = connect(f"sqlite:///{partial}")
        migrate(engine)
        engine.dispose()
        if missing:
            _keep(partial, target.path)
        else:
            with explained(str(target.path)), _opened(target) as replaced, closing(sqlite3.connect(partial)) as new:
                new.backup(replaced, progress=_refuse_if_busy)
                target.check()
    progress(1.0)
    return str(target.path), *counts


def _file_of(url: str, hint: str) -> SqliteFile:
    file = sqlite_file(url, BUSY)
    if file is None:
        raise UserError(
            "this command works on SQLite files only", got="the address of a PostgreSQL database", hint=f"{hint}: docs/backup.md"
        )  # fmt: skip
    return file


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """Yield the path of an unfinished file beside `target`; what is left of it is deleted at the end."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.touch(mode=0o600)
        yield partial
    finally:
        for suffix in ("", "-journal", "-wal", "-shm", MARKER):
            with suppress(FileNotFoundError):
                Path(f"{partial}{suffix}").unlink()


@contextmanager
def _opened(file: SqliteFile) -> Iterator[sqlite3.Connection]:
    try:
        yield file.open()
    finally:
        file.close()


def _copy_pages(source: sqlite3.Connection, partial: Path) -> None:
    """Copy one consistent state of a database, in one file without a log."""
    with closing(sqlite3.connect(partial, timeout=BUSY, isolation_level=None)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")


def _refuse_if_busy(status: int, remaining: int, total: int) -> None:
    """Raise `Unavailable` instead of waiting for ever: SQLite has waited for `BUSY` seconds by then."""
    if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        raise Unavailable("the database is locked by another program", hint="Stop Errorscope and restore again")


def _checked(path: Path) -> tuple[int, int]:
    """Return the numbers of projects and events in a copy. Raises `UserError` if it is damaged or has other tables."""
    with closing(sqlite3.connect(path)) as copy:
        wrong = "; ".join(str(row[0]) for row in copy.execute("PRAGMA integrity_check(3)"))
        if wrong == "ok" and _tables(copy) >= TABLES:
            return _counts(copy)
    raise UserError(
        "nothing was copied, because the database is damaged",
        got=wrong if wrong != "ok" else "tables of Errorscope are missing",
        hint="Keep the file with its -wal and -shm files, and restore an older backup: docs/backup.md",
    )


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _counts(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the numbers of projects and events; a database without tables has none."""
    present = _tables(connection)
    projects, events, campaigns = (
        int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) if table in present else 0
        for table in ("projects", "events", "campaigns")
    )
    return projects - campaigns, events  # each campaign has its texts in a hidden project


def _refuse(target: Path, source: Path, overwrite: bool) -> None:
    if not target.parent.is_dir():
        raise UserError("there is no such folder", where=str(target.parent), hint="Make it first")
    if target.is_dir():
        hint = f"{target / 'errorscope-backup.db'}, for example"
        raise UserError("this is a folder", where=str(target), expected="a file to write", hint=hint)
    if target.exists() and target.samefile(source):
        raise UserError("this is the database itself", where=str(target), hint="Choose another file")
    if target.exists() and not overwrite:
        raise UserError("this file exists already", where=str(target), hint="Choose another file, or add --overwrite")
    _refuse_log(target)


def _refuse_log(target: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        if (beside := Path(f"{target}{suffix}")).exists():
            raise UserError(
                "the log of another database is at the target",
                where=str(beside),
                hint="Choose another file: SQLite would add that log to it",
            )


def _keep(partial: Path, target: Path) -> None:
    """Give a finished file its name once it is on disk."""
    private_file(partial)
    _flush(partial)
    partial.replace(target)
    _flush(target.parent)


def _flush(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
