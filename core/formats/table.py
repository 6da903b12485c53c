"""Read files with named columns: CSV, TSV and JSONL, also gzipped. Cells are never stripped."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, dropwhile, islice
from typing import Literal, NamedTuple

from core.formats.columns import is_reference_name, roles_of
from core.formats.documents import by_output, holds_documents
from core.formats.files import Upload, beginning_text, extension, without_end
from core.formats.parsing.cells import FileTable, Meter, Nested, TableReading, TableRow, unescaped
from core.formats.parsing.json_text import holds_members, jsonl_rows, list_rows, member_rows
from core.formats.parsing.numbers import looks_like_a_number
from core.formats.problems import Collector, refused, shown
from core.formats.streams.columnar import COLUMNAR_EXTENSIONS, columnar_rows
from core.formats.streams.opened import CheckedText, of_text, refuse_cr_only
from core.formatting import format_count
from core.progress import Progress, no_progress
from core.settings import load_limits

TABLE_EXTENSIONS = frozenset({"csv", "tsv", "tab", "jsonl", "ndjson", "json"}) | COLUMNAR_EXTENSIONS

HEAD_BYTES = 4096
Escaped = Literal["if exported", "always", "never"]
_RECORDS = 'Write each row as an object, in pandas: df.to_json(FILE, orient="records", lines=True)'
HEAD = 100
"""Lines from which the header and the delimiter are judged."""
_SEP = re.compile(r'"?sep=(\\t|tab|[^\w"])"?[,;\t]*', re.IGNORECASE)
_MARKS = {",": "comma", ";": "semicolon", "\t": "tab"}
_OTHER_QUOTES = frozenset(("''", "``", "“”", "„“", "‘’", "«»"))
_LONE_CR = re.compile("\r(?!\n$)")
_STAND_IN = "\udc0d"  # stands for a lone CR while `csv` looks at it; valid UTF-8 never decodes to it


def is_json(name: str) -> bool:
    """Return whether a file of this name is read as JSON Lines."""
    return extension(name) in ("jsonl", "ndjson", "json")


def is_columnar(name: str) -> bool:
    """Return whether a file of this name is read as Parquet or Arrow."""
    return extension(name) in COLUMNAR_EXTENSIONS


def read_table(file: Upload, limit: int | None = None, escaped: Escaped = "if exported") -> FileTable:
    """Return the table that `kept_table` reads, with all rows in memory."""
    return kept_table(file, TableReading.held, limit, escaped=escaped)


def kept_table(
    file: Upload, keep: Callable[[TableReading], FileTable], limit: int | None = None, progress: Progress = no_progress,
    escaped: Escaped = "if exported",
) -> FileTable:  # fmt: skip
    """Read a table as `open_table` does, and undo the escaping of formulas in a CSV, by default if this program exported it.

    `keep` takes the rows, in memory or on disk. Documents with the outputs of many systems give one row per output (`documents`). Raises
    `ImportProblems`.
    """
    name = file.name
    reading = open_table(file, limit, progress)
    if escaped != "never" and not is_json(name) and not is_columnar(name):
        reading = unescaped(reading, always=escaped == "always")
    table = keep(reading)
    if is_json(name) and holds_documents(table):
        table = keep(by_output(table, limit))
    elif is_json(name):
        _refuse_one_object_of_lists(table)
    if not table.rows:
        got = "a header and no rows" if table.columns else "no rows"
        raise refused(name, 0, got, "at least one row", "Check that the export has finished")
    return table


def open_table(file: Upload, limit: int | None = None, progress: Progress = no_progress) -> TableReading:
    """Return a table as it is written, to be read once; `limit` stops after that many rows (to preview the columns).

    CSV: comma, quotes as in RFC 4180, line breaks inside quotes. TSV: no quoting, as in Google's files, unless every record with a quote
    could come from a writer that quotes, for which a file with quotes is read twice. Other delimiters (also `;`), comments above the
    header and Excel's `sep=;`: see `layout_of`. Lines end in `\\n` or `\\r\\n`; U+2028, U+0085, `\\v` and a lone `\\r` stay in their field.
    Blank lines are skipped. JSON: one object per line, one list of objects, or {system: [objects]}. Parquet and Arrow:
    `streams.columnar`. `progress` is called with the share of the file. Iterating over the rows raises `ImportProblems` with the reason
    why the file cannot be read, and at the end with every row of the wrong length (CSV and TSV), every line that is no object (JSON) and
    every text that no database can store (Parquet and Arrow).
    """
    if is_columnar(file.name):
        return columnar_rows(file, limit, progress)
    if is_json(file.name):
        return _json(file, limit, progress)
    text, reading = CheckedText(file, progress), TableReading(file.name)
    return of_text(reading, text, _delimited(file, text, reading, limit))


def _json(file: Upload, limit: int | None, progress: Progress) -> TableReading:
    """Read the objects of a JSON file: one per line, one list, or an object {system: [objects]}."""
    name = file.name
    head = beginning_text(file, HEAD_BYTES).strip()
    first, _, below = head.partition("\n")
    lines = below and first.rstrip().endswith(("}", "]"))  # each line is complete
    listed = head.startswith("[") and (extension(name) == "json" or not lines)
    text = CheckedText(file, progress, by_line=not listed)
    if listed:
        reading = list_rows(name, text, limit)
    elif holds_members(head) and not lines:
        reading = member_rows(name, text, limit)
    elif below and first.startswith("{") and first.rstrip().endswith(("{", "[", ",")):
        text.finish()
        got = "one JSON object over several lines"
        raise refused(name, 1, got, "one object per line, or a list of objects", _RECORDS)
    else:
        reading = jsonl_rows(name, text.lines(), limit)
    return of_text(reading, text, reading.rows)


def _refuse_one_object_of_lists(table: FileTable) -> None:
    """Raise `ImportProblems` if the only object has the columns of a table as lists or objects, as pandas writes by default."""
    rows = list(islice(table.rows, 2))
    if len(rows) == 1 < len(table.columns) and all(isinstance(cell, Nested | tuple) for cell in rows[0].cells):
        got = f"one object with lists or objects: {', '.join(map(shown, table.columns[:6]))}"
        raise refused(table.name, rows[0].line, got, "one object per row", _RECORDS)


class TableLayout(NamedTuple):
    """How a delimited file is laid out: its delimiter, the line of the header, and sentences about what is not as usual."""

    delimiter: str
    header: int
    notes: tuple[str, ...] = ()


def layout_of(name: str, lines: Iterable[str]) -> TableLayout:
    """Find the header and the delimiter in the first lines.

    A line `sep=;` names the delimiter, as Excel writes it. Lines that begin with # are comments, up to the first line with as many
    delimiters as the line after them, unless that one has more usual names of columns. If the header has several delimiters, that of the file's extension is preferred unless another one
    gives more fields, as many in every record.
    """
    first = list(islice(((n, line) for n, line in enumerate(lines, 1) if without_end(line).strip()), HEAD))
    usual_delimiter = "\t" if extension(name) in ("tsv", "tab") else ","
    if not first:
        return TableLayout(usual_delimiter, 1)
    at, header = first[0]
    if (named := _SEP.fullmatch(without_end(header))) and len(first) > 1:
        mark = {"\\t": "\t", "tab": "\t"}.get(named[1].casefold(), named[1])
        return TableLayout(mark, first[1][0], (f"line {at} names the delimiter: {_MARKS.get(mark, shown(mark))}",))
    rest = list(dropwhile(lambda numbered: numbered[1].startswith("#"), first))
    notes: tuple[str, ...] = ()
    if rest and rest is not first:
        mark = _best_delimiter(usual_delimiter, [line for _, line in rest])
        below = rest[0][1]
        header_at = next(
            n for n, line in first
            if n == rest[0][0] or (line.count(mark) == below.count(mark) and _known(line, mark) >= _known(below, mark))
        )  # fmt: skip
        if header_at != at:
            notes = (f"comments before line {header_at} are not read",)
            first = [(n, line) for n, line in first if n >= header_at]
    mark = _best_delimiter(usual_delimiter, [line for _, line in first])
    return TableLayout(
        mark, first[0][0], (*notes, *([] if mark == usual_delimiter else [f"delimiter: {_MARKS[mark]}"]))
    )


def _known(line: str, mark: str) -> int:
    """Return the number of fields that have the usual name of a column."""
    return len(roles_of(without_end(line).split(mark)))


def _best_delimiter(usual_delimiter: str, lines: Sequence[str]) -> str:
    """Return the delimiter of lines that begin with a header."""
    marks = [mark for mark in dict.fromkeys((usual_delimiter, "\t", ",", ";")) if mark in lines[0]]
    if not marks:  # one column, or a title above a table
        below = {mark: _field_counts(lines[1:], mark) for mark in _MARKS}
        return next((m for m, n in below.items() if len(n) > 1 and len(set(n)) == 1 and n[0] > 2), usual_delimiter)
    usual, counts = marks[0], {mark: _field_counts(lines, mark) for mark in marks}
    even = [mark for mark, n in counts.items() if len(n) > 1 and len(set(n)) == 1]
    rows = counts[usual][1:]
    best = max(even, key=lambda mark: counts[mark][0], default=usual)
    most_fit = rows and 2 * sum(n == counts[usual][0] for n in rows) >= len(rows)
    if usual not in even and most_fit and counts[best][0] <= counts[usual][0]:
        return usual  # the other rows are problems
    return best


def columns_in(lines: Sequence[str]) -> list[str]:
    """Return the names of the columns if these are the first lines of a table: two usual names, and as many fields in every record."""
    for mark in _MARKS:
        names = without_end(lines[0]).split(mark)
        known = len(roles_of(names)) + any(map(is_reference_name, names)) if len(names) > 1 else 0
        counts = _field_counts(lines, mark) if known > 1 else []
        if len(counts) > 1 and set(counts) == {len(names)}:
            return names
    return []


def _field_counts(lines: Sequence[str], mark: str) -> list[int]:
    """Return the number of fields of each record up to a fault in its quotes."""
    plain = [line.count(mark) + 1 for line in lines]
    if mark == "\t" and len(set(plain)) == 1:
        return plain
    counts = list[int]()
    try:
        for fields in csv.reader(_CsvLines(lines).each(), delimiter=mark, strict=True):
            counts.append(len(fields))
    except csv.Error:
        pass
    return counts


def header_of(name: str, lines: Iterable[str]) -> list[str]:
    """Return the names of the columns of a CSV or TSV whose first lines these are; [] if its quotes have a fault."""
    first = list(islice(lines, HEAD))
    layout = layout_of(name, first)
    try:
        return next(csv.reader(first[layout.header - 1 :], delimiter=layout.delimiter, strict=True), [])
    except csv.Error:
        return []


def _delimited(file: Upload, text: CheckedText, reading: TableReading, limit: int | None) -> Iterator[TableRow]:
    """Yield the rows of a CSV or TSV; `reading` receives its columns and notes."""
    name, all_lines = file.name, text.lines()
    first_lines = list(_first_lines(all_lines))
    layout = layout_of(name, first_lines)
    reading.notes += layout.notes
    delimiter, before = layout.delimiter, layout.header - 1
    lines = islice(chain(first_lines, all_lines), before, None)
    problems, broken = Collector(), Collector()
    tabs = _TabRecords(file, lines, broken, before) if delimiter == "\t" else None
    read = tabs.each() if tabs else quoted_records(name, lines, delimiter, broken, before)
    records = dropwhile(lambda record: record[1] == [] or (tabs is not None and record[1] == [""]), read)
    first = list(islice(records, HEAD))
    line, fields = first[0] if first else (1, [])
    if not first:
        problems.extend(broken.closed())
    Meter(name).columns(line, len(fields))
    reading.columns[:] = columns = _column_names(name, line, fields, problems)
    _refuse_no_header(name, line, fields, first[1:], problems)
    if len(fields) > 1 and all(len(field) > 1 and field[0] + field[-1] in _OTHER_QUOTES for field in fields):
        again = 'Save the table again with " as the text delimiter'
        problems.add(name, line, "", f"names of columns in {fields[0][0]}{fields[0][-1]}", 'texts in " "', again)
    problems.check()
    width, header = len(columns), fields if len(columns) > 1 else None
    wider = _one_wider(first[1:], width)
    if wider:
        got = f"{format_count(width, 'field')} in the header"
        beyond = "Remove lines above the header, name every column, or put texts with the delimiter in quotes"
        problems.add(name, line, "", got, f"{wider}, as the rows have", beyond)
        problems.check()
    count = Meter(name).row
    in_quotes = f"Put texts with a {_MARKS.get(delimiter, shown(delimiter))}, a quote or a line break in double quotes"

    def rows() -> Iterator[TableRow]:
        for line, fields in chain(first[1:], records):
            count(line, len(fields))
            if fields == header:
                again = "Remove the line; files put together each bring their header"
                problems.add(name, line, "", "the header again", "a row", again)
            elif len(fields) == width:
                yield TableRow(line, tuple(fields))
            elif fields and fields != [""]:
                todo = "Remove tabs from the texts" if tabs and not tabs.quoted else in_quotes
                problems.add(name, line, "", format_count(len(fields), "field"), f"{width}, as the header has", todo)
            elif width == 1:
                yield TableRow(line, ("",))

    yield from islice(rows(), limit)
    problems.extend(broken.closed())
    problems.check()


def _one_wider(records: Iterable[tuple[int, Sequence[str]]], width: int) -> int:
    """Return the number of fields of the first rows if all have the same, and more than the header; else 0."""
    counts = [len(fields) for _, fields in records if fields and list(fields) != [""]]
    return counts[0] if len(counts) > 1 and len(set(counts)) == 1 and counts[0] > width else 0


def _refuse_no_header(
    name: str, line: int, fields: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]], problems: Collector
) -> None:
    """Add a problem if most fields of the first line are empty but not those of the next row, as in a title above a table."""
    empty = sum(not field.strip() for field in fields)
    below = sum(not field.strip() for field in rows[0][1]) if rows else empty
    if empty > 1 and 2 * empty > len(fields) and below < empty:
        got = f"a first line with {empty} of {len(fields)} fields empty"
        problems.add(
            name, line, "", got, "the names of the columns", "Remove lines above the header, or name the columns"
        )


def _column_names(name: str, line: int, fields: Sequence[str], problems: Collector) -> tuple[str, ...]:
    first: dict[str, int] = {}
    columns = [field or f"column {i}" for i, field in enumerate(fields, start=1)]
    for i, column in enumerate(columns, start=1):
        if column in first:
            got = f"the name twice, in columns {first[column]} and {i}"
            todo = "Rename one of them, and write the names in one line if they are in several"
            problems.add(name, line, column, got, "unique column names", todo)
        first.setdefault(column, i)
    if any("\r" in column for column in columns):
        raise refuse_cr_only(name)
    return tuple(columns)


def _first_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines up to `HEAD` of them that are not blank."""
    n = 0
    for line in lines:
        yield line
        n += bool(line.strip())
        if n == HEAD:
            return


class _TabRecords:
    """The records of a TSV, with the line they begin on; `before` lines are above the first one.

    Up to the first quote it makes no difference whether fields may be quoted. Then the file is read once more to find out.
    """

    def __init__(self, file: Upload, lines: Iterator[str], problems: Collector, before: int) -> None:
        self._file, self._lines, self._problems, self._before = file, lines, problems, before
        self.quoted = False

    def each(self) -> Iterator[tuple[int, list[str]]]:
        decided = False
        for at, line in enumerate(self._lines, start=self._before + 1):
            if not decided and '"' in line:
                decided = True
                self.quoted = clearly_quoted(lambda: islice(CheckedText(self._file).lines(), self._before, None))
            if self.quoted:
                lines = chain([line], self._lines)
                yield from quoted_records(self._file.name, lines, "\t", self._problems, at - 1)
                return
            yield at, without_end(line).split("\t")


def quoted_records(
    name: str, lines: Iterable[str], delimiter: str, problems: Collector, before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield records of quoted text with the line they begin on; `before` lines are above the first one. Broken quoting ends the reading
    with a problem."""
    start = before + 1
    records = _CsvLines(lines)
    try:
        reader = csv.reader(records.each(), delimiter=delimiter, strict=True)
        for fields in reader:
            if records.stands_in:
                records.stands_in = False
                fields = [field.replace(_STAND_IN, "\r") for field in fields]
            yield start, fields
            start, records.size = before + reader.line_num + 1, 0
    except csv.Error as error:
        if "field limit" in str(error):
            got = f"a field of more than {load_limits().cell_chars:,} characters, or a quote that is never closed"
        elif "unexpected end" in str(error):
            got = "a quote that is never closed"
        else:
            got = f"broken quoting ({error})"
        todo = "Double each quote inside a quoted text, and put the closing quote right before the delimiter"
        problems.add(name, start, "", got, "balanced quotes", todo)


class _CsvLines:
    """The lines of a file for `csv`, which would end a record at a lone CR. Raises `csv.Error` for too long a record.

    `size` are the characters of the current record so far, `raw` its lines if they are kept.
    """

    def __init__(self, lines: Iterable[str], *, keep: bool = False) -> None:
        self._lines, self._keep, self._longest = lines, keep, load_limits().cell_chars
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
