"""Read the rows of a Google MQM TSV, with the plain texts, spans and exact values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from core.data import OutputKey, SegmentKey, Side, Span
from core.formats.columns import is_google_mqm
from core.formats.files import Upload, raw_lines, without_end
from core.formats.labels.record_texts import described
from core.formats.parsing.cells import Meter
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.problems import Collector, refused
from core.formats.streams.opened import text_bytes
from core.formats.table import TableLayout, clearly_quoted, header_of, layout_of, quoted_records
from core.formatting import format_count

TAG = re.compile(r"</?v>", re.IGNORECASE)
BREAKING = re.compile("[\x00\t\n\r\ud800-\udfff]")
"""Characters that plain cells cannot contain."""
MOST_TAGS = 20


class MarkedCell(NamedTuple):
    """A text cell. If `literal`, the row has no span here, so any `<v>` belongs to the text. If `exact`, the text comes from the
    metadata."""

    shown: str
    literal: bool = False
    exact: bool = False


class MarkedRange(NamedTuple):
    """The position of a span in code points of the plain text; `odd` describes an irregularity."""

    start: int
    end: int
    odd: str = ""


def bare(shown: str) -> str:
    return TAG.sub("", shown)


def has_tag(shown: str) -> bool:
    return TAG.search(shown) is not None


def marked(text: str, start: int, end: int) -> str:
    return f"{text[:start]}<v>{text[start:end]}</v>{text[end:]}"


def readable(cell: str) -> str:
    """Return the cell on one line without tabs, for other tools."""
    return BREAKING.sub(lambda m: " " if m[0] in "\t\n\r\0" else "\ufffd", cell)


def plain_text(cells: Sequence[MarkedCell]) -> str:
    """Return the plain text of the rows of one output (or one source), each with or without a span.

    A row without a span decides. Otherwise the tags are removed. If a row has more than one pair of tags, one pair per row is removed
    such that the rows agree, if possible. In doubt the majority wins.
    """
    for trusted in ([c.shown for c in cells if c.exact], [c.shown for c in cells if c.literal]):
        if trusted:
            return Counter(trusted).most_common(1)[0][0]
    shown = list(dict.fromkeys(c.shown for c in cells))
    if len(shown) > 1 and any(len(TAG.findall(s)) > 2 for s in shown):
        common = set.intersection(*({text for text, _ in _one_pair_out(s)} for s in shown))
        if common:
            return min(common, key=lambda t: (len(TAG.findall(t)), t))
    return Counter(bare(c.shown) for c in cells).most_common(1)[0][0]


def place(shown: str, text: str) -> MarkedRange | None:
    """Return the span in `text` that `shown` marks; None if there is none or `shown` has another text."""
    if shown == text:
        return None
    for left, where in _one_pair_out(shown):
        if left == text:
            return where
    tags = list(TAG.finditer(shown))
    for tag in tags[:MOST_TAGS]:
        if shown[: tag.start()] + shown[tag.end() :] == text:
            if tag[0].startswith("</"):
                return MarkedRange(0, tag.start(), "a </v> without its <v>")
            return MarkedRange(tag.start(), len(text), "a <v> without its </v>")
    if tags and bare(shown) == text:
        start, end = (len(bare(shown[: tag.start()])) for tag in (tags[0], tags[-1]))
        return MarkedRange(start, end, "several marks in one row")
    return None


def nearest(shown: str, text: str) -> MarkedRange | None:
    """Return the occurrence in `text` of the marked words of a row with another text, the one nearest to the mark; None if there is none."""
    tags = list(TAG.finditer(shown))
    if not tags:
        return None
    start = len(bare(shown[: tags[0].start()]))
    words = bare(shown[tags[0].end() : tags[-1].start()]) if len(tags) > 1 else ""
    occurrences = [m.start() for m in re.finditer(re.escape(words), text)] if words else []
    if not occurrences:
        return None
    at = min(occurrences, key=lambda i: abs(i - start))
    return MarkedRange(at, at + len(words))


def _one_pair_out(shown: str) -> list[tuple[str, MarkedRange]]:
    """Return every text that results from removing one `<v>` and a later `</v>`, with the span between them."""
    tags = list(TAG.finditer(shown))[:MOST_TAGS]
    candidates = []
    for i, opening in enumerate(tags):
        for closing in tags[i + 1 :]:
            if closing[0].startswith("</") and not opening[0].startswith("</"):
                words = shown[opening.end() : closing.start()]
                left = shown[: opening.start()] + words + shown[closing.end() :]
                candidates.append((left, MarkedRange(opening.start(), opening.start() + len(words))))
    return candidates


REQUIRED = ("system", "doc", "seg_id", "rater", "source", "target", "category", "severity")
OPTIONAL = ("doc_id", "comment", "metadata")
WHOLE = "texts of whole characters"
ATTENTION_CHECK = "hotw-test"
"""Anthea shows an altered output ("hands on the wheel") and records whether the rater found it; the rating is that of the output itself."""
ALIASES = {"docsegid": "doc_id", "globalsegid": "seg_id", "note": "comment"}


class MqmRow(NamedTuple):
    """One row. If `exact`, `source` and `target` are plain texts and `span` the position, from the metadata; otherwise the texts still
    contain `<v>` and `</v>`. `source` is None if the cell is empty."""

    line: int
    system: str
    doc: str
    seg_id: str
    rater: str
    source: str | None
    target: str
    category: str
    severity: str
    comment: str
    exact: bool = False
    span: tuple[Side, int, int] | None = None

    @property
    def segment(self) -> SegmentKey:
        return SegmentKey(self.doc, self.seg_id)

    @property
    def key(self) -> OutputKey:
        return OutputKey(self.system, self.doc, self.seg_id)

    @property
    def clean(self) -> bool:
        return self.span is None and is_clean(self.category)

    @property
    def check(self) -> bool:
        """Return whether the row is the result of an attention check, for which the format reserves the severity HOTW-test."""
        return self.severity.strip().casefold() == ATTENTION_CHECK


def is_clean(name: str) -> bool:
    """Return whether a category or severity means no error, in any spelling ("No-error", "no error")."""
    return "".join(filter(str.isalnum, name.casefold())) == "noerror"


class MqmRows(NamedTuple):
    """All rows, those whose metadata does not match their plain columns, and what is unusual in the layout of the file."""

    rows: list[MqmRow]
    stale: list[MqmRow]
    notes: tuple[str, ...] = ()


class _Records(NamedTuple):
    """The cells of each line with its number, and what is unusual in the layout of the file."""

    lines: Iterator[tuple[int, list[str]]]
    notes: tuple[str, ...]


def records_of(upload: Upload, problems: Collector) -> _Records:
    """Return the cells of a file: separated by tabs and without quoting, unless the whole file is quoted, or has Google's columns with
    another delimiter, as spreadsheets and pandas save it. Raises `ImportProblems` as `numbered_lines`."""
    data = text_bytes(upload)
    layout = TableLayout("\t", 1)
    if "\t" not in next(raw_lines(data)):
        other = layout_of(upload.name, raw_lines(data))
        layout = other if is_google_mqm(header_of(upload.name, raw_lines(data))) else layout
    tabs, before = layout.delimiter == "\t", layout.header - 1
    quoted = tabs and b'"' in data and clearly_quoted(lambda: raw_lines(data))
    lines = islice(raw_lines(data), before, None)
    cells: Iterator[tuple[int, list[str]]]
    if tabs and not quoted:
        cells = ((number, without_end(line).split("\t")) for number, line in enumerate(lines, start=1))
    else:
        cells = quoted_records(upload.name, lines, layout.delimiter, problems, before)
    notes = ("cells in quotes, which are not read",) if quoted else layout.notes
    return _Records(_metered(upload.name, cells), notes)


def _metered(file: str, records: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    meter = Meter(file)
    for number, cells in records:
        meter.row(number)
        yield number, cells


def rows_of(data: bytes, file: str) -> MqmRows:
    """Return the rows of a file with a header. Raises `ImportProblems`."""
    upload, problems = Upload(file, data), Collector()
    records, notes = records_of(upload, problems)
    header = next(records, (1, [""]))[1]
    problems.check()
    names = [ALIASES.get(n.strip().lower(), n.strip().lower()) for n in header]
    Meter(file).columns(1, len(names))
    missing = [n for n in REQUIRED if n not in names]
    if 2 * len(missing) > len(REQUIRED):
        form = described(upload)
        raise refused(
            file, 1, form.got, f"Google’s columns ({', '.join(REQUIRED)}), or another format of labels", form.todo
        )
    for name in missing:
        todo = "Add the column, or choose a file in Google's MQM form"
        problems.add(file, 1, name, "no such column", "\t".join(REQUIRED), todo)
    for name in (n for n in (*REQUIRED, *OPTIONAL) if names.count(n) > 1):
        problems.add(file, 1, name, "the column twice", "once", "Remove one")
    problems.check()
    least = max(names.index(n) for n in REQUIRED) + 1
    file_rows = split_rows(file, records, names, least, f"{len(names)}", row_of, problems)
    if not file_rows.rows and not problems:
        problems.add(file, 0, "", "a header without rows", "one row per error", "Choose another file")
    problems.check()
    return file_rows._replace(notes=notes)


def split_rows(
    file: str, records: Iterable[tuple[int, list[str]]], names: Sequence[str], least: int, expected: str,
    row_of: Callable[[int, dict[str, str]], tuple[MqmRow, bool]], problems: Collector,
) -> MqmRows:  # fmt: skip
    """Return the rows in the records that are not empty; `row_of` gets the cells by name, of which at least `least` must be there."""
    rows, stale = [], []
    memo: dict[str, str] = {}
    for number, cells in records:
        if not cells or cells == [""]:
            continue
        if not least <= len(cells) <= len(names):
            todo = "Correct the row: cells cannot contain tabs"
            problems.add(file, number, "", format_count(len(cells), "cell"), expected, todo)
            continue
        try:
            row, fits = row_of(number, dict(zip(names, map(memo.setdefault, cells, cells), strict=False)))
        except NotJson as error:
            problems.add(file, number, "metadata", str(error), WHOLE, "Remove it from the row")
            continue
        rows.append(row)
        stale += [] if fits else [row]
    return MqmRows(rows, stale)


def row_of(number: int, cells: dict[str, str]) -> tuple[MqmRow, bool]:
    """Return the row, and whether its metadata (if this program wrote any) matches its plain columns.

    Raises `NotJson` for metadata with a text that no file or database can store.
    """
    texts: dict[str, Any] = {name: cells[name] for name in REQUIRED}
    row = MqmRow(number, **texts | {"source": cells["source"] or None, "comment": cells.get("comment", "")})
    metadata = metadata_of(cells.get("metadata") or "") or {}
    if "errorscope" not in metadata:
        return row, True
    exact = _exact(row, metadata["errorscope"])
    return exact or row, exact is not None


def metadata_of(cell: str) -> dict[str, Any] | None:
    """Return the object in a metadata cell; None if it is something else (a note).

    Raises `NotJson` for a text that no file or database can store.
    """
    try:
        value = parsed(cell)
    except NotJson as error:
        if error.unstorable:
            raise
        return None
    return value if isinstance(value, dict) else None


def _exact(row: MqmRow, kept: object) -> MqmRow | None:
    """Return the row with the exact values of `kept`; None if these do not match its plain columns."""
    if not isinstance(kept, dict) or not isinstance(kept.get("cells"), dict):
        return None
    fields = (*REQUIRED, "comment")
    values = {c: v for c, v in kept["cells"].items() if c in fields}
    if any(not isinstance(v, str) and not (c == "source" and v is None) for c, v in values.items()):
        return None
    if not {"source", "target"} <= values.keys():
        return None
    exact = row._replace(exact=True, **values)
    texts = exact._asdict()
    match kept.get("span"):
        case None:
            pass
        case ["output" | "source" as side, int(start), int(end)]:
            text = texts[column_of(side)] or ""
            if not 0 <= start <= end <= len(text):
                return None
            exact = exact._replace(span=(side, start, end))
            texts[column_of(side)] = marked(text, start, end)
        case _:
            return None
    plain = row._asdict()
    return exact if all(readable(texts[c] or "") == readable(plain[c] or "") for c in fields) else None


def column_of(side: Side) -> str:
    return "target" if side == "output" else side


def plain_cells(
    exact: Mapping[str, str | None], error: Span | None, *, always: bool = False
) -> tuple[list[str], dict[str, Any] | None]:
    """Return the readable cells of a row with its error, and what the metadata must store; None if the cells are exact, unless `always`."""
    cells = {name: text or "" for name, text in exact.items()}
    if error is not None:
        column = column_of(error.side)
        cells[column] = marked(cells[column], error.start, error.end)
    hidden = [name for name, text in exact.items() if BREAKING.search(text or "")]
    hidden += [name for name in ("source", "target") if has_tag(exact[name] or "") and name not in hidden]
    kept = None
    if always or hidden or exact["source"] == "" or (error and is_clean(error.category)):
        kept = {
            "cells": {name: exact[name] for name in dict.fromkeys(["source", "target", *hidden])},
            "span": [error.side, error.start, error.end] if error else None,
        }
    return [readable(text) for text in cells.values()], kept
