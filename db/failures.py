"""Convert errors of the storage into errors the user can fix. Bugs (wrong SQL, a missing table) are not converted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, OperationalError, ResourceClosedError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.errors import Unavailable, UserError

P = ParamSpec("P")
T = TypeVar("T")


class Conflict(Unavailable):
    """Two requests changed the same data at the same time, or the data was deleted. Nothing was changed."""


def retried(write: Callable[P, T]) -> Callable[P, T]:
    """Try a write again after a `Conflict`, because another process may have inserted one of its rows at the same moment."""

    @wraps(write)
    def attempt(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return write(*args, **kwargs)
        except Conflict:
            return write(*args, **kwargs)

    return attempt


@contextmanager
def unique(what: str, hint: str = "Choose another name") -> Iterator[None]:
    """Convert a `Conflict` of the block to the `UserError` that a name is taken."""
    try:
        yield
    except Conflict as error:
        raise UserError(f"there is a {what} already", hint=hint) from error


def require_name(what: str, name: str) -> None:
    """Raise `UserError` for an empty name."""
    if not name.strip():
        raise UserError(f"{what} needs a name", hint="Type one")


class _Cause(NamedTuple):
    what: str
    hint: str


_RESTORE = (
    "Stop Errorscope, copy the file with its -wal and -shm files to a safe place, and restore a backup: docs/backup.md"
)
_BUSY = _Cause(
    "the database is locked by another program",
    "Nothing was changed. Try again. If it stays locked, close the program that has the database open",
)
_FULL = _Cause("the disk of the database is full", "Nothing was changed. Free some space and try again")
_READ_ONLY = _Cause(
    "the database is read-only",
    "Nothing was changed. Check that the file, its folder and its disk are writable, and try again",
)
_CLOSED = _Cause("the database file cannot be opened", "Check that the file exists and that you may read and write it")
_DISK = _Cause("the disk of the database cannot be read or written", f"Check the disk. {_RESTORE}")
_DAMAGED = _Cause("the database file is damaged", _RESTORE)
_NO_DATABASE = _Cause(
    "this file is not an SQLite database",
    f"Nothing was changed. Set ERRORSCOPE_DB to another file; if it was Errorscope's database: {_RESTORE}",
)
_MEMORY = _Cause("not enough memory to use the database", "Nothing was changed. Close other programs and try again")
_SQLITE = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_PROTOCOL: _BUSY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_AUTH: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: _CLOSED,
    sqlite3.SQLITE_IOERR: _DISK,
    sqlite3.SQLITE_NOLFS: _DISK,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _NO_DATABASE,
    sqlite3.SQLITE_NOMEM: _MEMORY,
}
"""By primary result code (https://sqlite.org/rescode.html). Others, such as SQLITE_ERROR and SQLITE_MISUSE, are bugs."""


_KEYS = (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY)
_KEY_STATES = ("23503", "23505")  # of the SQL standard: foreign key, unique key
_RACE_STATES = ("40001", "40P01")  # serialization failure, deadlock: the server has rolled one of two writers back
_LOCKED = "55P03"


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Convert errors of the storage `where` to `UserError`: `Unavailable`, or `Conflict` for a violated constraint."""
    try:
        yield
    except (PoolTimeout, ResourceClosedError) as error:  # closed: the server stops during a request
        raise Unavailable(
            "too many requests use the database at the same time",
            where=where,
            hint="Nothing was changed. Try again in a moment",
        ) from error
    except IntegrityError as error:
        if not _is_conflict(error.orig):
            raise
        raise _conflict(error, where) from error
    except (DBAPIError, sqlite3.Error) as error:
        known = _known(error, where)
        if known is None:
            raise
        raise known from error


def _conflict(error: DBAPIError, where: str) -> Conflict:
    return Conflict(
        "someone else changed this at the same time",
        where=where,
        got=str(error.orig),
        hint="Reload the page and try again",
    )


def _is_conflict(error: BaseException | None) -> bool:
    """Return whether a key or reference is violated; a missing value or a refused change is a bug."""
    if isinstance(error, sqlite3.Error):
        return error.sqlite_errorcode in _KEYS
    return getattr(error, "sqlstate", None) in _KEY_STATES


def _known(error: DBAPIError | sqlite3.Error, where: str) -> UserError | None:
    """Return the error for the user, or None if it is a bug."""
    if isinstance(error, sqlite3.Error):
        return _from_sqlite(error, where)
    return _from_sqlite(error.orig, where) if isinstance(error.orig, sqlite3.Error) else _from_server(error, where)


def _from_sqlite(error: sqlite3.Error, where: str) -> UserError | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
        return UserError("this is too long to store", where=where, got=str(error), hint="Shorten it and try again")
    cause = None if code is None else _SQLITE.get(code & 0xFF)
    return None if cause is None else Unavailable(cause.what, where=where, got=str(error), hint=cause.hint)


def _from_server(error: DBAPIError, where: str) -> UserError | None:
    got = str(error.orig).strip().partition("\n")[0]
    state = getattr(error.orig, "sqlstate", None)
    if state in _RACE_STATES:
        return _conflict(error, where)
    if state == _LOCKED:
        return Unavailable(_BUSY.what, where=where, got=got, hint=_BUSY.hint)
    if isinstance(error, DataError):
        return UserError(
            "the database cannot store this", where=where, got=got, hint="Change the text or number and try again"
        )
    if isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated:
        return Unavailable(
            "the database server failed to do this",
            where=where,
            got=got,
            hint="Nothing was changed. Check the server and try again",
        )
    return None
