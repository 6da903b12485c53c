"""Back up an SQLite database: a consistent copy, even while others write, which is checked before it is kept."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError
from db.engine import BUSY, sqlite_file
from db.failures import explained
from db.private import private_file
from db.sqlite_file import TABLES


class Backup(NamedTuple):
    """A finished backup. `size` is in bytes."""

    path: Path
    source: Path
    size: int
    projects: int
    events: int


def backup(url: str, target: Path, *, overwrite: bool = False) -> Backup:
    """Copy the database at `url` to the file `target`, which is complete and checked or not written at all.

    Raises `UserError` if the database does not exist or is damaged, or if `target` exists and `overwrite` is not set.
    """
    file = sqlite_file(url)
    if file is None:
        raise UserError(
            "this command backs up only SQLite databases",
            got=url.partition(":")[0],
            hint="Use the tool of the database server, such as pg_dump; docs/backup.md",
        )
    if not file.path.exists():
        raise UserError(
            "there is no database", where=str(file.path), hint="Set ERRORSCOPE_HOME or ERRORSCOPE_DB to its location"
        )
    _refuse(target, file.path, overwrite)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with explained(str(file.path)):
            file.open()
            assert file.anchor is not None
            partial.touch(mode=0o600)
            with closing(sqlite3.connect(partial, timeout=BUSY, isolation_level=None)) as copy:
                file.anchor.backup(copy)
                copy.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it
                found = _checked(copy, partial)
            file.check()
        private_file(partial)
        _flush(partial)
        _rename(partial, target, overwrite)
        _flush(target.parent)
        return Backup(target, file.path, target.stat().st_size, *found)
    finally:
        file.close()
        for left in (partial, Path(f"{partial}-journal"), Path(f"{partial}-wal"), Path(f"{partial}-shm")):
            with suppress(FileNotFoundError):
                left.unlink()


def _refuse(target: Path, source: Path, overwrite: bool) -> None:
    if not target.parent.is_dir():
        raise UserError("there is no such folder", where=str(target.parent), hint="Make it first")
    if target.is_dir():
        raise UserError(
            "this is a folder",
            where=str(target),
            expected="a file to write",
            hint=f"{target / source.name}, for example",
        )
    if target.exists():
        if target.samefile(source):
            raise UserError("this is the database itself", where=str(target), hint="Choose another file")
        if not overwrite:
            raise UserError(
                "this file exists already", where=str(target), hint="Choose another file, or add --overwrite"
            )
    for suffix in ("-wal", "-shm", "-journal"):
        if (beside := Path(f"{target}{suffix}")).exists():
            raise UserError(
                "the log of another database is at the target of the backup",
                where=str(beside),
                hint="Choose another file: SQLite would add that log to the backup",
            )


def _checked(copy: sqlite3.Connection, partial: Path) -> tuple[int, int]:
    wrong = [str(row[0]) for row in copy.execute("PRAGMA integrity_check(3)")]
    names = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if wrong != ["ok"] or not names >= TABLES:
        raise UserError(
            "no backup was made, because the database is damaged",
            got="; ".join(wrong) if wrong != ["ok"] else "tables are missing",
            hint="Keep the file with its -wal and -shm files, and restore an older backup: docs/backup.md",
        )
    projects, events = (
        int(copy.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in ("projects", "events")
    )
    return projects, events


def _rename(partial: Path, target: Path, overwrite: bool) -> None:
    if overwrite:
        partial.replace(target)
        return
    try:
        os.link(partial, target)  # unlike a rename, it never replaces a file made meanwhile
    except FileExistsError as error:
        raise UserError(
            "this file exists already", where=str(target), hint="Choose another file, or add --overwrite"
        ) from error
    except OSError:  # a file system without links
        partial.rename(target)


def _flush(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
