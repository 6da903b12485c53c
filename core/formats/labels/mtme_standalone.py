"""Read and write mt-metrics-eval's standalone ratings: JSON Lines with the texts, one object per output and rater.

According to its `standalone_ratings.py`: `source`, `hypothesis`, `errors` (as in `.seg.rating`, `end` exclusive), `document_id`,
`segment_id` (the position in the test set, from 0), `system_id`, `rater_id`, `src_lang`, `tgt_lang`. An output without errors has an
empty list. Additional keys are ignored by mt-metrics-eval: a segment id that differs from the position is stored as `segment_name`, a
note as `note` of its error. A missing source is "".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from core.data import Dataset, OutputKey, RatedOutput
from core.formats.files import Upload
from core.formats.labels.label_file import (
    Gatherer,
    LabelFile,
    ProjectTotals,
    Severities,
    Written,
    checked,
    left_behind,
)
from core.formats.labels.mtme_rating import error_json, error_of, scores_unused
from core.formats.parsing.json_records import records as read_records
from core.formats.problems import counted
from core.formats.write import json_lines


def read(upload: Upload, severities: Severities, texts: Dataset | None = None) -> LabelFile:
    """Read the ratings with their texts; a missing rater is named "rater", as in mt-metrics-eval. Raises `ImportProblems`."""
    found = Gatherer(upload.name, severities)
    scores = 0
    for record in read_records(upload, found.problems):
        found.languages(record.line, *(record.text(name, needed=False) for name in ("src_lang", "tgt_lang")))
        system, text = record.text("system_id"), record.text("hypothesis")
        segment = record.text("segment_name", "segment_id")
        errors = record.records("errors")
        if system is None or text is None or segment is None:
            continue
        key = OutputKey(system, record.text("document_id", needed=False) or "", segment)
        found.add_texts(record.line, key, record.text("source", needed=False), text)
        scores += sum(e.values.get("score") is not None for e in errors)
        rater = record.text("rater_id", needed=False) or "rater"
        found.rating(record.line, key, rater, [error_of(found, e, key) for e in errors])
    scores_unused(found, scores)
    return found.done()


def write(dataset: Dataset, rated: Iterable[RatedOutput], project: ProjectTotals) -> Written:
    """Write one object per rating, in the order given. Raises `UserError` for labels that do not match their texts."""
    labels = checked(dataset, rated)
    texts, segments = {o.key: o.text for o in dataset.outputs}, dataset.segment_of()
    place = {s.key: i for i, s in enumerate(dataset.segments)}
    records: list[dict[str, Any]] = []
    for r in labels:
        at = place[r.key.segment]
        records.append({
            "source": segments[r.key.segment].source or "", "hypothesis": texts[r.key],
            "errors": [error_json(e) for e in r.errors], "document_id": r.key.doc_id, "segment_id": at,
            "system_id": r.key.system, "rater_id": r.rater, "src_lang": None, "tgt_lang": None,
        })  # fmt: skip
        if r.key.segment_id != str(at):
            records[-1]["segment_name"] = r.key.segment_id
    lost = []
    if notes := sum(bool(e.note) for r in labels for e in r.errors):
        lost.append(f"{counted(notes, 'note')}: kept under a key that mt-metrics-eval ignores.")
    if any("segment_name" in record for record in records):
        lost.append("Segment ids: mt-metrics-eval reads positions from 0; the original ids are kept as segment_name.")
    return Written((json_lines(records),), (*lost, *left_behind(project, labels)))
