"""Uploaded files: bytes with a name. Their type is detected from the bytes; nothing is unpickled or executed."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from core.errors import ImportProblems, Problem
from core.formats.parsing.limits import Meter, limits, too_much
from core.settings import Limits

_CHUNK = 1 << 20
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file"),
    (b"\x1f\x8b", "a gzip file inside a gzip file"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xfd7zXZ", "an xz file"),
    (b"BZh", "a bzip2 file"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
    (b"\x7fELF", "a program"),
)
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_UTF8 = "text in UTF-8"
_SAVE_AS_UTF8 = "Save it again and choose the encoding UTF-8"
_AS_TEXT = "Save the table as CSV (UTF-8), TSV or JSONL and upload that"


class Upload(NamedTuple):
    """An uploaded file: its bytes, and its name, which is only a label."""

    name: str
    data: bytes


def _refuse(name: str, row: int, found: str, expected: str, todo: str) -> ImportProblems:
    return ImportProblems([Problem(name, row, "", found, expected, todo)])


def beginning(upload: Upload, size: int) -> bytes:
    """Return about the first `size` bytes of a file, unpacked if it is gzip; empty if it cannot be unpacked."""
    head = upload.data[:size]
    if not head.startswith(b"\x1f\x8b"):
        return head
    try:
        return zlib.decompressobj(31).decompress(head, size)
    except zlib.error:
        return b""


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
    name = upload.name
    max_bytes = limits().text_mb << 20 if max_bytes is None else max_bytes
    data = _gunzip(upload, max_bytes) if upload.data[:2] == b"\x1f\x8b" else upload.data
    if len(data) > max_bytes:
        raise _too_large(name, max_bytes)
    if not data.removeprefix(codecs.BOM_UTF8):
        raise _refuse(name, 0, "an empty file", "at least one line", "Check that the export that wrote it has finished")
    if kind := binary_kind(data):
        raise _refuse(name, 0, kind, _UTF8, _AS_TEXT)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _refuse(name, 0, "UTF-16", _UTF8, _SAVE_AS_UTF8)
    _check_utf8(name, data)
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        utf16 = data.count(b"\0", 0, 4096) * 3 > len(data[:4096])
        if utf16:
            raise _refuse(name, line, "UTF-16 without a byte order mark", _UTF8, _SAVE_AS_UTF8)
        before = data[data.rfind(b"\n", 0, nul) + 1 : nul].removeprefix(codecs.BOM_UTF8)
        place, todo = f"character {len(before.decode('utf-8')) + 1}", "Is it a text file? Remove the NUL characters"
        raise ImportProblems([Problem(name, line, place, "a NUL character", _UTF8, todo)])
    if by_line:
        check_lines(name, data)
    return data


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


def binary_kind(data: bytes) -> str:
    """Return the kind of a binary file in words, from its first bytes; "" if it may be text."""
    if _PICKLE.match(data):
        return "a Python pickle"
    for magic, kind in _SIGNATURES:
        if data.startswith(magic):
            office = magic == b"PK\x03\x04" and (b"xl/" in data[:65536] or b"xl/" in data[-65536:])
            return "an Excel workbook" if office else kind
    return ""


def _too_large(name: str, max_bytes: int) -> ImportProblems:
    size = f"{max_bytes / 2**20:,.0f} MB" if max_bytes >= 2**20 else f"{max_bytes:,} bytes"
    todo = f"Split the file, or set {Limits.variable('text_mb')} to a higher number (docs/formats.md)"
    return _refuse(name, 0, f"more than {size} of text", f"at most {size}", todo)


def _gunzip(upload: Upload, max_bytes: int) -> bytes:
    out = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(upload.data)) as stream:
            while chunk := stream.read(_CHUNK):
                if out.tell() + len(chunk) > max_bytes:
                    raise _too_large(upload.name, max_bytes)
                out.write(chunk)
    except (EOFError, OSError, zlib.error) as error:
        found = f"damaged gzip data ({error})"
        raise _refuse(upload.name, 0, found, "a whole .gz file", "Compress or download it again") from error
    return out.getvalue()


def _check_utf8(name: str, data: bytes) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHUNK):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + _CHUNK], final=start + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            at = start - pending + error.start
            line = data.count(b"\n", 0, at) + 1
            before = data[data.rfind(b"\n", 0, at) + 1 : at].removeprefix(codecs.BOM_UTF8)
            place = f"character {len(before.decode('utf-8')) + 1}"
            half = data[at] == 0xED and data[at + 1 : at + 2] >= b"\xa0"
            what = "half of a surrogate pair" if half else "not UTF-8"
            found = f"byte 0x{data[at]:02X} at offset {at:,}, which is {what}"
            todo = f"{_SAVE_AS_UTF8} (in Excel: “CSV UTF-8”); it may be Latin-1 or Windows-1252"
            raise ImportProblems([Problem(name, line, place, found, _UTF8, todo)]) from error


def raw_lines(data: bytes) -> Iterator[str]:
    """Yield the lines of checked UTF-8 with their line ends, split at `\\n` only; a leading BOM is dropped."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="\n")


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
    return _refuse(name, 1, found, "lines that end in LF or CR LF", todo)
