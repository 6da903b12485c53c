"""Files that are read as streams: bytes in memory, or a file on disk. A file is read several times, and never held whole."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from core.data import SourceFile
from core.errors import UserError
from core.formats.files import Upload, base_name, check_text, lines_of, refuse_cr_only, unpacked
from core.progress import Progress, no_progress

_CHUNK = 1 << 20
AT_ONCE = 100_000
"""Characters of the lines that are read between two reports of progress."""


class StoredFile(NamedTuple):
    """A file on disk, and its name, which is only a label."""

    name: str
    path: Path


AnyFile = Upload | StoredFile


def opened(file: AnyFile) -> BinaryIO:
    """Return the bytes of a file as a stream. Raises `UserError` if it cannot be read."""
    if isinstance(file, Upload):
        return io.BytesIO(file.data)
    try:
        return file.path.open("rb")
    except OSError as error:
        raise UserError(
            "the file cannot be read", where=str(file.path), got=error.strerror or "an error", hint="Check the path"
        ) from error


def size_of(file: AnyFile) -> int:
    return len(file.data) if isinstance(file, Upload) else file.path.stat().st_size


def beginning_of(file: AnyFile, size: int) -> Upload:
    """Return the first bytes of a file as an upload, to guess its format. A small file is whole."""
    if isinstance(file, Upload):
        return file
    with opened(file) as stream:
        return Upload(file.name, stream.read(size))


def source_of(file: AnyFile, column: str = "") -> SourceFile:
    """Return the file with the digest of its bytes, and for a table its column, for a signature."""
    digest = hashlib.sha256()
    with opened(file) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return SourceFile(base_name(file.name), digest.hexdigest(), column)


class TextFile:
    """A text file whose content was checked once, as `text_bytes` does, and whose lines can be read many times.

    With `by_line`, the length of a line is limited. Raises `ImportProblems` as `text_bytes` does, and for CR-only line ends. `progress` is called with the share of the file that was read,
    in every reading.
    """

    def __init__(self, file: AnyFile, progress: Progress = no_progress, *, by_line: bool = True) -> None:
        self.file, self.name = file, file.name
        self.progress, self._size = progress, max(1, size_of(file))
        with opened(file) as raw:
            self.facts = check_text(self.name, unpacked(self.name, raw), by_line=by_line, progress=self._reporter(raw))
        if self.facts.carriage_return and not self.facts.line_feed:
            raise refuse_cr_only(self.name)

    def lines(self) -> Iterator[str]:
        """Yield the lines with their line ends, as `raw_lines` does."""
        with opened(self.file) as raw, lines_of(unpacked(self.name, raw)) as lines:
            report = self._reporter(raw)
            while some := lines.readlines(AT_ONCE):
                report()
                yield from some

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Open the text of the file, to read it in pieces of any size."""
        with opened(self.file) as raw, lines_of(unpacked(self.name, raw)) as text:
            yield text
            self._reporter(raw)()

    def _reporter(self, raw: BinaryIO) -> Callable[[], None]:
        return lambda: self.progress(min(1.0, raw.tell() / self._size))
