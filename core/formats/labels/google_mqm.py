"""Read and write Google's MQM TSV, as released for WMT: one row per error, with the error between `<v>` and `</v>`.

Columns: `system doc doc_id seg_id rater source target category severity comment`; Marot's names `docSegId`,
`globalSegId` and `metadata` are read too. `doc` and `seg_id` name the segment; `doc_id` is only its place in the
document. There is no quoting: cells are separated by tabs, lines end at `\\n` or `\\r\\n`. A file that a spreadsheet or pandas has saved
with quotes, or with commas, is read with a warning.

What the plain form cannot store (a tab or line break in a cell, a text with `<v>`, an empty source) is written in readable form in the
plain columns and exactly in an additional column `metadata`, as JSON:
`{"errorscope": {"cells": {"target": …}, "span": ["output", 4, 9]}}`. The column is written only if some row needs it, so that ordinary
files have exactly Google's form. If a row was edited by hand, its plain columns are read instead of its metadata. References are rated
like systems and stay systems. Unrated outputs are not part of the format. Rows of severity `HOTW-test` are attention checks, not errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from core.data import (
    SEVERITIES,
    Dataset,
    Output,
    OutputKey,
    RatedOutput,
    Segment,
    SegmentKey,
    Side,
    Span,
    distinct_errors,
    grouped,
)
from core.errors import Problem
from core.formats.labels.google_mqm_reading import (
    MarkedCell,
    MarkedRange,
    MqmRow,
    MqmRows,
    column_of,
    has_tag,
    is_clean,
    nearest,
    place,
    plain_cells,
    plain_text,
    rows_of,
)
from core.formats.labels.label_file import checked, repeated_errors
from core.formats.problems import Collector
from core.formats.table import clearly_quoted
from core.formatting import format_count

COLUMNS = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity", "comment")
NO_ERROR = "No-error"
_SEVERITY = {s.lower(): s for s in SEVERITIES}


@dataclass(frozen=True, slots=True)
class GoogleMqm:
    """The texts, rated errors and warnings of a file."""

    dataset: Dataset
    rated: tuple[RatedOutput, ...]
    warnings: tuple[Problem, ...] = ()
    lines: Mapping[tuple[OutputKey, str, Span], int] = field(default_factory=dict)
    """The first line of every error, by output and rater."""


Oddity = tuple[int, str, str, str, str]
"""A warning without its file: line, column, what was found and expected, and what was done."""


def read_google_mqm(data: bytes, file: str = "MQM TSV") -> GoogleMqm:
    """Read the segments, outputs and rated errors of a file (plain or gzip, with or without BOM).

    Irregularities of real files (no `</v>`, no `<v>`, several spans in a row, a text that differs between rows) become warnings, and the
    error is kept. Exact duplicates of an error count once. Raises `ImportProblems` if the file does not have this format.
    """
    return of_rows(rows_of(data, file), file)


def of_rows(read_there: MqmRows, file: str) -> GoogleMqm:
    """Combine the rows of a file. Raises `ImportProblems` for ratings without a rater."""
    rows, problems = read_there.rows, Collector()
    differs = ("metadata", "values that differ from the plain columns", "the same", "The plain columns are used")
    expected, done = "cells between tabs, without quoting", "Read all the same"
    odd: list[Oddity] = [(1, "", note, expected, done) for note in read_there.notes]
    odd += [(row.line, *differs) for row in read_there.stale]
    by_segment = grouped((row.segment, row) for row in rows)
    by_output = grouped((row.key, row) for row in rows)
    sources = {
        s: plain_text([MarkedCell(r.source or "", r.clean or not has_tag(r.source or ""), r.exact) for r in of])
        for s, of in by_segment.items()
    }
    targets = {k: plain_text([MarkedCell(r.target, r.clean, r.exact) for r in of]) for k, of in by_output.items()}
    errors: dict[tuple[OutputKey, str], list[Span]] = {}
    lines: dict[tuple[OutputKey, str, Span], int] = {}
    checks = [row for row in rows if row.check]
    for row in rows:
        if row.check or (not row.rater and not row.category):
            continue  # Marot keeps references and metrics in rows without a rater
        if not row.rater:
            problems.add(file, row.line, "rater", "no rater", "the name of the rater", "Name the rater")
            continue
        of_rating = errors.setdefault((row.key, row.rater), [])
        if row.clean:
            if row.severity and not is_clean(row.severity) and row.severity.lower() != "neutral":
                odd.append((row.line, "severity", repr(row.severity), NO_ERROR, "Read as no error"))
        else:
            of_rating.append(_error(row, sources[row.segment], targets[row.key], odd))
            lines.setdefault((row.key, row.rater, of_rating[-1]), row.line)
    problems.check()
    both = ("category", "No-error beside errors of the same rater", "one or the other", "The errors are kept")
    odd += [(row.line, *both) for row in rows if row.clean and errors.get((row.key, row.rater))]
    if checks:
        only = len({(row.key, row.rater) for row in checks} - errors.keys())
        done = "They are no errors" + (
            f", and no rating: {format_count(only, 'output')} of a rater without other rows" if only else ""
        )
        what = format_count(len(checks), "attention check (HOTW-test)", "attention checks (HOTW-test)")
        odd.append((checks[0].line, "severity", what, "Major, Minor or Neutral", done))
    order = {segment: i for i, segment in enumerate(by_segment)}
    dataset = Dataset(
        tuple(
            Segment(*s, sources[s] if any(r.source is not None for r in of) else None) for s, of in by_segment.items()
        ),
        tuple(Output(*key, targets[key]) for key in sorted(targets, key=lambda k: order[k.segment])),
    )
    rated = tuple(RatedOutput(key, rater, distinct_errors(spans)) for (key, rater), spans in errors.items())
    again = repeated_errors(file, sum(map(len, errors.values())) - sum(len(r.errors) for r in rated))
    return GoogleMqm(dataset, rated, (*(Problem(file, *oddity) for oddity in odd), *again), lines)


def _error(row: MqmRow, source: str, target: str, odd: list[Oddity]) -> Span:
    """Return the error of a row; at offset 0 of the output if its position cannot be found."""
    if row.span is not None:
        side, start, end = row.span
        return _span(row, side, source if side == "source" else target, MarkedRange(start, end))
    sides: list[tuple[Side, str, str]] = [("output", row.target, target), ("source", row.source or "", source)]
    for side, shown, text in sides:
        column, where = column_of(side), place(shown, text)
        if where is None and shown != text:
            where = nearest(shown, text)
            done = "The span was placed on the same words" if where else "The error is kept without its position"
            got = "a text that differs from the other rows"
            odd.append((row.line, column, got, "the same text in every row", done))
        if where is None:
            continue
        if where.odd:
            odd.append((row.line, column, where.odd, "one <v>…</v>", f"Read as [{where.start}, {where.end})"))
        if side == "output" and place(row.source or "", source):
            got, done = "error spans in source and target", "The span in the target is kept"
            odd.append((row.line, "source", got, "one span", done))
        return _span(row, side, text, where)
    expected, done = "<v>…</v> in target or source", "The error is kept without its position"
    odd.append((row.line, "target", "an error without a span", expected, done))
    return _span(row, "output", target, MarkedRange(0, 0))


def _span(row: MqmRow, side: Side, text: str, at: MarkedRange) -> Span:
    severity = _SEVERITY.get(row.severity.strip().lower(), row.severity)
    return Span(side, at.start, at.end, text[at.start : at.end], severity, row.category, row.comment)


def write_google_mqm(dataset: Dataset, rated: Iterable[RatedOutput]) -> str:
    """Write the ratings, with those of one rater on one output merged: one row per error, one No-error row for a clean output.

    Cells are not escaped, even if they begin with "=": import the file as text, since a spreadsheet may run them as formulas.
    Raises `UserError` for a rated output that is not in `dataset`, or a span that does not match its text.
    """
    labels = checked(dataset, rated)
    position: dict[SegmentKey, int] = {}
    in_document: dict[str, int] = {}
    for s in dataset.segments:
        position[s.key] = in_document[s.doc_id] = in_document.get(s.doc_id, 0) + 1
    rows = [
        (r, error, labels.segments[r.key.segment].source, labels.texts[r.key], position[r.key.segment])
        for r in labels.rated
        for error in r.errors or (None,)
    ]
    written = _table([_line(*row) for row in rows])
    if '"' in written and clearly_quoted(lambda: written.splitlines(keepends=True)):
        # Cells with the quotes of names would be read as quoted cells. No writer that quotes cells writes metadata as they are here.
        written = _table([_line(*row, with_metadata=True) for row in rows])
    return written


def _table(lines: Sequence[tuple[list[str], str]]) -> str:
    with_metadata = any(extra for _, extra in lines)
    header = [*COLUMNS, *(["metadata"] if with_metadata else [])]
    body = [[*cells, *([extra] if with_metadata else [])] for cells, extra in lines]
    return "".join("\t".join(cells) + "\n" for cells in [header, *body])


def _line(
    r: RatedOutput, error: Span | None, source: str | None, target: str, position: int, *, with_metadata: bool = False
) -> tuple[list[str], str]:
    """Return the plain cells of a row, and its metadata ("" if the plain cells are exact, unless it is always wanted)."""
    labels = (error.category, error.severity, error.note) if error else (NO_ERROR, NO_ERROR, "")
    texts = (r.key.system, r.key.doc_id, str(position), r.key.segment_id, r.rater, source, target, *labels)
    cells, kept = plain_cells(dict(zip(COLUMNS, texts, strict=True)), error, always=with_metadata)
    return cells, json.dumps({"errorscope": kept}) if kept else ""
