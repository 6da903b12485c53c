"""Back up a database to one SQLite file, and restore it: a consistent copy, even while others write, checked before it is kept."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from sqlalchemy.engine import make_url

from core.errors import UserError
from core.progress import Progress, no_progress
from db.database_copy import copy_database, has_projects, require_database
from db.engine import BUSY, connect, migrate, sqlite_file
from db.failures import explained
from db.private import private_file, private_folder
from db.sqlite_file import MARKER, TABLES, SqliteFile


class Backup(NamedTuple):
    """A finished backup. `source` is a path or an address without password; `size` is in bytes."""

    path: Path
    source: str
    size: int
    projects: int
    events: int


def backup(url: str, target: Path, *, overwrite: bool = False, progress: Progress = no_progress) -> Backup:
    """Copy the database at `url` to the file `target`, which is complete and checked or not written at all.

    An SQLite file is copied page by page, the database of a server row by row. Raises `UserError` if the database does not
    exist or is damaged, or if `target` exists and `overwrite` is not set.
    """
    file = sqlite_file(url)
    if file is not None:
        require_database(url)
    _refuse(target, None if file is None else file.path, overwrite)
    with _partial(target) as partial:
        if file is None:
            _copy_server(url, partial, progress)
        else:
            _copy_file(file, partial)
        with closing(sqlite3.connect(partial, timeout=BUSY, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it
            found = _checked(copy)
        _keep(partial, target, overwrite)
        source = str(file.path) if file else make_url(url).render_as_string(hide_password=True)
        return Backup(target, source, target.stat().st_size, *found)


def restore(file: Path, url: str, *, overwrite: bool = False, progress: Progress = no_progress) -> tuple[str, int, int]:
    """Put the content of a backup into the database at `url`; return its address, and the counts of projects and events.

    The backup may be of an older version. Rows of the database are replaced in one transaction. Raises `UserError` if `file`
    is no backup, or if the database has projects and `overwrite` is not set; nothing is changed then.
    """
    if not file.is_file():
        raise UserError("there is no such backup", where=str(file), hint="Check the path")
    target = sqlite_file(url)
    if target is not None and target.path.exists() and target.path.samefile(file):
        raise UserError("this is the database itself", where=str(file), hint="Choose the file of a backup")
    shown = make_url(url).render_as_string(hide_password=True) if target is None else str(target.path)
    missing = target.path if target is not None and not target.path.exists() else None
    if missing is not None:
        _refuse_log(missing)
        private_folder(missing.parent)
    elif not overwrite and has_projects(url):
        raise UserError(
            "this database has projects", where=shown, hint="Add --overwrite to replace all that is in it, or choose another with --to"
        )  # fmt: skip
    with TemporaryDirectory(prefix="errorscope-restore-") as folder:
        beside = missing or Path(folder) / "backup.db"
        with _partial(beside) as partial:
            _copy_backup(file, partial)
            with closing(sqlite3.connect(partial, timeout=BUSY, isolation_level=None)) as copy:
                copy.execute("PRAGMA journal_mode=DELETE")
                projects, events = _checked(copy)
            engine = connect(f"sqlite:///{partial}")
            migrate(engine)
            engine.dispose()
            if missing:
                _keep(partial, beside, overwrite=False)
            else:
                copy_database(f"sqlite:///{partial}", url, progress, overwrite=True)
    return shown, projects, events


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


def _copy_file(file: SqliteFile, partial: Path) -> None:
    try:
        with explained(str(file.path)):
            file.open()
            assert file.anchor is not None
            with closing(sqlite3.connect(partial, timeout=BUSY, isolation_level=None)) as copy:
                file.anchor.backup(copy)
            file.check()
    finally:
        file.close()


def _copy_server(url: str, partial: Path, progress: Progress) -> None:
    copy_database(url, f"sqlite:///{partial}", progress)


def _copy_backup(file: Path, partial: Path) -> None:
    """Copy a backup with what is in its log, if it has one. Raises `UserError` if it is no SQLite database."""
    with explained(str(file)):
        address = f"{file.resolve().as_uri()}?mode=ro"
        with (
            closing(sqlite3.connect(address, uri=True, timeout=BUSY)) as stored,
            closing(sqlite3.connect(partial, timeout=BUSY, isolation_level=None)) as copy,
        ):
            stored.backup(copy)


def _keep(partial: Path, target: Path, overwrite: bool) -> None:
    """Give a finished file its name once it is on disk."""
    private_file(partial)
    _flush(partial)
    _rename(partial, target, overwrite)
    _flush(target.parent)


def _refuse(target: Path, source: Path | None, overwrite: bool) -> None:
    if not target.parent.is_dir():
        raise UserError("there is no such folder", where=str(target.parent), hint="Make it first")
    if target.is_dir():
        raise UserError(
            "this is a folder",
            where=str(target),
            expected="a file to write",
            hint=f"{target / 'errorscope-backup.db'}, for example",
        )
    if target.exists():
        if source is not None and target.samefile(source):
            raise UserError("this is the database itself", where=str(target), hint="Choose another file")
        if not overwrite:
            raise UserError(
                "this file exists already", where=str(target), hint="Choose another file, or add --overwrite"
            )
    _refuse_log(target)


def _refuse_log(target: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        if (beside := Path(f"{target}{suffix}")).exists():
            raise UserError(
                "the log of another database is at the target",
                where=str(beside),
                hint="Choose another file: SQLite would add that log to it",
            )


def _checked(copy: sqlite3.Connection) -> tuple[int, int]:
    wrong = [str(row[0]) for row in copy.execute("PRAGMA integrity_check(3)")]
    names = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if wrong != ["ok"] or not names >= TABLES:
        raise UserError(
            "nothing was copied, because the database is damaged",
            got="; ".join(wrong) if wrong != ["ok"] else "tables of Errorscope are missing",
            hint="Keep the file with its -wal and -shm files, and restore an older backup: docs/backup.md",
        )
    projects, events, campaigns = (
        int(copy.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) if table in names else 0
        for table in ("projects", "events", "campaigns")
    )
    return projects - campaigns, events  # each campaign has its texts in a hidden project


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
