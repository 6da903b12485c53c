"""Files to read: a name, and bytes in memory or on disk. Their type is detected from the bytes; nothing is unpickled or executed."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zlib
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO, cast

from core.errors import ImportProblems, UserError
from core.formats.problems import refused
from core.settings import Limits

CHUNK = 1 << 20
"""Bytes that are read at once."""
GZIP = b"\x1f\x8b"


class Upload(NamedTuple):
    """A file to read: its name, which is only a label, and its bytes or where they are. Files of drafts are kept on disk under `id`."""

    name: str
    content: bytes | Path
    id: str = ""

    def open(self) -> BinaryIO:
        """Return the bytes as a stream. Raises `UserError` if the file cannot be read."""
        if isinstance(self.content, bytes):
            return io.BytesIO(self.content)
        try:
            return self.content.open("rb")
        except OSError as error:
            raise UserError(
                "the file cannot be read", where=str(self.content), got=error.strerror or "an error",
                hint="Check the path",
            ) from error  # fmt: skip

    @property
    def data(self) -> bytes:
        """All bytes of the file. Raises `UserError` if it cannot be read."""
        if isinstance(self.content, bytes):
            return self.content
        with self.open() as stream:
            return stream.read()

    @property
    def size(self) -> int:
        """The number of bytes; 0 if the file was deleted."""
        if isinstance(self.content, bytes):
            return len(self.content)
        return self.content.stat().st_size if self.content.exists() else 0

    def sha256(self) -> str:
        """Return the digest of the bytes. Raises `UserError` if the file cannot be read."""
        with self.open() as stream:
            return hashlib.file_digest(cast(io.BufferedReader, stream), "sha256").hexdigest()


def file_at(path: Path) -> Upload:
    """Return a file on disk. Raises `UserError` if it cannot be read."""
    file = Upload(file_name(path), path)
    file.open().close()
    return file


def beginning(upload: Upload, size: int) -> bytes:
    """Return about the first `size` bytes of a file, unpacked if it is gzip; empty if it cannot be unpacked."""
    with upload.open() as stream:
        head = stream.read(size)
    if not head.startswith(GZIP):
        return head
    try:
        return zlib.decompressobj(31).decompress(head, size)
    except zlib.error:
        return b""


def beginning_text(upload: Upload, size: int = CHUNK) -> str:
    """Return the text of about the first `size` bytes of a file, by which its format is recognised."""
    return beginning(upload, size).decode("utf-8-sig", "replace")


def file_name(path: Path) -> str:
    """Return the name of a file as text that can be stored: the name of a file need not be UTF-8."""
    return _as_text(path.name)


def path_name(path: Path) -> str:
    """Return the path of a file, with / between its folders, as text that can be stored."""
    return _as_text(path.as_posix())


def _as_text(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def base_name(name: str) -> str:
    return re.split(r"[/\\]", name)[-1]


def stem(name: str) -> str:
    """Return the name without folder, `.gz` and one extension: the system name if a file holds one system."""
    base = re.sub(r"\.gz$", "", base_name(name), flags=re.IGNORECASE)
    return base.rpartition(".")[0] or base


def extension(name: str) -> str:
    """Return the last extension except `.gz`, in lower case without the dot; "" if there is none."""
    base = re.sub(r"\.gz$", "", base_name(name), flags=re.IGNORECASE)
    return base.rpartition(".")[2].lower() if "." in base else ""


def too_large(name: str, megabytes: int) -> ImportProblems:
    size = f"{megabytes:,} MB"
    todo = f"Split the file, or set {Limits.variable('text_mb')} to a higher number (docs/formats.md)"
    return refused(name, 0, f"more than {size} of text", f"at most {size}", todo)


class _Gunzip(gzip.GzipFile):
    """The text of a gzip file. Raises `ImportProblems` where it is damaged."""

    def __init__(self, name: str, raw: BinaryIO) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._label = name

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except (EOFError, OSError, zlib.error) as error:
            got = f"damaged gzip data ({error})"
            raise refused(self._label, 0, got, "a whole .gz file", "Compress or download it again") from error


def unpacked(name: str, raw: BinaryIO) -> BinaryIO:
    """Return the stream of a file's bytes, decompressed if they begin as gzip does."""
    begins = raw.read(len(GZIP))
    raw.seek(0)
    return cast(BinaryIO, _Gunzip(name, raw)) if begins == GZIP else raw


def raw_lines(data: bytes) -> TextIO:
    """Return the lines of checked UTF-8 with their line ends, split at `\n` only; a leading BOM is dropped."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="\n")


def without_end(line: str) -> str:
    """Return a line without its `\\n` or `\\r\\n`."""
    return line[:-2] if line.endswith("\r\n") else line.removesuffix("\n")
