"""Text files that are read once, as a stream, and checked meanwhile: kind, encoding, NUL characters, and the lengths of lines."""

from __future__ import annotations

import codecs
import hashlib
import io
import re
from collections.abc import Iterator
from typing import BinaryIO, cast

from core.errors import ImportProblems
from core.formats.files import CHUNK, Upload, too_large, unpacked, without_end
from core.formats.parsing.cells import Meter, TableReading, TableRow, too_much
from core.formats.problems import refused
from core.progress import Progress, no_progress
from core.settings import load_limits

_HEAD = 1 << 16  # bytes at both ends that tell the kind of a file
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
_OFFICE = (
    (b"opendocument.spreadsheet", "an OpenDocument spreadsheet"), (b"opendocument.", "an OpenDocument file"),
    (b"xl/", "an Excel workbook"), (b"word/", "a Word document"),
)  # fmt: skip
"""What is in a ZIP archive of an office program, and its name."""
_COMPRESSED = frozenset({"a gzip file inside a gzip file", "an xz file", "a bzip2 file", "a Zstandard file"})
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_UTF8 = "text in UTF-8"
_SAVE_AS_UTF8 = "Save it again and choose the encoding UTF-8"
_AS_TEXT = "Save the table as CSV (UTF-8), TSV or JSONL and upload that"


_UNPACK = "Unpack it, and choose the files in it"
_DECOMPRESS = "Decompress it, or compress the text as .gz"


def binary_kind(data: bytes) -> str:
    """Return the kind of a binary file in words, from its first bytes; "" if it may be text."""
    if _PICKLE.match(data):
        return "a Python pickle"
    if data[257:262] == b"ustar":
        return "a tar archive"
    for magic, kind in _SIGNATURES:
        if data.startswith(magic):
            ends = data[:65536] + data[-65536:] if magic == b"PK\x03\x04" else b""
            return next((office for sign, office in _OFFICE if sign in ends), kind)
    return ""


def instead_of(kind: str) -> str:
    """Return what to do with a binary file of this kind."""
    if "archive" in kind:
        return _UNPACK
    return _DECOMPRESS if kind in _COMPRESSED else _AS_TEXT


def refuse_cr_only(name: str) -> ImportProblems:
    got, todo = "lines that end in a carriage return only", "Save it again with Unix or Windows line ends"
    return refused(name, 1, got, "lines that end in LF or CR LF", todo)


class TextScan:
    """What is wrong with a text that is read in pieces: the first fault of each kind. `longest` limits the characters of a line; without
    it, the text need not have lines."""

    def __init__(self, name: str, longest: int | None) -> None:
        self.name, self.longest = name, longest
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._head, self._tail, self._size = b"", b"", 0
        self._lines, self._chars = 0, 0  # complete lines so far, and characters of the line that is not
        self._carriage_return = False
        self._invalid: ImportProblems | None = None
        self._nul: tuple[int, int] | None = None
        self._long: ImportProblems | None = None

    def take(self, chunk: bytes) -> str:
        """Check the next bytes; return their text, "" after the first fault."""
        if len(self._head) < _HEAD:
            self._head += chunk[: _HEAD - len(self._head)]
        self._tail = (self._tail + chunk)[-_HEAD:]
        self._carriage_return = self._carriage_return or b"\r" in chunk
        text = self._decode(chunk, final=False)
        self._size += len(chunk)
        return "" if self._invalid or self._nul or self._long else text

    def done(self) -> None:
        """Raise `ImportProblems` with the first fault of the most general kind."""
        name = self.name
        if self._size == 0 or (self._size == len(codecs.BOM_UTF8) and self._head == codecs.BOM_UTF8):
            todo = "Check that the export that wrote it has finished"
            raise refused(name, 0, "an empty file", "at least one line", todo)
        if kind := binary_kind(self._head if self._size <= _HEAD else self._head + self._tail):
            raise refused(name, 0, kind, _UTF8, instead_of(kind))
        if self._head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise refused(name, 0, "UTF-16", _UTF8, _SAVE_AS_UTF8)
        self._decode(b"", final=True)
        if self._invalid is not None:
            raise self._invalid
        if self._nul is not None:
            line, character = self._nul
            if self._head[:4096].count(0) * 3 > len(self._head[:4096]):
                raise refused(name, line, "UTF-16 without a byte order mark", _UTF8, _SAVE_AS_UTF8)
            place, todo = f"character {character}", "Is it a text file? Remove the NUL characters"
            raise refused(name, line, "a NUL character", _UTF8, todo, place)
        if self._long is not None:
            raise self._long
        if self.longest is not None and self._carriage_return and not self._lines:
            raise refuse_cr_only(name)

    def _decode(self, chunk: bytes, *, final: bool) -> str:
        if self._invalid is not None:
            return ""
        pending = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(chunk, final=final)
        except UnicodeDecodeError as error:
            self._invalid = self._not_utf8(error, self._size - pending)
            return ""
        if self._size == 0 and text.startswith("\ufeff"):
            text = text[1:]
        if self._nul is None and (at := text.find("\0")) >= 0:
            start = text.rfind("\n", 0, at) + 1
            self._nul = self._lines + text.count("\n", 0, at) + 1, at - start + 1 + (0 if start else self._chars)
        self._measure(text)
        return text

    def _measure(self, text: str) -> None:
        first = text.find("\n")
        if first < 0:
            self._chars += len(text)
            self._check_length(0, self._chars)
            return
        self._check_length(0, self._chars + first)
        if self.longest is not None and self.longest < len(text):
            for i, line in enumerate(text[first + 1 :].split("\n"), start=1):
                self._check_length(i, len(line))
        self._lines += text.count("\n")
        self._chars = len(text) - text.rfind("\n") - 1

    def _check_length(self, below: int, characters: int) -> None:
        if self._long is None and self.longest is not None and characters > self.longest:
            self._long = too_much(self.name, self._lines + below + 1, "cell_chars", self.longest)

    def _not_utf8(self, error: UnicodeDecodeError, start: int) -> ImportProblems:
        data, at = error.object, error.start
        line_start = data.rfind(b"\n", 0, at) + 1
        before = data[line_start:at].decode("utf-8")
        before = before.removeprefix("\ufeff") if start + line_start == 0 else before
        place = f"character {len(before) + 1 + (0 if line_start else self._chars)}"
        half = data[at] == 0xED and data[at + 1 : at + 2] >= b"\xa0"
        what = "half of a surrogate pair" if half else "not UTF-8"
        got = f"byte 0x{data[at]:02X} at offset {start + at:,}, which is {what}"
        todo = f"{_SAVE_AS_UTF8} (in Excel: “CSV UTF-8”); it may be Latin-1 or Windows-1252"
        return refused(self.name, self._lines + data.count(b"\n", 0, at) + 1, got, _UTF8, todo, place)


class CheckedText:
    """The text of a file, which can be read once, by lines or in pieces.

    Raises `ImportProblems` for a file that is empty, too large (also a gzip bomb), damaged gzip, binary, UTF-16, not UTF-8 (with offset
    and line), or has a NUL (with line and character); with `by_line` also for too long a line and for CR-only line ends. Of several
    faults the most general one is raised (`TextScan`): after the first one no more text is returned, and the rest of the file is only
    checked. `progress` is called with the share of the file that was read. `sha256` is the digest of the bytes, once all are read.
    """

    def __init__(self, file: Upload, progress: Progress = no_progress, *, by_line: bool = True) -> None:
        self.name, self.sha256 = file.name, ""
        self._pieces = self._checked(file, progress, by_line)

    def lines(self) -> Iterator[str]:
        """Yield the lines with their line ends; they end in `\\n` only."""
        begun: list[str] = []  # pieces of a line that has not ended
        for piece in self._pieces:
            end = piece.rfind("\n") + 1
            if end:
                yield from io.StringIO("".join((*begun, piece[:end])), newline="\n")
                begun.clear()
            begun.append(piece[end:])
        if last := "".join(begun):
            yield last

    def read(self, size: int) -> str:
        """Return at least so many characters, or all that are left."""
        parts: list[str] = []
        while size > 0 and (piece := next(self._pieces, "")):
            parts.append(piece)
            size -= len(piece)
        return "".join(parts)

    def finish(self) -> None:
        """Check the rest of the file."""
        for _ in self._pieces:
            pass

    def _checked(self, file: Upload, progress: Progress, by_line: bool) -> Iterator[str]:
        most, total, size = load_limits().text_mb, max(1, file.size), 0
        scan = TextScan(self.name, load_limits().cell_chars if by_line else None)
        with file.open() as raw:
            bytes_read = _Digested(raw)
            stream = unpacked(self.name, cast(BinaryIO, bytes_read))
            while chunk := stream.read(CHUNK):
                size += len(chunk)
                if size > most << 20:
                    raise too_large(self.name, most)
                text = scan.take(chunk)
                progress(min(1.0, raw.tell() / total))
                if text:
                    yield text
        scan.done()
        self.sha256 = bytes_read.digest.hexdigest()


class _Digested:
    """The bytes of a stream, with the digest of those that were read."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self.digest = raw, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self.digest.update(data)
        return data

    def seek(self, at: int) -> None:
        """Go back to the beginning."""
        self._raw.seek(at)
        self.digest = hashlib.sha256()


def of_text(reading: TableReading, text: CheckedText, rows: Iterator[TableRow]) -> TableReading:
    """Read these rows of a text; its faults are raised rather than those of its rows."""

    def checked() -> Iterator[TableRow]:
        try:
            yield from rows
        except ImportProblems:
            text.finish()
            raise
        text.finish()
        reading.sha256 = text.sha256

    reading.rows = checked()
    return reading


def read_lines(file: Upload, progress: Progress = no_progress) -> TableReading:
    """Read the lines of a text file, without line ends, as the rows of a table with one column.

    Raises `ImportProblems` as `CheckedText`, and for more lines than the row limit.
    """
    text, meter = CheckedText(file, progress), Meter(file.name)

    def rows() -> Iterator[TableRow]:
        for number, line in enumerate(text.lines(), start=1):
            meter.row(number)
            yield TableRow(number, (without_end(line),))

    return of_text(TableReading(file.name, columns=["text"]), text, rows())


def numbered_lines(file: Upload) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their number from 1, without line ends. Raises `ImportProblems` as `read_lines`."""
    return ((row.line, str(row.cells[0])) for row in read_lines(file).rows)


def text_bytes(file: Upload, *, by_line: bool = True) -> bytes:
    """Return the bytes of a text file, decompressed if it is gzip and checked as `CheckedText` does. Raises `ImportProblems`."""
    CheckedText(file, by_line=by_line).finish()
    with file.open() as raw:
        return unpacked(file.name, raw).read()
