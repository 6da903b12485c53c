"""Load files from disk into one dataset, for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from core.data import SEVERITIES, Dataset
from core.errors import ImportProblems, UserError
from core.formats.build import Builder
from core.formats.column_doubts import doubts
from core.formats.columns import guessed
from core.formats.files import Upload, extension, file_name, path_name
from core.formats.given_roles import GivenRoles, files_as_read, table_as_read
from core.formats.labels.label_file import Severities
from core.formats.labels.label_formats import FORMATS
from core.formats.labels.label_formats import guess as label_format
from core.formats.lines import guess_roles, stage_roles
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


class Loaded(NamedTuple):
    """A dataset, and how its files were read, as lines for people: the role of every column or text file, then what is odd or missing."""

    dataset: Dataset
    as_read: tuple[str, ...]


def load(paths: Sequence[Path]) -> Dataset:
    """Return the dataset that `load_as` reads by its guesses."""
    return load_as(paths, GivenRoles()).dataset


def load_as(paths: Sequence[Path], given: GivenRoles) -> Loaded:
    """Load one dataset from tables (CSV, TSV, JSONL; merged) or line-aligned text. Columns and roles are recognised unless they are given.

    An MQM TSV (Google's or Marot's) is read for its texts, without labels; its references are systems.
    Raises `UserError` (unreadable file, tables and text mixed) or `ImportProblems`.
    """
    uploads = [read_upload(path) for path in paths]
    tables = [u for u in uploads if extension(u.name) in TABLE_EXTENSIONS]
    if not tables and uploads:
        by_path = {path_name(path): upload for path, upload in zip(paths, uploads, strict=True)}
        roles = given.of_files(guess_roles(list(by_path)))
        names = [system for _, system in roles.systems]
        if len(by_path) < len(uploads) or len(set(names)) < len(names):
            raise UserError(
                "two files have the same name", hint="Rename one: line-aligned files are identified by name"
            )
        staged = stage_roles(by_path, roles)
        return Loaded(staged.dataset(), (*files_as_read(roles), *staged.notes()))
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
    as_read, warnings = list[str](), list[str]()
    for upload in tables:
        try:
            labelled = label_format(upload) in LABELLED
            table = _labelled(upload) if labelled else read_table(upload)
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        found = guessed(table)
        mapping = given.of_table(table.columns, found.mapping)
        if not labelled:
            as_read += table_as_read(upload.name, table.columns, mapping, found.why, table.notes)
            warnings += (problem.sentence() for problem in doubts(table, mapping))
        builder.add(table, mapping)
    if problems:
        problems.extend(builder.problems.closed())
    problems.check()
    staged = builder.staged()
    return Loaded(staged.dataset(), (*as_read, *warnings, *staged.notes()))


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
