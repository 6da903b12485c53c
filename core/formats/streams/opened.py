"""Text files that are read once, as a stream, and checked while they are read."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import BinaryIO, cast

from core.errors import ImportProblems
from core.formats.files import CHUNK, Upload, too_large, unpacked, without_end
from core.formats.parsing.cells import Meter, TableReading, TableRow, limits
from core.formats.parsing.text_check import TextScan
from core.progress import Progress, no_progress


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
        most, total, size = limits().text_mb, max(1, file.size), 0
        scan = TextScan(self.name, limits().cell_chars if by_line else None)
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
