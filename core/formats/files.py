"""Uploaded files: bytes with a name. Their type is detected from the bytes; nothing is unpickled or executed."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO, cast

from core.errors import ImportProblems
from core.formats.parsing.limits import Meter, limits, too_much
from core.formats.parsing.text_check import TextFacts, TextScan, refused
from core.settings import Limits

_CHUNK = 1 << 20
GZIP = b"\x1f\x8b"


class Upload(NamedTuple):
    """An uploaded file: its bytes, and its name, which is only a label."""

    name: str
    data: bytes


class KeptUpload(Upload):
    """An uploaded file that is kept on disk under `id`."""

    id: str

    def __new__(cls, name: str, data: bytes, file_id: str) -> KeptUpload:
        file = super().__new__(cls, name, data)
        file.id = file_id
        return file


def beginning(upload: Upload, size: int) -> bytes:
    """Return about the first `size` bytes of a file, unpacked if it is gzip; empty if it cannot be unpacked."""
    head = upload.data[:size]
    if not head.startswith(GZIP):
        return head
    try:
        return zlib.decompressobj(31).decompress(head, size)
    except zlib.error:
        return b""


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


def text_bytes(upload: Upload, max_bytes: int | None = None, *, by_line: bool = True) -> bytes:
    """Return the bytes of a text file, decompressed if gzipped and checked to be UTF-8 (with or without BOM).

    `max_bytes` defaults to the limits; with `by_line` the length of a line is limited as well. Raises `ImportProblems` for a file that
    is empty, too large (also a gzip bomb), damaged gzip, binary, UTF-16, not UTF-8 (with offset and line), has a NUL (with line and
    character) or too long a line.
    """
    data = upload.data
    if not data.startswith(GZIP):
        check_text(upload.name, io.BytesIO(data), max_bytes, by_line=by_line)
        return data
    out = io.BytesIO()
    with unpacked(upload.name, io.BytesIO(data)) as stream:
        check_text(upload.name, stream, max_bytes, by_line=by_line, copy=out)
    return out.getvalue()


def check_lines(name: str, data: bytes) -> None:
    """Raise `ImportProblems` for a line longer than the limit for a cell."""
    longest = limits().cell_chars
    step = max(1, longest // 2)  # a longer line covers at least one whole step
    start = 0
    while start + step <= len(data):
        if data.find(b"\n", start, start + step) < 0:
            first = data.rfind(b"\n", 0, start) + 1
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            if end - first > longest and len(data[first:end].decode("utf-8", "replace")) > longest:
                raise too_much(name, data.count(b"\n", 0, first) + 1, "cell_chars", longest)
            start = end
        start += step


def _too_large(name: str, max_bytes: int) -> ImportProblems:
    size = f"{max_bytes / 2**20:,.0f} MB" if max_bytes >= 2**20 else f"{max_bytes:,} bytes"
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
            found = f"damaged gzip data ({error})"
            raise refused(self._label, 0, found, "a whole .gz file", "Compress or download it again") from error


def unpacked(name: str, raw: BinaryIO) -> BinaryIO:
    """Return the stream of a file's bytes, decompressed if they begin as gzip does."""
    begins = raw.read(len(GZIP))
    raw.seek(0)
    return cast(BinaryIO, _Gunzip(name, raw)) if begins == GZIP else raw


def check_text(
    name: str, stream: BinaryIO, max_bytes: int | None = None, *, by_line: bool = True, copy: BinaryIO | None = None,
    progress: Callable[[], None] = lambda: None,
) -> TextFacts:  # fmt: skip
    """Read a stream to its end and check that it is text, as `text_bytes` says; memory is bounded by a piece of the file.

    `copy` receives its bytes, `progress` is called after each piece.
    """
    max_bytes = limits().text_mb << 20 if max_bytes is None else max_bytes
    scan, size = TextScan(name, limits().cell_chars if by_line else None), 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if size > max_bytes:
            raise _too_large(name, max_bytes)
        scan.take(chunk)
        if copy is not None:
            copy.write(chunk)
        progress()
    return scan.done()


def raw_lines(data: bytes) -> Iterator[str]:
    """Yield the lines of checked UTF-8 with their line ends, split at `\\n` only; a leading BOM is dropped."""
    return lines_of(io.BytesIO(data))


def lines_of(stream: BinaryIO) -> TextIO:
    """Return the lines of a stream of checked UTF-8, as `raw_lines` does; closing them closes the stream."""
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n")


def numbered_lines(upload: Upload) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their number from 1, without line ends.

    Raises `ImportProblems` as `text_bytes`, for CR-only line ends, and for more lines than the row limit.
    """
    data = text_bytes(upload)
    check_line_ends(upload.name, data)
    meter = Meter(upload.name)
    for number, line in enumerate(raw_lines(data), start=1):
        meter.row(number)
        yield number, without_end(line)


def without_end(line: str) -> str:
    """Return a line without its `\\n` or `\\r\\n`."""
    return line[:-2] if line.endswith("\r\n") else line.removesuffix("\n")


def check_line_ends(name: str, data: bytes) -> None:
    """Raise `ImportProblems` if all line ends are carriage returns (old Mac files)."""
    if b"\n" not in data and b"\r" in data:
        raise refuse_cr_only(name)


def refuse_cr_only(name: str) -> ImportProblems:
    found, todo = "lines that end in a carriage return only", "Save it again with Unix or Windows line ends"
    return refused(name, 1, found, "lines that end in LF or CR LF", todo)
