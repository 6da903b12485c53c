"""Load files from disk into one dataset, for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.data import SEVERITIES, Dataset
from core.errors import ImportProblems, UserError
from core.formats.build import Builder
from core.formats.columns import guess
from core.formats.files import Upload, extension, file_name
from core.formats.labels.label_file import Severities
from core.formats.labels.label_formats import FORMATS
from core.formats.labels.label_formats import guess as label_format
from core.formats.lines import aligned, guess_roles
from core.formats.parsing.cells import FileTable, TableRow
from core.formats.problems import Collector
from core.formats.table import TABLE_EXTENSIONS, read_table

LABELLED = ("google", "marot")
"""Label formats that are tables and include the outputs."""


def read_upload(path: Path) -> Upload:
    """Read a file as an upload. Raises `UserError` if it cannot be read."""
    try:
        return Upload(file_name(path), path.read_bytes())
    except OSError as error:
        raise UserError(
            "the file cannot be read", where=str(path), got=error.strerror or "an error", hint="Check the path"
        ) from error


def load(paths: Sequence[Path]) -> Dataset:
    """Load one dataset from tables (CSV, TSV, JSONL; merged) or line-aligned text; columns and roles are recognised by name.

    An MQM TSV (Google's or Marot's) is read for its texts, without labels; its references are systems.
    Raises `UserError` (unreadable file, tables and text mixed) or `ImportProblems`.
    """
    uploads = [read_upload(path) for path in paths]
    tables = [u for u in uploads if extension(u.name) in TABLE_EXTENSIONS]
    if not tables and uploads:
        roles = guess_roles([u.name for u in uploads])
        by_name = {u.name: u for u in uploads}
        if len(by_name) < len(uploads):
            raise UserError(
                "two files have the same name", hint="Rename one: line-aligned files are identified by name"
            )
        source = by_name[roles.source] if roles.source else None
        return aligned(source, [by_name[n] for n in roles.references], {s: by_name[n] for n, s in roles.systems})
    if len(tables) < len(uploads):
        other = next(u.name for u in uploads if u not in tables)
        raise UserError(
            "tables and plain text are mixed",
            where=other,
            expected="only tables, or only text files",
            hint="Load them separately",
        )
    builder = Builder()
    problems = Collector()
    for upload in tables:
        try:
            table = _labelled(upload) if label_format(upload) in LABELLED else read_table(upload)
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        builder.add(table, guess(table))
    if problems:
        problems.extend(builder.problems.closed())
    problems.check()
    return builder.dataset()


class _AnySeverity(Severities):
    """Severities that accept any name, for reading texts without their labels."""

    def find(self, name: str | None) -> str | None:
        return super().find(name) or SEVERITIES[0]


def _labelled(upload: Upload) -> FileTable:
    found = FORMATS[label_format(upload) or ""].read(upload, _AnySeverity(), None).dataset
    segments = found.segment_of()
    rows: list[TableRow] = []
    for output in found.outputs:
        segment = segments[output.key.segment]
        rows.append(TableRow(0, (*output.key, segment.source, segment.references or None, output.text)))
    return FileTable(upload.name, ("system", "doc_id", "segment_id", "source", "references", "output"), tuple(rows))
