"""Write scores and labels as CSV and JSON Lines.

Spreadsheets run text cells that begin like a formula, so `core.formats.parsing.cells.safe_cell` puts an apostrophe before such texts;
`read_export` removes it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from core.data import Score
from core.formats.files import Upload
from core.formats.parsing.cells import FileTable, safe_cell
from core.formats.table import read_table

SCORE_COLUMNS = ("system", "doc_id", "segment_id", "metric", "signature", "score", "status", "reason")
SPREADSHEET = codecs.BOM_UTF8
"""Begins every CSV file that is downloaded: spreadsheets then read it as UTF-8. Files of commands begin without it."""
_QUOTED = re.compile(r'[",;\t\r\n]|^\s|\s$')


class LabelRow(NamedTuple):
    """One error span, or one verdict (with empty span columns), of one rater on one output.

    `start` and `end` are half-open code points in the output, or in the source if `side` is "source".
    `submitted` is "yes" if the rater submitted the segment and changed nothing since.
    """

    system: str
    doc_id: str
    segment_id: str
    rater: str
    side: str
    start: int | None
    end: int | None
    quote: str
    severity: str
    category: str
    note: str
    verdict: str
    submitted: str


def _field(value: str | float | None) -> str:
    """Return a CSV field: texts escaped and quoted if necessary, numbers in shortest form, nothing for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    text = safe_cell(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> Iterator[str]:
    """Yield the lines of a CSV file (RFC 4180 quoting, `\\n` line ends) that is safe to open in a spreadsheet; numbers stay numbers."""
    yield ",".join(map(_field, columns)) + "\n"
    for row in rows:
        yield ",".join(map(_field, row)) + "\n"


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return the lines of a CSV file as one text."""
    return "".join(csv_lines(columns, rows))


def scores_csv(scores: Iterable[Score]) -> str:
    """Return scores as CSV with the columns `SCORE_COLUMNS`; a missing score is an empty cell with its status and reason."""
    return csv_text(SCORE_COLUMNS, scores)


def scores_jsonl(scores: Iterable[Score]) -> str:
    """Return scores as one JSON object per line with the keys `SCORE_COLUMNS`; a missing score is null."""
    return json_lines(dict(zip(SCORE_COLUMNS, score, strict=True)) for score in scores)


def each_json_line(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one JSON object per line. Raises ValueError for NaN and infinity, which are not JSON."""
    return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)


def json_lines(records: Iterable[Mapping[str, Any]]) -> str:
    """Return one JSON object per line, as one text."""
    return "".join(each_json_line(records))


def json_text(report: Mapping[str, Any]) -> str:
    """Return an indented JSON file. Raises ValueError for NaN and infinity."""
    return json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def aligned(rows: Sequence[Sequence[str]], *, indent: int = 0, numbers: bool = False) -> list[str]:
    """Return the rows as lines with aligned columns; with `numbers`, all but the first column are aligned on the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.ljust, *[str.rjust if numbers else str.ljust] * (len(widths) - 1)]
    return [
        (
            " " * indent + "  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def read_export(upload: Upload, limit: int | None = None) -> FileTable:
    """Read a file that this module wrote, without the apostrophes of `safe_cell` in a CSV. Raises `ImportProblems`."""
    return read_table(upload, limit, "always")
