"""Read files with named columns: CSV, TSV and JSONL, also gzipped. Cells are never stripped."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence

from core.errors import ImportProblems, Problem
from core.formats.documents import by_output, holds_documents
from core.formats.files import Upload, check_line_ends, extension, raw_lines, refuse_cr_only, text_bytes, without_end
from core.formats.parsing.cells import FileTable, Nested, TableRow
from core.formats.parsing.formula import EXPORTED, unescaped
from core.formats.parsing.jsonl import read_jsonl
from core.formats.parsing.limits import Meter, limits
from core.formats.parsing.numbers import looks_like_a_number
from core.formats.problems import Collector, counted, shown

TABLE_EXTENSIONS = frozenset({"csv", "tsv", "tab", "jsonl", "ndjson", "json"})
_REMEMBERED = 1 << 20  # distinct cells that later equal ones may share

_LONE_CR = re.compile("\r(?!\n$)")
_STAND_IN = "\udc0d"  # stands for a lone CR while `csv` looks at it; valid UTF-8 never decodes to it


def is_json(name: str) -> bool:
    """Return whether a file of this name is read as JSON Lines."""
    return extension(name) in ("jsonl", "ndjson", "json")


def read_table(upload: Upload, limit: int | None = None) -> FileTable:
    """Read a table as `read_as_written` does, and undo the escaping of formulas in a CSV that this program exported."""
    table = read_as_written(upload, limit)
    return unescaped(table) if table.columns in EXPORTED and not is_json(upload.name) else table


def read_as_written(upload: Upload, limit: int | None = None) -> FileTable:
    """Read a table; `limit` stops after that many rows (to preview the columns).

    CSV: comma, quotes as in RFC 4180, line breaks inside quotes. TSV: no quoting, as in Google's files, unless every record with a quote
    could come from a writer that quotes. If the header is a single field, the other delimiters (also `;`) are tried. Lines end in `\\n`
    or `\\r\\n`; U+2028, U+0085, `\\v` and a lone `\\r` stay in their field. Blank lines are skipped. JSONL of documents with the outputs
    of many systems gives one row per output (`documents`). Raises `ImportProblems` with every row of the wrong length, or the reason why
    the file cannot be read.
    """
    data = text_bytes(upload)
    check_line_ends(upload.name, data)
    if is_json(upload.name):
        table = read_jsonl(upload.name, data, limit)
        if holds_documents(table):
            table = by_output(table)
            table = FileTable(table.name, table.columns, table.rows[:limit])
    else:
        table = _read_delimited(upload.name, data, _delimiter(upload.name, data), limit)
    return with_rows(table)


def with_rows(table: FileTable) -> FileTable:
    """Return the table. Raises `ImportProblems` if it has no rows."""
    if not table.rows:
        found = "a header and no rows" if table.columns else "no rows"
        raise ImportProblems(
            [Problem(table.name, 0, "", found, "at least one row", "Check that the export has finished")]
        )
    return table


def _delimiter(name: str, data: bytes) -> str:
    header = without_end(next(raw_lines(data), ""))
    wanted = "\t" if extension(name) in ("tsv", "tab") else ","
    return next((d for d in (wanted, "\t", ",", ";") if d in header), wanted)


def _read_delimited(name: str, data: bytes, delimiter: str, limit: int | None) -> FileTable:
    problems = Collector()
    plain = delimiter == "\t" and not clearly_quoted(data, delimiter)
    records = _plain_records(data) if plain else quoted_records(name, data, delimiter, problems)
    header = next(records, (1, []))
    meter = Meter(name)
    meter.columns(header[0], len(header[1]))
    columns = _column_names(name, header[0], header[1], problems)
    width, rows, memo = len(columns), list[TableRow](), dict[str, str]()
    shared = memo.setdefault
    for line, fields in records:
        if limit is not None and len(rows) >= limit:
            break
        meter.row(line, len(fields))
        if len(fields) == width:
            rows.append(TableRow(line, tuple(map(shared, fields, fields))))
            if len(memo) > _REMEMBERED:
                shared = memo.get
        elif fields and fields != [""]:
            todo = (
                "Put texts with a comma, a quote or a line break in quotes"
                if not plain
                else "Remove tabs from the texts"
            )
            problems.add(name, line, "", counted(len(fields), "field"), f"{width}, as the header has", todo)
        elif width == 1:
            rows.append(TableRow(line, ("",)))
    problems.check()
    return FileTable(name, columns, tuple(rows))


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


def _plain_records(data: bytes) -> Iterator[tuple[int, list[str]]]:
    for at, line in enumerate(raw_lines(data), start=1):
        yield at, without_end(line).split("\t")


def quoted_records(name: str, data: bytes, delimiter: str, problems: Collector) -> Iterator[tuple[int, list[str]]]:
    """Yield records of quoted text with the line they begin on. Broken quoting ends the reading with a problem."""
    start = 1
    try:
        for start, fields, _, end in _csv_records(data, delimiter):
            yield start, fields
            start = end
    except csv.Error as error:
        if "field limit" in str(error):
            found = f"a field of more than {limits().cell_chars:,} characters, or a quote that is never closed"
        elif "unexpected end" in str(error):
            found = "a quote that is never closed"
        else:
            found = f"broken quoting ({error})"
        todo = "Double each quote inside a quoted text, and put the closing quote right before the delimiter"
        problems.add(name, start, "", found, "balanced quotes", todo)


def _csv_records(data: bytes, delimiter: str) -> Iterator[tuple[int, list[str], str, int]]:
    """Yield the line of each record, its fields, its raw text, and the line of the next record. Raises `csv.Error`."""
    longest = limits().cell_chars
    csv.field_size_limit(longest)
    taken: list[str] = []
    size = 0

    def lines() -> Iterator[str]:
        nonlocal size
        for line in raw_lines(data):
            if (size := size + len(line)) > longest:
                raise csv.Error("field limit")
            taken.append(_LONE_CR.sub(_STAND_IN, line) if "\r" in line else line)
            yield taken[-1]

    reader, start = csv.reader(lines(), delimiter=delimiter, strict=True), 1
    for fields in reader:
        raw = "".join(taken)
        taken.clear()
        if _STAND_IN in raw:
            fields, raw = [f.replace(_STAND_IN, "\r") for f in fields], raw.replace(_STAND_IN, "\r")
        yield start, fields, raw, reader.line_num + 1
        start, size = reader.line_num + 1, 0


def clearly_quoted(data: bytes, delimiter: str = "\t") -> bool:
    """Return whether some record has a quote, and each such record could come from a writer that quotes fields.

    Three kinds of writers are known: they quote fields only if necessary, all fields, or all fields except numbers.
    """
    if b'"' not in data:
        return False
    seen = False
    try:
        for _, fields, raw, _ in _csv_records(data, delimiter):
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
