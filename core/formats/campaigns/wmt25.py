"""Read and write the ratings of WMT25: the compiled scores, and the error spans of the second metrics task.

Read and write the compiled ratings of WMT25: JSON Lines, one segment per line.
`doc_id`, `src_text`, `tgt_text` (text by system) and `scores`: by system `human1`, `errors1`, `annotator1`, then `human2`, … (or without
a number). `start_i` and `end_i` are the first and last UTF-16 unit, and `<br>` counts as one. A `doc_id` of four parts joined by `_#_`
ends with the segment; otherwise segments are counted from 0 within their document.

Read and write the error spans of WMT25's second metrics task: TSV, one rated output per row.
Columns: `doc_id segment_id source_lang target_lang set_id system_id source_segment hypothesis_segment reference_segment domain_name
method start_indices end_indices error_types`. The last three are lists separated by blanks; `error_types` are severities. An output
without errors has -1, -1 and `no-error`; an omission has `missing` as start and end. Offsets count code points of the cell, in which a
line break is written as the two characters \\n. The scorer of the task takes the end as exclusive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from core.data import SEVERITIES, OutputKey, SegmentKey, Span, grouped
from core.formats.campaigns.appraise import ListedRating, add_ratings
from core.formats.campaigns.campaign_file import (
    CampaignFile,
    CampaignRating,
    CampaignReading,
    Identity,
    OddSpan,
    checked_campaign,
    lost_parts,
    odd_span,
    raw_spans,
)
from core.formats.campaigns.span_json import (
    APPRAISE,
    BACKWARDS,
    LONGEST_OFFSET,
    NO_OFFSETS,
    OUTSIDE,
    SpanText,
    read_severity,
    write_span,
)
from core.formats.files import Upload
from core.formats.labels.annotator_answers import EXACT, OMISSION
from core.formats.labels.label_file import UNSPECIFIED, Written, sentences_left_out
from core.formats.parsing.cells import Cell
from core.formats.parsing.json_records import Record, records
from core.formats.problems import shown
from core.formats.table import read_table
from core.formats.write import json_lines
from core.formatting import format_count

_FIELD = re.compile(r"(human|errors|annotator)(\d*)")
_JOINT = "_#_"
_PARTS = 4


def read_wmt25(upload: Upload) -> CampaignFile:
    """Read the texts and ratings. Raises `ImportProblems` with every line that cannot be read."""
    reading = CampaignReading(upload.name, APPRAISE)
    seen: Counter[str] = Counter()
    listed: list[ListedRating] = []
    unnamed = 0
    for record in records(upload, reading.problems):
        document, outputs = record.text("doc_id"), record.record("tgt_text")
        scores = record.record("scores", needed=False)
        if document is None or outputs is None:
            continue
        segment = _segment(record, document, seen)
        seen[document] += 1
        source = record.text("src_text", needed=False)
        for system in outputs.values:
            text = outputs.text(system, needed=False)
            if text is not None:
                reading.add_texts(record.line, OutputKey(system, *segment), source, text)
        for system in scores.values if scores else ():
            of_system = scores.record(system) if scores else None
            if of_system is not None:
                unnamed += _ratings(reading, of_system, OutputKey(system, *segment), listed)
    add_ratings(reading, listed)
    if unnamed:
        reading.warn(0, "annotator", f"{unnamed:,} ratings without an annotator", "annotator1, annotator2, …",
                   "Read as annotators “1”, “2”, … of each output")  # fmt: skip
    return reading.done()


def _segment(record: Record, document: str, seen: Counter[str]) -> SegmentKey:
    kept = record.values.get(EXACT)
    if isinstance(kept, dict) and isinstance(kept.get("segment_id"), str):
        return SegmentKey(document, kept["segment_id"])
    if document.count(_JOINT) >= _PARTS - 1:
        return SegmentKey(*document.rsplit(_JOINT, 1))
    return SegmentKey(document, str(seen[document]))


def _ratings(reading: CampaignReading, record: Record, key: OutputKey, listed: list[ListedRating]) -> int:
    """Add the ratings of one output to `listed`, and return how many have no annotator."""
    fields = grouped((m[2], m[1]) for m in map(_FIELD.fullmatch, record.values) if m)
    clean = record.values.get(EXACT)
    for name, value in record.values.items():
        if value is not None and name != EXACT and not _FIELD.fullmatch(name):
            reading.unread(record.line, f"field {shown(name)} of a system", rating=True)
    unnamed = 0
    for number, names in fields.items():
        score = record.number(f"human{number}") if "human" in names else None
        values = record.values.get(f"errors{number}")
        if score is None and values is None:
            continue
        if values is not None and not isinstance(values, list):
            record.problem(f"errors{number}", shown(str(values)), "a list of error spans")
            continue
        if reading.output(key) is None:
            record.problem("", f"a rating of {shown(key.system)}", "a system of tgt_text", "Add its text")
            continue
        rater = record.text(f"annotator{number}", needed=False)
        unnamed += rater is None
        rating = CampaignRating(rater or number or "1", key, "item", None, score)
        listed.append(ListedRating(record.line, rating, values, isinstance(clean, list) and number in clean))
    return unnamed


def write_wmt25(file: CampaignFile) -> Written:
    """Return one line per segment. Raises `UserError` for a rating whose output or spans do not match the texts."""
    checked_campaign(file)
    ratings = grouped((r.key, r) for r in file.ratings if r.kind == "item")
    raw = raw_spans(file)
    lines, seen = [], Counter[str]()
    outputs = file.dataset.outputs_of()
    for s in file.dataset.segments:
        scores: dict[str, dict[str, Any]] = {}
        for o in outputs[s.key]:
            for n, r in enumerate(ratings.get(o.key, ()), start=1):
                fields = scores.setdefault(o.system, {})
                fields[f"human{n}"] = r.score
                if r.errors is not None:
                    texts = SpanText.of(o.text, s.source, APPRAISE)
                    spans = [write_span(e, texts) for e in r.errors]
                    fields[f"errors{n}"] = [*spans, *raw.get(r.identity, [])]
                    if not fields[f"errors{n}"]:
                        fields[EXACT] = [*fields.get(EXACT, []), str(n)]
                fields[f"annotator{n}"] = r.rater
        line: dict[str, Any] = {
            "doc_id": s.doc_id, "src_text": s.source, "tgt_text": {o.system: o.text for o in outputs[s.key]},
            "scores": scores,
        }  # fmt: skip
        if s.doc_id.count(_JOINT) >= _PARTS - 1 or s.segment_id != str(seen[s.doc_id]):
            line[EXACT] = {"segment_id": s.segment_id}
        seen[s.doc_id] += 1
        lines.append(line)
    empty = sum(r.score is None and r.errors is None for of in ratings.values() for r in of)
    lost = lost_parts(file, raw="start_i", unrated=True)
    lost += sentences_left_out((empty, "rating without score and spans", "ratings without score and spans"))
    return Written((json_lines(lines),), tuple(lost))


COLUMNS = (
    "doc_id", "segment_id", "source_lang", "target_lang", "set_id", "system_id", "source_segment", "hypothesis_segment",
    "reference_segment", "domain_name", "method", "start_indices", "end_indices", "error_types",
)  # fmt: skip
REQUIRED = ("doc_id", "segment_id", "system_id", "hypothesis_segment", "start_indices", "end_indices", "error_types")
NO_ERROR = "no-error"
MISSING = "missing"

_RAW = "start_index"
_QUOTED = re.compile(r'["\t\r\n]')


class _Listed(NamedTuple):
    """One error as listed: start, end and severity."""

    start: str
    end: str
    severity: str


def read_wmt25_spans(upload: Upload) -> CampaignFile:
    """Read the texts and spans; the file names no annotator, so all ratings are those of “annotator”.

    Rows whose last three cells are empty are outputs without a rating. Raises `ImportProblems`.
    """
    reading = CampaignReading(upload.name, APPRAISE)
    table = read_table(upload, escaped="never")
    for name in (n for n in REQUIRED if n not in table.columns):
        reading.problem(1, name, "no such column", " ".join(REQUIRED), "Choose a file of error spans of WMT25’s task 2")
    reading.problems.check()
    empty = 0
    for row in table.rows:
        cells = {name: _text(cell) for name, cell in zip(table.columns, row.cells, strict=True)}
        key = OutputKey(cells["system_id"], cells["doc_id"], cells["segment_id"])
        reference = cells.get("reference_segment")
        reading.add_texts(
            row.line, key, cells.get("source_segment"), cells["hypothesis_segment"], [reference] if reference else []
        )
        listed = _listed(reading, row.line, *(cells[name].split() for name in COLUMNS[-3:]))
        if listed is None:
            continue
        rating = CampaignRating("annotator", key, "item", (), None)
        errors: list[Span] = []
        odd: list[OddSpan] = []
        for one in listed:
            span, why = _span(one, cells["hypothesis_segment"])
            errors += [span] if span else []
            empty += span is not None and span.start == span.end and one.start != MISSING
            if why:
                odd.append(_odd(rating, one, why, left_out=span is None))
        reading.add(row.line, replace(rating, errors=tuple(errors)), odd, said=not listed)
    if empty:
        reading.warn(0, "end_indices", f"{format_count(empty, 'error span')} with start = end", "the end after the last character",
                   "Read as positions without text. If the ends are inclusive, add 1 to each of them")  # fmt: skip
    return reading.done()


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else ""


def _listed(
    reading: CampaignReading, line: int, starts: Sequence[str], ends: Sequence[str], names: Sequence[str]
) -> list[_Listed] | None:
    """Return the errors of a row; None if it has no rating."""
    if not (starts or ends or names):
        return None
    if list(names) == [NO_ERROR]:
        return []
    if not len(starts) == len(ends) == len(names):
        sizes = f"{len(starts)} starts, {len(ends)} ends and {len(names)} error types"
        reading.problem(line, "error_types", sizes, "the same number of each", "Correct the row")
        return None
    return [_Listed(*of) for of in zip(starts, ends, names, strict=True) if of[2] != NO_ERROR]


def _span(one: _Listed, text: str) -> tuple[Span | None, str]:
    severity, why = read_severity(one.severity)
    if MISSING in one[:2]:
        return Span("output", 0, 0, "", severity, OMISSION), why
    if not (_is_offset(one.start) and _is_offset(one.end)):
        return None, NO_OFFSETS
    start, end = int(one.start), int(one.end)
    if end < start:
        return None, BACKWARDS
    if end > len(text):
        return None, OUTSIDE
    return Span("output", start, end, text[start:end], severity, UNSPECIFIED), why


def _is_offset(text: str) -> bool:
    return text.isdecimal() and len(text) <= LONGEST_OFFSET


def _odd(rating: CampaignRating, one: _Listed, why: str, *, left_out: bool) -> OddSpan:
    value: dict[str, Any] = {_RAW: one.start, "end_index": one.end, "error_type": one.severity}
    return odd_span(rating, value, why, left_out=left_out)._replace(start=one.start, end=one.end)


def write_wmt25_spans(file: CampaignFile, *, method: str = "ESA") -> Written:
    """Return one file per annotator of an output: the n-th has the n-th rating of each output, and the first all outputs.

    Raises `UserError` for a rating whose output or spans do not match the texts.
    """
    checked_campaign(file)
    of = grouped((r.key, r) for r in file.ratings if r.kind == "item" and r.errors is not None)
    segments, raw = file.dataset.segment_of(), raw_spans(file, _RAW)
    most = max((len(ratings) for ratings in of.values()), default=1)
    texts = []
    for n in range(max(1, most)):
        rows: list[tuple[str, ...]] = [COLUMNS]
        for o in file.dataset.outputs:
            ratings = of.get(o.key, [])
            if n and n >= len(ratings):
                continue
            s = segments[o.key.segment]
            lists = _lists(ratings[n], raw) if n < len(ratings) else ("", "", "")
            reference = s.references[0] if s.references else ""
            rows.append((
                o.doc_id, o.segment_id, "", "", "official", o.system, s.source or "", o.text,
                reference, "", method, *lists,
            ))  # fmt: skip
        texts.append("".join("\t".join(map(_cell, row)) + "\n" for row in rows))
    return Written(tuple(texts), (*lost_parts(file, raw=_RAW, references=1, unrated=True), *_lost(file)))


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def _lists(rating: CampaignRating, raw: Mapping[Identity, Sequence[Any]]) -> tuple[str, str, str]:
    listed = [_of(e) for e in rating.errors or ()]
    listed += [_Listed(str(r[_RAW]), str(r["end_index"]), str(r["error_type"])) for r in raw.get(rating.identity, ())]
    if not listed:
        return "-1", "-1", NO_ERROR
    return " ".join(x.start for x in listed), " ".join(x.end for x in listed), " ".join(x.severity for x in listed)


def _of(e: Span) -> _Listed:
    name = e.severity.lower() if e.severity in SEVERITIES else "-".join(e.severity.split())
    if e.side == "source" or e.category == OMISSION:
        return _Listed(MISSING, MISSING, name)
    return _Listed(str(e.start), str(e.end), name)


def _lost(file: CampaignFile) -> list[str]:
    ratings = [r for r in file.ratings if r.kind == "item"]
    errors = [e for r in ratings for e in r.errors or ()]
    several = len({r.rater for r in ratings})
    return sentences_left_out(
        (sum(r.score is not None for r in ratings), "score", "scores"),
        (sum(r.errors is None for r in ratings), "rating without error spans", "ratings without error spans"),
        (several if several > 1 else 0, "annotator’s name", "annotators’ names"),
        (sum(e.category not in (UNSPECIFIED, OMISSION) for e in errors), "category", "categories"),
        (sum(bool(e.note) for e in errors), "note", "notes"),
        (sum(e.side == "source" or (e.category == OMISSION and (e.start, e.end) != (0, 0)) for e in errors),
         "position of an omission", "positions of omissions"),
    )  # fmt: skip
