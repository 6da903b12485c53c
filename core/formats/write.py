"""Writing scores and labels as CSV and JSON Lines.

A spreadsheet runs a text cell that begins like a formula. Every text cell passes through `core.formats.formula.safe_cell`,
which puts an apostrophe before such a text; `read_export` takes it away again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.data import Score
from core.formats.cells import Table
from core.formats.files import Upload
from core.formats.formula import safe_cell, unescaped
from core.formats.table import is_json, read_as_written

SCORE_COLUMNS = ("system", "doc_id", "segment_id", "metric", "signature", "score", "status", "reason")
_QUOTED = re.compile(r'[",;\t\r\n]|^\s|\s$')


class LabelRow(NamedTuple):
    """One mark, or one verdict (then the columns of a mark are empty), of one rater on one output.

    `start` and `end` are half-open code points into the output, or into the source where `side` is "source".
    `submitted` says "yes" once the rater has submitted the segment and changed nothing since.
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
    """Texts safe and quoted where need be; numbers in shortest form; nothing for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    text = safe_cell(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """A CSV file (RFC 4180 quoting, `\\n` line ends) that is safe to open in a spreadsheet; numbers stay numbers."""
    lines = [",".join(map(_field, columns)), *(",".join(map(_field, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def scores_csv(scores: Iterable[Score]) -> str:
    """Scores in the columns `SCORE_COLUMNS`; a score that is missing is an empty cell with its status and reason."""
    return csv_text(SCORE_COLUMNS, scores)


def scores_jsonl(scores: Iterable[Score]) -> str:
    """Scores as one object a line, keys as `SCORE_COLUMNS`, a missing score null; texts as they are."""
    rows = (dict(zip(SCORE_COLUMNS, score, strict=True)) for score in scores)
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def labels_csv(labels: Iterable[LabelRow]) -> str:
    """Labels in the columns of `LabelRow`."""
    return csv_text(LabelRow._fields, labels)


def read_export(upload: Upload, limit: int | None = None) -> Table:
    """Read a file that this module wrote; in a CSV the apostrophes of `safe_cell` are taken away. Raises `ImportProblems`."""
    table = read_as_written(upload, limit)
    return table if is_json(upload.name) else unescaped(table)
