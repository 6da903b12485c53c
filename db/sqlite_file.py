"""The file of an SQLite database, watched while it is open, and the permissions of what Errorscope stores.

Permissions: what Errorscope stores is readable by its owner only (docs/backup.md).
A file or folder that belongs to another user or group, and a folder that also holds other things, is left as it is:
somebody shares it on purpose.

The file of an SQLite database, watched while it is open.
A database in WAL mode has three files: FILE, FILE-wal and FILE-shm. SQLite writes to the files that it has opened, wherever they are
now, so commits are lost when the program ends if somebody moves, deletes or replaces one of them. What is noticed:

- when it is opened: the file is missing or empty although one with data was here, only its log is here, or it is of another program
- before each transaction, and after each one that writes: one of the three files was moved, deleted or replaced, or the main file
  was cut short. If only the log was deleted, its content is written to the main file.

SQLite itself reports a full or failing disk, a read-only file and damaged pages (`db.failures`). Not noticed: another file of at
least the same size that is written into the open one.

One connection, the anchor, stays open as long as the engine. SQLite removes -wal and -shm only when the last connection closes, so
while the anchor is open, any such change comes from another program. Never open these files directly: closing any descriptor of a
file drops the locks SQLite has on it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from urllib.parse import quote

from core.errors import Unavailable, UserError

OURS = ("errorscope.db", "worker.log", "ranges.json", "baselines", "drafts")
"""Prefixes of all file names that Errorscope creates in its home folder."""


def private_folder(folder: Path) -> None:
    """Create `folder` with mode 0700. An existing one is restricted only if it is ours and has only our files."""
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        with os.scandir(folder) as entries:
            if all(entry.name.startswith(OURS) for entry in entries):
                _tighten(folder, 0o700)


def private_file(path: Path) -> None:
    """Restrict our file to its owner (mode 0600 or less). A missing file or one of another owner is left unchanged."""
    _tighten(path, 0o600)


def _tighten(path: Path, mode: int) -> None:
    try:
        state = os.stat(path)
        special = state.st_mode & (stat.S_ISVTX | stat.S_ISGID | stat.S_ISUID)
        own = hasattr(os, "geteuid") and (state.st_uid, state.st_gid) == (os.geteuid(), os.getegid())
        if own and not special and state.st_mode & 0o077:
            os.chmod(path, state.st_mode & mode)  # only removes rights: a read-only file stays read-only
    except OSError:  # a file system without permissions, or a file that has just gone
        return


log = logging.getLogger("errorscope")

PARTS = ("", "-wal", "-shm")
MARKER = ".made"
TABLES = frozenset({"alembic_version", "projects", "segments", "outputs", "raters", "events"})
"""Tables that every version of Errorscope has."""

Identity = tuple[int, int]
HOW = "docs/backup.md has the steps"


class SqliteFile:
    """A database file that is opened once and then checked against its path. Safe to share between threads."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path, self._busy = path, busy_seconds
        self._beside = path.resolve()  # SQLite keeps -wal and -shm beside the target of a link
        self._anchor: sqlite3.Connection | None = None
        self._seen: dict[str, Identity] = {}
        self._size = 0  # of the main file, in bytes
        self._broken: UserError | None = None
        self._lock = RLock()

    def part(self, suffix: str) -> Path:
        """Return the path of the file, -wal, -shm, or the marker."""
        return Path(f"{self._beside}{suffix}") if suffix else self.path

    def uri(self, mode: str = "rw") -> str:
        """Return the URI to connect to; by default, connecting never creates a file."""
        name = self._beside.as_posix()  # //server/share/… on Windows: four slashes, for SQLite takes no host
        return f"file://{'' if name.startswith('/') else '/'}{quote(os.fsencode(name), safe='/:')}?mode={mode}"

    def open(self) -> sqlite3.Connection:
        """Open the anchor and return it; create the file if there never was one.

        Raises `UserError` and changes nothing if an earlier database is missing, or the file is of another program.
        """
        with self._lock:
            if self._anchor is not None:
                return self._anchor
            marked = self.part(MARKER).exists()  # before the file, because another process may be creating both now
            before = _identity(self.path)
            if before is None:
                self._refuse_to_make(marked)
            elif marked and not self.path.stat().st_size:
                raise self._emptied("it is empty")
            anchor = sqlite3.connect(
                self.uri("rw" if before else "rwc"),
                uri=True,
                timeout=self._busy,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._begin(anchor, marked)
                if before not in (None, _identity(self.path)):
                    raise Unavailable(
                        "the database file was replaced while it was opened", where=str(self.path), hint="Try again"
                    )
                seen = {suffix: _identity(self.part(suffix)) for suffix in PARTS}
                self._seen = {suffix: identity for suffix, identity in seen.items() if identity}
                self._size = self.path.stat().st_size
            except BaseException:
                anchor.close()
                raise
            self._anchor, self._broken = anchor, None
            return anchor

    def _refuse_to_make(self, marked: bool) -> None:
        logged = self.part("-wal").exists() and self.part("-wal").stat().st_size
        if self.path.exists():  # by now: another process has just made it
            return
        if logged:
            raise UserError(
                "the database file is missing, but its log exists",
                where=str(self.path),
                hint=f"Put the file back beside {self.part('-wal').name}, which holds what was saved last. To start with an "
                f"empty database, move that file away; {HOW}",
            )
        if marked:
            raise UserError(
                "the database file is missing",
                where=str(self.path),
                expected="the file that Errorscope created here",
                hint=f"Put it back, or restore a backup. To start with an empty database, delete {self.part(MARKER).name}; {HOW}",
            )

    def _begin(self, anchor: sqlite3.Connection, marked: bool) -> None:
        self._check_owner(anchor, marked)
        for suffix in PARTS:  # a new -wal and -shm get the mode of the main file
            private_file(self.part(suffix))
        self._write_ahead(anchor)
        anchor.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log

    def _write_ahead(self, anchor: sqlite3.Connection) -> None:
        """Switch to WAL. SQLite fails with "locked" at once, despite the timeout, if two connections switch a new file."""
        until = time.monotonic() + self._busy
        while True:
            try:
                anchor.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def _check_owner(self, anchor: sqlite3.Connection, marked: bool) -> None:
        """Raise `UserError` if the database belongs to another program, before anything is changed."""
        tables = anchor.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        )
        names = {str(name) for (name,) in tables}
        signed = any(anchor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if (names and not names >= TABLES) or (not names and signed):
            raise foreign(str(self.path), names)
        if not names and marked:
            raise self._emptied("it holds no tables")

    def _emptied(self, got: str) -> UserError:
        return UserError(
            "the database file is empty, and one with data was here",
            where=str(self.path),
            got=got,
            hint=f"Restore a backup. To start with an empty database, delete {self.path.name} and {self.part(MARKER).name}; {HOW}",
        )

    def remember(self) -> None:
        """Write a marker beside the file, so that a later start notices if the file is missing."""
        with suppress(OSError):
            with open(self.part(MARKER), "x", encoding="utf-8") as marker:
                marker.write(
                    f"Errorscope has kept a database in {self.path.name}, in this folder, since {datetime.now(UTC):%Y-%m-%d} or before.\n"
                    "By this file a start notices that the database is missing. To start with an empty database, delete this file too.\n"
                )
            private_file(self.part(MARKER))

    def check(self) -> None:
        """Raise `Unavailable` unless the open files are those at the path, because commits to others would be lost."""
        if self._anchor is None:
            return
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if self._anchor is None:
                return
            for suffix in PARTS:
                try:
                    state = os.stat(self.part(suffix))
                except OSError:
                    if suffix in self._seen:
                        raise self._gone(suffix, self._anchor) from None
                    continue
                if self._seen.setdefault(suffix, (state.st_dev, state.st_ino)) != (state.st_dev, state.st_ino):
                    raise self._replaced(suffix)
                if not suffix:
                    self._check_size(state.st_size, self._anchor)

    def _check_size(self, size: int, anchor: sqlite3.Connection) -> None:
        if size < self._size and not _is_whole(anchor, size):
            self._broken = Unavailable(
                f"the file {self.path.name} was cut short while Errorscope was running",
                where=str(self.path),
                got=f"{size:,} bytes",
                expected=f"{self._size:,} bytes",
                hint=f"Nothing more is saved. Stop Errorscope and restore a backup; {HOW}",
            )
            raise self._broken
        self._size = size

    def _gone(self, suffix: str, anchor: sqlite3.Connection) -> Unavailable:
        got = "it was moved or deleted while Errorscope was running"
        if not suffix:
            return Unavailable(
                "the database file is gone",
                where=str(self.path),
                got=got,
                hint=f"Nothing is saved until it is back. Move {self.path.name} back here together with the files beside it "
                f"(-wal, -shm). If it was deleted, stop Errorscope and restore a backup; {HOW}",
            )
        saved = " (everything that was saved before has been written to the main file)" if self._rescued(anchor) else ""
        return Unavailable(
            f"the file {self.part(suffix).name}, a part of the database, is gone",
            where=str(self.path),
            got=got,
            hint=f"Nothing more is saved. Move it back here, or stop Errorscope and start it again{saved}; {HOW}",
        )

    def _rescued(self, anchor: sqlite3.Connection) -> bool:
        """Write the open log to the main file if the log at the path was deleted; return whether all of it is there now.

        This waits for nobody: what a reader holds back is written at a later check.
        """
        others = _identity(self.part("-shm")) not in (None, self._seen.get("-shm"))  # another program began a new log
        if others or self.part("-wal").exists() or _identity(self.path) != self._seen[""]:
            return False
        try:
            busy, frames, done = anchor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error:
            log.exception("the log of the database is gone, and its contents could not be written to the database")
            return False
        return not busy and frames == done

    def _replaced(self, suffix: str) -> Unavailable:
        return Unavailable(
            f"another file has replaced {self.part(suffix).name}",
            where=str(self.path),
            got="the file was replaced while Errorscope was running",
            hint="Nothing is saved until the old file is back. To go on with the new one, stop Errorscope, make sure that no "
            f"-wal and -shm of the old one are left here, and start it again; {HOW}",
        )

    def close(self) -> None:
        """Close the anchor and reset the state; the next connection opens the file again."""
        with self._lock:
            if self._anchor is not None:
                self._anchor.close()
            self._anchor, self._broken, self._seen, self._size = None, None, {}, 0


def _is_whole(anchor: sqlite3.Connection, size: int) -> bool:
    """Return whether a main file that became shorter, as VACUUM makes it, has all pages that are not in the log.

    SQLite would delete the log of an empty file.
    """
    try:
        (page,), (pages,) = (anchor.execute(f"PRAGMA {name}").fetchone() for name in ("page_size", "page_count"))
        if pages * page <= size:
            return True
        if not size or size % page:
            return False
        anchor.execute("PRAGMA shrink_memory")  # cached pages would hide missing ones
        return bool(anchor.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)])
    except sqlite3.Error:
        return False


def foreign(where: str, names: set[str]) -> UserError:
    """Return the error for a database of another program."""
    few = ", ".join(sorted(names)[:5])
    return UserError(
        "this database belongs to another program",
        where=where,
        got=f"the tables {few}{', …' if len(names) > 5 else ''}",
        expected="an empty database, or one that Errorscope made",
        hint="Set ERRORSCOPE_DB to another file; nothing was changed",
    )


def _identity(path: Path) -> Identity | None:
    try:
        state = os.stat(path)
    except FileNotFoundError:
        return None
    return state.st_dev, state.st_ino
