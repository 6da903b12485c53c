"""Read and write Marot's TSV: one row per error, with ten columns, the last a JSON object.

According to its README: `system doc docSegId globalSegId rater source target category severity metadata`, no quoting, with or without a
header; errors between `<v>` and `</v>`; a clean segment is one row `no-error`; rows without rater, category and severity carry texts
only. From the metadata `note` is read, the references in `segment` (`reference_tokens`, or `references`), and, if a row has no `<v>`,
`source_spans` / `target_spans`: pairs of the first and last token, *both inclusive*, of `segment.source_tokens` / `target_tokens`. Older
files have the note instead of the object.

`doc` and `docSegId` name the segment; `globalSegId` may be constant, and is written as the position in the dataset. What the ten cells
cannot store (a tab, a text with `<v>`) is in readable form there and exact in the metadata under `errorscope`. Unrated outputs and
references are stored; human scores are not part of the format.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from core.data import Dataset, RatedOutput, Segment, SegmentKey, Span
from core.errors import PROGRAM, Problem
from core.formats.files import Upload
from core.formats.labels.google_mqm import GoogleMqm, of_rows
from core.formats.labels.google_mqm_reading import (
    MqmRow,
    has_tag,
    is_clean,
    marked,
    metadata_of,
    plain_cells,
    records_of,
    row_of,
    split_rows,
)
from core.formats.labels.label_file import (
    UNSPECIFIED,
    LabelFile,
    ProjectTotals,
    Severities,
    Written,
    checked,
    left_behind,
)
from core.formats.problems import Collector, shown
from core.formatting import format_count

COLUMNS = tuple("system doc docSegId globalSegId rater source target category severity metadata".split())
NO_ERROR = "no-error"
NON_TRANSLATION = "non-translation"


def is_row(cells: Sequence[str]) -> bool:
    """Return whether ten cells are a row of a file without a header: its last cell is an object, or its severity is a known one."""
    *_, severity, metadata = cells
    known = Severities().find(severity) is not None or is_clean(severity)
    return known or (metadata.startswith("{") and metadata.endswith("}"))


def read_marot(upload: Upload, severities: Severities, texts: Dataset | None = None) -> LabelFile:
    """Read the segments, outputs and rated errors of a file, with warnings as for Google's TSV.

    Raises `ImportProblems` for rows of the wrong length, unknown severities, and a file without rows.
    """
    problems, references, unread = Collector(), dict[SegmentKey, tuple[str, ...]](), Counter[str]()
    records, notes = records_of(upload, problems)
    lines = ((number, cells) for number, cells in records if not (cells[:2] == [*COLUMNS[:2]] and "rater" in cells))
    expected = f"{len(COLUMNS)} columns of Marot's format"
    row_of = partial(_row, references, unread)
    parsed = split_rows(upload.name, lines, COLUMNS, len(COLUMNS) - 1, expected, row_of, problems)
    if not parsed.rows and not problems:
        problems.add(upload.name, 0, "", "no rows", "one row per error", "Check that the export has finished")
    problems.check()
    mqm = of_rows(parsed._replace(notes=notes), upload.name)
    rated = [_known(r, severities, upload.name, problems, mqm) for r in mqm.rated]
    problems.check()
    dataset = mqm.dataset
    segments = tuple(Segment(*s.key, s.source, references.get(s.key, ())) for s in dataset.segments)
    left_out = (
        Problem(
            upload.name, 0, "metadata", f"{what}, {format_count(n, 'time')}", "notes, references and tokens", "Left out"
        )
        for what, n in (+unread).items()
    )
    return LabelFile(Dataset(segments, dataset.outputs), tuple(rated), (*mqm.warnings, *left_out))


def _row(
    references: dict[SegmentKey, tuple[str, ...]], unread: Counter[str], number: int, cells: Mapping[str, str]
) -> tuple[MqmRow, bool]:
    """Return a row in the form of Google's TSV, and whether its metadata matches its plain cells; add its references, and count scores
    of metrics and corrected translations, which are not read."""
    written = cells.get("metadata", "")
    metadata = metadata_of(written)
    note = written if metadata is None else metadata.get("note")
    metadata = metadata or {}
    comment = note if isinstance(note, str) else ""
    row, fits = row_of(number, {**cells, "seg_id": cells["docSegId"], "comment": comment})
    segment = metadata.get("segment")
    metrics = segment.get("metrics") if isinstance(segment, dict) else None
    unread.update(f"score of the metric {shown(name)}" for name in metrics or () if isinstance(metrics, dict))
    unread["corrected translation"] += bool(metadata.get("corrected_translation"))
    if isinstance(segment, dict) and (texts := _references(segment)):
        references.setdefault(row.segment, texts)
    if not row.exact and not row.clean and row.category and not has_tag(row.target) and not has_tag(row.source or ""):
        row = _by_tokens(row, metadata)
    return row, fits


def _by_tokens(row: MqmRow, said: dict[str, Any]) -> MqmRow:
    """Return the row with the span given by its token indices, if they match its texts."""
    segment = said.get("segment")
    for column, text in (("target", row.target), ("source", row.source or "")):
        tokens = segment.get(f"{column}_tokens") if isinstance(segment, dict) else None
        match said.get(f"{column}_spans"):
            case [[int(first), int(last)], *_] if isinstance(tokens, list) and 0 <= first <= last < len(tokens):
                if all(isinstance(t, str) for t in tokens) and "".join(tokens) == text:
                    start, end = len("".join(tokens[:first])), len("".join(tokens[: last + 1]))
                    with_tags: dict[str, Any] = {column: marked(text, start, end)}
                    return row._replace(**with_tags)
    return row


def _references(segment: dict[str, Any]) -> tuple[str, ...]:
    for name in ("reference_tokens", "references"):
        by_name = segment.get(name)
        if isinstance(by_name, dict):
            texts = (
                "".join(t) if isinstance(t, list) and all(isinstance(p, str) for p in t) else t
                for t in by_name.values()
            )
            return tuple(t for t in texts if isinstance(t, str) and t)
    return ()


def _known(r: RatedOutput, severities: Severities, file: str, problems: Collector, read: GoogleMqm) -> RatedOutput:
    """Return the rating with the severities of this program; an unknown one is a problem, except for non-translations, which need none."""
    errors = []
    for e in r.errors:
        severity = severities.find(e.severity)
        if severity is None and e.category.casefold().startswith(NON_TRANSLATION):
            severity = "Major"
        if severity is None:
            todo = f"Use one of these, or convert the file with --severity NAME=OURS ({PROGRAM} convert)"
            where = f"severity of {shown(r.key.system)}, segment {shown(r.key.segment_id)}"
            problems.add(file, read.lines[r.key, r.rater, e], where, shown(e.severity), "Major, Minor, Neutral", todo)
        else:
            errors.append(Span(e.side, e.start, e.end, e.quote, severity, e.category or UNSPECIFIED, e.note))
    return RatedOutput(r.key, r.rater, tuple(errors))


def write_marot(dataset: Dataset, rated: Iterable[RatedOutput], project: ProjectTotals) -> Written:
    """Write a header, one row per error, one per clean output and one per unrated output; references are written once.

    Raises `UserError` for labels that do not match their texts.
    """
    labels = checked(dataset, rated)
    with_labels = {r.key for r in labels.rated}
    silent = (RatedOutput(o.key, "", ()) for o in dataset.outputs if o.key not in with_labels)
    with_references: set[SegmentKey] = set()
    lines = ["\t".join(COLUMNS)]
    for r in (*labels.rated, *silent):
        segment = labels.segments[r.key.segment]
        for error in r.errors or (None,):
            metadata: dict[str, Any] = {"note": error.note, "marked_text": error.quote} if error else {}
            if segment.references and segment.key not in with_references:
                with_references.add(segment.key)
                names = {f"ref{i}": [text] for i, text in enumerate(segment.references, start=1)}
                metadata["segment"] = {"reference_tokens": names, "primary_reference": "ref1"}
            lines.append(_line(r, error, segment.source, labels.texts[r.key], labels.place[segment.key] + 1, metadata))
    lost = left_behind(project, labels.rated, unrated=False, references=False)
    if empty := len({s.key for s in dataset.segments} - {o.key.segment for o in dataset.outputs}):
        lost.append(f"Left out: {format_count(empty, 'segment')} without any output.")
    return Written(("\n".join(lines) + "\n",), tuple(lost))


def _line(
    r: RatedOutput, error: Span | None, source: str | None, text: str, place: int, metadata: dict[str, Any]
) -> str:
    """Return a row; what its plain cells cannot store is exact under `errorscope` in the metadata."""
    clean = NO_ERROR if r.rater else ""
    category, severity = (error.category, error.severity) if error else (clean, clean)
    exact = {
        "system": r.key.system, "doc": r.key.doc_id, "seg_id": r.key.segment_id, "place": str(place), "rater": r.rater,
        "source": source, "target": text, "category": category, "severity": severity,
    }  # fmt: skip
    cells, kept = plain_cells(exact, error)
    return "\t".join([*cells, json.dumps(metadata | ({"errorscope": kept} if kept else {}))])
