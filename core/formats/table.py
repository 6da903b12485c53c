"""Read files with named columns: CSV, TSV and JSONL, also gzipped. Cells are never stripped."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile, islice

from core.errors import ImportProblems, Problem
from core.formats.documents import by_output, holds_documents
from core.formats.files import extension, refuse_cr_only, without_end
from core.formats.parsing.cells import AnyTable, FileTable, Nested, TableRow, TableStream
from core.formats.parsing.formula import EXPORTED, unescaped
from core.formats.parsing.jsonl import stream_jsonl
from core.formats.parsing.limits import Meter, limits
from core.formats.parsing.numbers import looks_like_a_number
from core.formats.problems import Collector, counted, shown
from core.formats.streams.columnar import COLUMNAR_EXTENSIONS, stream_columnar
from core.formats.streams.opened import AnyFile, TextFile
from core.progress import Progress, no_progress

TABLE_EXTENSIONS = frozenset({"csv", "tsv", "tab", "jsonl", "ndjson", "json"}) | COLUMNAR_EXTENSIONS

_LONE_CR = re.compile("\r(?!\n$)")
_STAND_IN = "\udc0d"  # stands for a lone CR while `csv` looks at it; valid UTF-8 never decodes to it


def is_json(name: str) -> bool:
    """Return whether a file of this name is read as JSON Lines."""
    return extension(name) in ("jsonl", "ndjson", "json")


def is_columnar(name: str) -> bool:
    """Return whether a file of this name is read as Parquet or Arrow."""
    return extension(name) in COLUMNAR_EXTENSIONS


def read_table(file: AnyFile, limit: int | None = None) -> FileTable:
    """Return the table that `stream_table` reads, with all rows in memory."""
    return stream_table(file, limit).held()


def read_as_written(file: AnyFile, limit: int | None = None) -> FileTable:
    """Return the table that `stream_as_written` reads, with all rows in memory."""
    return stream_as_written(file, limit).held()


def stream_table(file: AnyFile, limit: int | None = None, progress: Progress = no_progress) -> TableStream:
    """Read a table as `stream_as_written` does, and undo the escaping of formulas in a CSV that this program exported."""
    table = stream_as_written(file, limit, progress)
    exported = table.columns in EXPORTED and not is_json(file.name) and not is_columnar(file.name)
    return unescaped(table) if exported else table


def stream_as_written(file: AnyFile, limit: int | None = None, progress: Progress = no_progress) -> TableStream:
    """Return the rows of a table as a stream; `limit` stops after that many rows (to preview the columns).

    CSV: comma, quotes as in RFC 4180, line breaks inside quotes. TSV: no quoting, as in Google's files, unless every record with a quote
    could come from a writer that quotes. If the header is a single field, the other delimiters (also `;`) are tried. Lines end in `\\n`
    or `\\r\\n`; U+2028, U+0085, `\\v` and a lone `\\r` stay in their field. Blank lines are skipped. JSONL of documents with the outputs
    of many systems gives one row per output (`documents`). Parquet and Arrow: `streams.columnar`. `progress` is called with the share of the file, in every reading. Raises
    `ImportProblems` with the reason why the file cannot be read, and at the end of each reading with every row of the wrong length (CSV and TSV)
    and every text that no database can store (Parquet and Arrow).
    """
    if is_columnar(file.name):
        table = stream_columnar(file, limit, progress)
        refuse_without_rows(table)
        return table
    text = TextFile(file, progress)
    if is_json(file.name):
        table = stream_jsonl(file.name, text.lines, limit)
        if holds_documents(table):
            whole = by_output(table)
            table = replace(whole, each=lambda: islice(whole.each(), limit))
    else:
        table = _delimited(text, limit)
    refuse_without_rows(table)
    return table


def refuse_without_rows(table: AnyTable) -> None:
    """Raise `ImportProblems` if the table has no rows."""
    if next(table.each(), None) is None:
        found = "a header and no rows" if table.columns else "no rows"
        raise ImportProblems(
            [Problem(table.name, 0, "", found, "at least one row", "Check that the export has finished")]
        )


def _delimiter(text: TextFile) -> str:
    header = next(filter(None, map(without_end, text.lines())), "")
    wanted = "\t" if extension(text.name) in ("tsv", "tab") else ","
    return next((d for d in (wanted, "\t", ",", ";") if d in header), wanted)


def _delimited(text: TextFile, limit: int | None) -> TableStream:
    name, delimiter = text.name, _delimiter(text)
    plain = delimiter == "\t" and not (text.facts.quote and clearly_quoted(text.lines, delimiter))

    blank = [""] if plain else list[str]()

    def records(problems: Collector) -> Iterator[tuple[int, list[str]]]:
        found = _plain_records(text.lines()) if plain else quoted_records(name, text.lines(), delimiter, problems)
        return dropwhile(lambda record: record[1] == blank, found)

    problems = Collector()
    line, fields = next(records(problems), (1, []))
    Meter(name).columns(line, len(fields))
    columns = _column_names(name, line, fields, problems)
    problems.check()
    todo = "Put texts with a comma, a quote or a line break in quotes" if not plain else "Remove tabs from the texts"
    width, header = len(columns), fields if len(columns) > 1 else None

    def rows(problems: Collector) -> Iterator[TableRow]:
        count = Meter(name).row
        found = records(problems)
        next(found, None)
        for line, fields in found:
            count(line, len(fields))
            if fields == header:
                again = "Remove the line; files put together each bring their header"
                problems.add(name, line, "", "the header again", "a row", again)
            elif len(fields) == width:
                yield TableRow(line, tuple(fields))
            elif fields and fields != [""]:
                problems.add(name, line, "", counted(len(fields), "field"), f"{width}, as the header has", todo)
            elif width == 1:
                yield TableRow(line, ("",))

    def each() -> Iterator[TableRow]:
        problems = Collector()
        yield from islice(rows(problems), limit)
        problems.check()

    return TableStream(name, columns, each)


def _column_names(name: str, line: int, fields: Sequence[str], problems: Collector) -> tuple[str, ...]:
    first: dict[str, int] = {}
    columns = [field or f"column {i}" for i, field in enumerate(fields, start=1)]
    for i, column in enumerate(columns, start=1):
        if column in first:
            found = f"the name twice, in columns {first[column]} and {i}"
            problems.add(name, line, column, found, "unique column names", "Rename one of them")
        first.setdefault(column, i)
    if any("\r" in column for column in columns):
        raise refuse_cr_only(name)
    return tuple(columns)


def _plain_records(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    for at, line in enumerate(lines, start=1):
        yield at, without_end(line).split("\t")


def quoted_records(
    name: str, lines: Iterable[str], delimiter: str, problems: Collector
) -> Iterator[tuple[int, list[str]]]:
    """Yield records of quoted text with the line they begin on. Broken quoting ends the reading with a problem."""
    start = 1
    records = _CsvLines(lines)
    try:
        reader = csv.reader(records.each(), delimiter=delimiter, strict=True)
        for fields in reader:
            if records.stands_in:
                records.stands_in = False
                fields = [field.replace(_STAND_IN, "\r") for field in fields]
            yield start, fields
            start, records.size = reader.line_num + 1, 0
    except csv.Error as error:
        if "field limit" in str(error):
            found = f"a field of more than {limits().cell_chars:,} characters, or a quote that is never closed"
        elif "unexpected end" in str(error):
            found = "a quote that is never closed"
        else:
            found = f"broken quoting ({error})"
        todo = "Double each quote inside a quoted text, and put the closing quote right before the delimiter"
        problems.add(name, start, "", found, "balanced quotes", todo)


class _CsvLines:
    """The lines of a file for `csv`, which would end a record at a lone CR. Raises `csv.Error` for too long a record.

    `size` are the characters of the current record so far, `raw` its lines if they are kept.
    """

    def __init__(self, lines: Iterable[str], *, keep: bool = False) -> None:
        self._lines, self._keep, self._longest = lines, keep, limits().cell_chars
        self.size, self.stands_in, self.raw = 0, False, list[str]()
        csv.field_size_limit(self._longest)

    def each(self) -> Iterator[str]:
        longest = self._longest
        for line in self._lines:
            self.size += len(line)
            if self.size > longest:
                raise csv.Error("field limit")
            if self._keep:
                self.raw.append(line)
            if "\r" in line and not (line.endswith("\r\n") and line.find("\r") == len(line) - 2):
                self.stands_in = True
                line = _LONE_CR.sub(_STAND_IN, line)
            yield line


def _csv_records(lines: Iterable[str], delimiter: str) -> Iterator[tuple[list[str], str]]:
    """Yield the fields of each record and its raw text. Raises `csv.Error`."""
    records = _CsvLines(lines, keep=True)
    for fields in csv.reader(records.each(), delimiter=delimiter, strict=True):
        yield [field.replace(_STAND_IN, "\r") for field in fields], "".join(records.raw)
        records.raw.clear()
        records.size = 0


def clearly_quoted(lines: Callable[[], Iterable[str]], delimiter: str = "\t") -> bool:
    """Return whether some record has a quote, and each such record could come from a writer that quotes fields.

    Three kinds of writers are known: they quote fields only if necessary, all fields, or all fields except numbers.
    """
    seen = False
    try:
        for fields, raw in _csv_records(lines(), delimiter):
            if '"' in raw:
                seen = True
                if without_end(raw) not in _ways_to_write(fields, delimiter):
                    return False
    except csv.Error:
        return False
    return seen


def _ways_to_write(fields: Sequence[str], delimiter: str) -> Iterable[str]:
    quoted = ['"' + f.replace('"', '""') + '"' for f in fields]
    special = (delimiter, '"', "\n", "\r")
    yield delimiter.join(q if any(c in f for c in special) else f for f, q in zip(fields, quoted, strict=True))
    yield delimiter.join(quoted)
    yield delimiter.join(f if looks_like_a_number(f) else q for f, q in zip(fields, quoted, strict=True))


def sample_values(table: FileTable, limit: int = 80) -> tuple[str, ...]:
    """Return the first non-empty value of each column, shortened, to help users recognise the columns."""
    out = []
    for i in range(len(table.columns)):
        match next((row.cells[i] for row in table.rows if row.cells[i]), ""):
            case Nested(json):
                text = shown(json)
            case tuple(texts):
                text = " · ".join(texts)
            case cell:
                text = cell or ""
        out.append(text[:limit] + ("…" if len(text) > limit else ""))
    return tuple(out)
