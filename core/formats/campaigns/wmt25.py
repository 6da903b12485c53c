"""Read and write the compiled ratings of WMT25: JSON Lines, one segment per line.

`doc_id`, `src_text`, `tgt_text` (text by system) and `scores`: by system `human1`, `errors1`, `annotator1`, then `human2`, … (or without
a number). `start_i` and `end_i` are the first and last UTF-16 unit, and `<br>` counts as one. A `doc_id` of four parts joined by `_#_`
ends with the segment; otherwise segments are counted from 0 within their document.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from core.data import OutputKey, SegmentKey, grouped
from core.formats.campaigns.appraise_scores import ListedRating, add_ratings
from core.formats.campaigns.campaign_file import (
    CampaignFile,
    CampaignRating,
    CampaignReading,
    checked_campaign,
    lost_parts,
    raw_spans,
)
from core.formats.campaigns.span_json import APPRAISE, EXACT, SpanText, write_span
from core.formats.files import Upload
from core.formats.labels.label_file import Severities, Written
from core.formats.parsing.json_records import Record, records
from core.formats.problems import shown
from core.formats.write import json_lines

_FIELD = re.compile(r"(human|errors|annotator)(\d*)")
_JOINT = "_#_"
_PARTS = 4


def read(upload: Upload, severities: Severities | None = None) -> CampaignFile:
    """Read the texts and ratings. Raises `ImportProblems` with every line that cannot be read."""
    found = CampaignReading(upload.name, severities or Severities(), APPRAISE)
    seen: Counter[str] = Counter()
    listed: list[ListedRating] = []
    unnamed = 0
    for record in records(upload, found.problems):
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
                found.add_texts(record.line, OutputKey(system, *segment), source, text)
        for system in scores.values if scores else ():
            of_system = scores.record(system) if scores else None
            if of_system is not None:
                unnamed += _ratings(found, of_system, OutputKey(system, *segment), listed)
    add_ratings(found, listed)
    if unnamed:
        found.warn(0, "annotator", f"{unnamed:,} ratings without an annotator", "annotator1, annotator2, …",
                   "Read as annotators “1”, “2”, … of each output")  # fmt: skip
    return found.done()


def _segment(record: Record, document: str, seen: Counter[str]) -> SegmentKey:
    kept = record.values.get(EXACT)
    if isinstance(kept, dict) and isinstance(kept.get("segment_id"), str):
        return SegmentKey(document, kept["segment_id"])
    if document.count(_JOINT) >= _PARTS - 1:
        return SegmentKey(*document.rsplit(_JOINT, 1))
    return SegmentKey(document, str(seen[document]))


def _ratings(found: CampaignReading, record: Record, key: OutputKey, listed: list[ListedRating]) -> int:
    """Add the ratings of one output to `listed`, and return how many have no annotator."""
    fields = grouped((m[2], m[1]) for m in map(_FIELD.fullmatch, record.values) if m)
    clean = record.values.get(EXACT)
    for name, value in record.values.items():
        if value is not None and name != EXACT and not _FIELD.fullmatch(name):
            found.unread(record.line, f"field {shown(name)} of a system", rating=True)
    unnamed = 0
    for number, names in fields.items():
        score = record.number(f"human{number}") if "human" in names else None
        values = record.values.get(f"errors{number}")
        if score is None and values is None:
            continue
        if values is not None and not isinstance(values, list):
            record.problem(f"errors{number}", shown(str(values)), "a list of error spans")
            continue
        if found.output(key) is None:
            record.problem("", f"a rating of {shown(key.system)}", "a system of tgt_text", "Add its text")
            continue
        rater = record.text(f"annotator{number}", needed=False)
        unnamed += rater is None
        rating = CampaignRating(rater or number or "1", key, "item", None, score)
        listed.append(ListedRating(record.line, rating, values, isinstance(clean, list) and number in clean))
    return unnamed


def write(file: CampaignFile) -> Written:
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
                    fields[f"errors{n}"] = [*spans, *raw.get((r.rater, r.kind, r.key), [])]
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
    return Written(
        (json_lines(lines),), (*lost, *([f"Left out: {empty:,} ratings without score and spans."] if empty else []))
    )
