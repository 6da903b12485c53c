"""Write the output files of commands: check them before the work starts, then write each file completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from core.errors import UserError
from core.formats.files import CHUNK
from core.settings import load_settings

Named = tuple[str, Path]
"""A path with the option it belongs to, such as ("--human", Path("human.csv"))."""

_DESCRIPTOR = re.compile(r"(?:/dev|/proc/(?:self|\d+))/fd/(\d+)")
_NO_RENAME = {errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS}
"""Errors for a file that may be written but not replaced by renaming: a mount point, a folder without write permission."""
_ROLES = ("seq2seq", "encoder", "nli", "lm", "mlm", "unieval", "bleurt", "comet")


def named(label: str, *paths: Path | None) -> list[Named]:
    """Return the paths that are not None, each with the label."""
    return [(label, path) for path in paths if path is not None]


def check(inputs: Sequence[Named], outputs: Sequence[Named], *, writes_ranges: bool = False) -> None:
    """Raise UserError if an output cannot be written, or is the same file as an input or another output.

    Files are compared by device and inode, so links and other spellings of a path do not matter. The files in the settings (database,
    prompt lists, stored ranges, models) count as inputs; `writes_ranges` excludes the stored ranges.
    """
    taken: dict[object, tuple[str, Path]] = {}
    for label, path in [*inputs, *_of_settings(writes_ranges)]:
        with contextlib.suppress(OSError):
            taken.setdefault(_identity(path), (label, path))
    for label, path in outputs:
        _check_writable(path)
        identity = _identity(path)
        if identity is not None and identity in taken:
            other, earlier_path = taken[identity]
            raise UserError(
                "the same file is given twice",
                where=str(path),
                got=f"{other} {earlier_path} and {label}",
                expected="a separate output file",
                hint=f"Name another file for {label}; nothing was written",
            )
        if identity is not None:
            taken[identity] = (label, path)


def check_folder(inputs: Sequence[Named], label: str, folder: Path) -> None:
    """Raise UserError if an output folder is a file or contains an input."""
    if folder.exists() and not folder.is_dir():
        raise UserError("this is not a folder", where=str(folder), hint=f"Name a folder for {label}")
    for other, path in inputs:
        if folder.resolve() in path.resolve().parents:
            got = f"{other} {path} inside it"
            raise UserError(
                "the output folder contains an input", where=str(folder), got=got, hint="Name another folder"
            )


def write_files(contents: Mapping[Path, str | bytes | IO[bytes]]) -> None:
    """Write texts, bytes or streams to files: all completely, or none of them. Existing files stay until all new ones are complete on disk.

    Links are followed. A file that cannot be replaced by renaming (a mount point, or in a folder without write permission), or that has
    several hard links, is written in place: after a failure the old content is restored, and a complete copy of the new data stays on
    disk until then. Standard output, pipes and devices are written to directly. Raises UserError for a text that is not valid Unicode,
    and OSError with the name of the file.
    """
    streams = {path: _stream(path, data) for path, data in contents.items()}
    files = {path: Path(os.path.realpath(path)) for path in contents if _replaceable(path)}
    with ExitStack() as stack:
        parts: dict[Path, Path | None] = {}
        for path, target in files.items():
            with _named_in_errors(path):
                parts[path] = stack.enter_context(_staged(target, streams[path]))
        for path, part in parts.items():
            with _named_in_errors(path):
                _put(part, files[path], streams[path])
    for folder in {target.parent for target in files.values()}:
        _sync_folder(folder)
    for path in (path for path in contents if path not in files):
        with _named_in_errors(path):
            _write_directly(path, streams[path])


def _check_writable(path: Path) -> None:
    target = Path(os.path.realpath(path))
    if path.is_dir() or not (target.parent.is_dir() or _descriptor(path) is not None):
        raise UserError("this file cannot be written", where=str(path), hint="Name a file in a folder that exists")
    exists = target.exists()
    if not os.access(target if exists else target.parent, os.W_OK) and (exists or _descriptor(path) is None):
        what = "the file is read-only" if exists else "its folder is read-only"
        raise UserError("this file cannot be written", where=str(path), got=what, hint="Name another file")


def _identity(path: Path) -> object:
    """Return a value that is equal for two paths of one file; None if the path is not a file (a pipe may be given twice).

    A file that does not exist yet is identified by its folder and name. Names that differ only in case or Unicode form are equal, as on
    some file systems.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        real = Path(os.path.realpath(path))
        folder = real.parent.stat()
        return folder.st_dev, folder.st_ino, unicodedata.normalize("NFC", real.name).casefold()
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _of_settings(writes_ranges: bool) -> Iterator[Named]:
    own = load_settings()
    if own.database.startswith("sqlite:///"):
        database = own.database.removeprefix("sqlite:///").partition("?")[0]
        yield from named("the database", *(Path(database + ending) for ending in ("", "-wal", "-shm")))
    yield from named("ERRORSCOPE_PROMPTS", own.prompts)
    yield from named("ERRORSCOPE_JUDGES", *([Path(own.judges).expanduser()] if own.judges else []))
    if not writes_ranges:
        yield "the stored ranges", own.home / "ranges.json"
    for role in _ROLES:
        folder = Path(getattr(own, role)).expanduser()
        if getattr(own, role) and folder.is_dir():
            yield from named(f"ERRORSCOPE_{role.upper()}", *folder.glob("*"), *folder.glob("*/*"))


def _stream(path: Path, data: str | bytes | IO[bytes]) -> IO[bytes]:
    try:
        data = data.encode("utf-8") if isinstance(data, str) else data
    except UnicodeEncodeError as error:
        raise UserError(
            "a text is not valid Unicode and cannot be written",
            where=str(path),
            got=f"half of a surrogate pair, U+{ord(error.object[error.start]):04X}",
            hint="Correct the text in the input; nothing was written",
        ) from error
    return io.BytesIO(data) if isinstance(data, bytes) else data


def _pour(source: IO[bytes], file: IO[bytes]) -> None:
    source.seek(0)
    shutil.copyfileobj(source, file)
    file.flush()


def _descriptor(path: Path) -> int | None:
    absolute = os.path.abspath(path)
    match = _DESCRIPTOR.fullmatch(absolute)
    return int(match[1]) if match else {"/dev/stdout": 1, "/dev/stderr": 2}.get(absolute)


def _replaceable(path: Path) -> bool:
    """Return whether the path is, or will be, a regular file that can be replaced by renaming."""
    target = Path(os.path.realpath(path))
    return _descriptor(path) is None and (target.is_file() or not target.exists())


def _write_directly(path: Path, source: IO[bytes]) -> None:
    number = _descriptor(path)
    if number is not None:
        (sys.stdout if number == 1 else sys.stderr).flush()
    with path.open("wb") if number is None else os.fdopen(os.dup(number), "wb") as file:
        _pour(source, file)


@contextmanager
def _named_in_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _put(part: Path | None, target: Path, source: IO[bytes]) -> None:
    if part is not None and not (target.exists() and target.stat().st_nlink > 1):
        try:
            os.replace(part, target)
            return
        except OSError as error:
            if error.errno not in _NO_RENAME or not target.exists():
                raise
    before: bytes | None = None
    with contextlib.suppress(OSError):  # a file may be writable only
        before = target.read_bytes()
    handle = os.open(target, os.O_WRONLY | getattr(os, "O_BINARY", 0))
    try:
        _fill(handle, source)
    except BaseException:
        if before is not None:
            with contextlib.suppress(OSError):
                _fill(handle, io.BytesIO(before))
        raise
    finally:
        os.close(handle)


def _fill(handle: int, source: IO[bytes]) -> None:
    source.seek(0)
    os.lseek(handle, 0, os.SEEK_SET)
    while left := memoryview(source.read(CHUNK)):
        while left:
            left = left[os.write(handle, left) :]
    os.ftruncate(handle, os.lseek(handle, 0, os.SEEK_CUR))
    os.fsync(handle)


@contextmanager
def _staged(target: Path, source: IO[bytes]) -> Iterator[Path | None]:
    """Write a complete copy of the data to disk; yield its path if it can be renamed to the target."""
    with ExitStack() as stack:
        part: Path | None = None
        try:
            part = stack.enter_context(_beside(target, source))
        except OSError as error:
            if error.errno not in _NO_RENAME or not target.exists():
                raise
            with contextlib.suppress(OSError):  # no folder for temporary files
                stack.enter_context(_elsewhere(source))
        yield part


@contextmanager
def _elsewhere(source: IO[bytes]) -> Iterator[None]:
    """Keep a copy in the temporary folder, readable only by its owner."""
    with tempfile.NamedTemporaryFile(prefix="errorscope-", suffix=".part") as file:
        _pour(source, file.file)
        os.fsync(file.fileno())
        yield


@contextmanager
def _beside(target: Path, source: IO[bytes]) -> Iterator[Path]:
    """Write a copy next to the file it will replace, with the permissions of that file.

    Where the system allows it, the copy has no name until it is complete, so that a killed process leaves nothing behind.
    """
    part = target.with_name(f".errorscope-{secrets.token_hex(8)}.part")
    handle = _unnamed(target.parent)
    try:
        nameless = handle is not None
        if handle is None:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as file:
            _pour(source, file)
            if target.exists():
                _copy_rights(target, file.fileno())
            os.fsync(file.fileno())
            if nameless:
                _give_name(file.fileno(), part)
        yield part
    finally:
        part.unlink(missing_ok=True)


def _unnamed(folder: Path) -> int | None:
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:
        return None


def _give_name(handle: int, part: Path) -> None:
    folder = os.open(part.parent, os.O_RDONLY)
    try:  # with a folder, so that Python calls linkat, which follows the link to the open file
        os.link(f"/proc/self/fd/{handle}", part, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _copy_rights(target: Path, handle: int) -> None:
    if hasattr(os, "fchmod"):
        status = target.stat()
        with contextlib.suppress(OSError):  # only root gives files away
            os.fchown(handle, status.st_uid, status.st_gid)
        os.fchmod(handle, stat.S_IMODE(status.st_mode))


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some systems open no folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
