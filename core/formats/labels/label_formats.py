"""The label formats: names, contents, readers, writers, detection, and the writer of Label Studio's JSON.

The rater is stored as a region `rater`, because Label Studio assigns imported annotations to the user who imports them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from core.data import SEVERITIES, Dataset, OutputKey, RatedOutput, Segment, Span, grouped
from core.errors import PROGRAM, Problem, UserError
from core.formats import mtme_score
from core.formats.columns import is_google_mqm, plain
from core.formats.external import file_of_a_metric
from core.formats.files import Upload, beginning_text, extension
from core.formats.labels import esa, google_mqm, judgements, label_studio, marot, mtme_rating
from core.formats.labels.label_file import (
    LabelFile,
    ProjectTotals,
    Severities,
    Written,
    category_or_none,
    checked,
    left_behind,
)
from core.formats.parsing.json_records import Record
from core.formats.problems import Collector
from core.formats.table import header_of
from core.formatting import format_count


def write_label_studio(dataset: Dataset, rated: Iterable[RatedOutput], project: ProjectTotals) -> Written:
    """Write one task per rated output and one annotation per rater. Raises `UserError` for labels that do not match their texts."""
    labels = checked(dataset, rated)
    tasks = [
        _task_json(key, labels.texts[key], labels.segments[key.segment], ratings)
        for key, ratings in labels.by_output().items()
    ]
    lost = []
    if n := sum(e.start == e.end for e in labels.errors):
        lost.append(f"{format_count(n, 'empty error span')}: in the file, but Label Studio does not show them.")
    if labels.rated:
        lost.append(
            "Raters: Label Studio assigns annotations to the user who imports them; the rater is in the field “rater”."
        )
    body = ",\n".join(json.dumps(task, ensure_ascii=False) for task in tasks)
    return Written((f"[\n{body}\n]\n",), (*lost, *left_behind(project, labels.rated, references=False)))


def _task_json(key: OutputKey, text: str, segment: Segment, ratings: Iterable[RatedOutput]) -> dict[str, Any]:
    data: dict[str, Any] = {"output": text, "source": segment.source or "", "system": key.system}
    data |= {"doc_id": key.doc_id, "segment_id": key.segment_id}
    data |= {"references": list(segment.references)} if segment.references else {}
    annotations = []
    for r in ratings:
        said: list[dict[str, Any]] = [_task_item(f"{_id(r)}-r", "rater", "output", "textarea", {"text": [r.rater]})]
        for i, e in enumerate(r.errors):
            said += _regions(f"{_id(r)}-{i}", e)
        annotations.append({"result": said, "was_cancelled": False, "ground_truth": False})
    return {"data": data, "annotations": annotations}


def _id(r: RatedOutput) -> str:
    return hashlib.sha256(json.dumps([*r.key, r.rater]).encode()).hexdigest()[:10]


def _regions(name: str, e: Span) -> list[dict[str, Any]]:
    place = {"start": e.start, "end": e.end, "text": e.quote}
    to, ending = ("output", "") if e.side == "output" else ("source", "_source")
    said = [_task_item(name, f"severity{ending}", to, "labels", place | {"labels": [e.severity]})]
    if path := category_or_none(e.category):
        said.append(_task_item(name, f"category{ending}", to, "taxonomy", place | {"taxonomy": [path.split("/")]}))
    if e.note:
        said.append(_task_item(name, f"note{ending}", to, "textarea", place | {"text": [e.note]}))
    return said


def _task_item(name: str, control: str, to: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "from_name": control, "to_name": to, "type": kind, "origin": "manual", "value": value}


Reader = Callable[[Upload, Severities, Dataset | None], LabelFile]


class Writer(Protocol):
    def __call__(self, dataset: Dataset, rated: Iterable[RatedOutput], project: ProjectTotals, /) -> Written:
        """Return ratings as a file. `dataset` may have only the rated outputs with their sources and references, and the names of all segments."""
        ...


@dataclass(frozen=True, slots=True)
class LabelFormat:
    """A label format. `holds` says in one line what is written, `reads` how it is read. `write` is None if labels cannot be written.

    A format with `needs_texts` stores no texts, so that reading it needs the outputs. A format with `has_unrated` also writes unrated
    outputs, so writing needs all texts. Other formats need the rated outputs with their sources and references, and the names of all segments. `human_score` is
    the name of the human score that a format writes, or empty.
    """

    name: str
    label: str
    ending: str
    mime: str
    holds: str
    reads: str
    read: Reader
    write: Writer | None = None
    needs_texts: bool = False
    has_unrated: bool = False
    human_score: str = ""


def _read_google(upload: Upload, severities: Severities, texts: Dataset | None) -> LabelFile:
    """Read Google's TSV. An unknown severity is kept with a warning; an import leaves out its rating."""
    label_file = google_mqm.read_google_mqm(upload.data, upload.name)
    of_severity = grouped((error.severity, line) for (_, _, error), line in label_file.lines.items())
    warnings = [
        Problem(
            upload.name, min(lines), "severity", f"{name!r} in {format_count(len(lines), 'error')}",
            ", ".join(SEVERITIES), f"Correct the lines, or rename it: {PROGRAM} convert --severity NAME=OURS",
        )
        for name, lines in of_severity.items()
        if severities.find(name) is None
    ]  # fmt: skip

    def renamed(e: Span) -> Span:
        return replace(e, severity=severities.find(e.severity) or e.severity)

    rated = tuple(r._replace(errors=tuple(map(renamed, r.errors))) for r in label_file.rated)
    return LabelFile(label_file.dataset, rated, (*warnings, *label_file.warnings))


def _write_google(dataset: Dataset, rated: Iterable[RatedOutput], project: ProjectTotals) -> Written:
    labels = list(rated)
    return Written((google_mqm.write_google_mqm(dataset, labels),), tuple(left_behind(project, labels)))


TSV, JSONL = "text/tab-separated-values", "application/jsonl"
FORMATS: dict[str, LabelFormat] = {
    f.name: f
    for f in (
        LabelFormat(
            "google", "Google MQM TSV", "mqm.tsv", TSV,
            "Format of the WMT releases: every label with its note and rater.",
            "Errors are between <v> and </v>. Includes the outputs.",
            _read_google, _write_google,
        ),
        LabelFormat(
            "marot", "Marot TSV", "marot.tsv", TSV,
            "For Marot, Google’s viewer of MQM labels: every label, unrated outputs and references.",
            "Ten columns, errors between <v> and </v>; doc and docSegId name the segment. Includes the outputs.",
            marot.read_marot, marot.write_marot, has_unrated=True,
        ),
        LabelFormat(
            "mtme", "mt-metrics-eval .seg.rating", "seg.rating", TSV,
            "Error spans with severity and category. One rating per line: several raters give several files in a ZIP.",
            "One line per segment, in the order of the outputs; offsets are in characters, end exclusive.",
            mtme_rating.read_ratings, mtme_rating.write_ratings, needs_texts=True,
        ),
        LabelFormat(
            "mtme-jsonl", "mt-metrics-eval standalone JSONL", "ratings.jsonl", JSONL,
            "Error spans with their texts, one object per rating.",
            "Offsets are in characters, end exclusive. Includes the outputs.",
            mtme_rating.read_standalone, mtme_rating.write_standalone,
        ),
        LabelFormat(
            "esa", "ESA JSONL (error span annotation; Appraise, WMT24)", "esa.jsonl", JSONL,
            "Error spans with severity and category, and the score from 0 to 100 if there is one.",
            "As written by WMT24, Appraise or Pearmut: offsets in UTF-16 units, end inclusive. Scores become the human score “ESA”.",
            esa.read_esa, esa.write_esa, human_score=esa.SCORE,
        ),
        LabelFormat(
            "label-studio", "Label Studio JSON", "label-studio.json", "application/json",
            "Tasks with annotations and references, for the labelling interface in docs/formats.md.",
            "Text regions with a severity among their labels; offsets in code points, or in UTF-16 units if the quoted texts require it.",
            label_studio.read_label_studio, write_label_studio,
        ),
        LabelFormat(
            "mtme-score", "mt-metrics-eval .seg.score", "seg.score", TSV,
            "One number per output as a human score; no error spans.",
            "One line per segment, in the order of the outputs; the score is named after the file.",
            mtme_score.read_mtme_scores, needs_texts=True,
        ),
        LabelFormat(
            "mtme-metric", "mt-metrics-eval .seg.score of a metric", "seg.score", TSV,
            "One number per output as an external score; no error spans.",
            "One line per segment, in the order of the outputs; read as external scores, not as human scores.",
            mtme_score.read_metric, needs_texts=True,
        ),
        LabelFormat(
            "judgements", "Scores or ranks by annotator (table)", "csv", "text/csv",
            "Direct assessment, Likert or ranks: one row per annotator and output, with the original numbers.",
            "One row per annotator and output, numbers or ranks. Every number is kept. Computed from them: means, z-scores (mean 0 and deviation 1 for each annotator) and strengths (one number per system from ranks).",
            judgements.read_judgements, needs_texts=True,
        ),
    )
}  # fmt: skip


def label_format(name: str) -> LabelFormat:
    """Return the format of a name. Raises `UserError` for an unknown name."""
    known_format = FORMATS.get(name.strip().lower())
    if known_format is None:
        raise UserError("unknown label format", got=repr(name), expected=", ".join(FORMATS))
    return known_format


def guess(upload: Upload) -> str | None:
    """Return the format of a file, detected from its first bytes or else its extension; None if unknown."""
    head = beginning_text(upload)
    first = head.split("\n", 1)[0].strip("\r")
    if head.lstrip()[:1] in ("{", "["):
        return _guess_json(head)
    if extension(upload.name) == "score":
        return "mtme-metric" if file_of_a_metric(upload.name) else "mtme-score"
    columns = first.split("\t") if "\t" in first else first.split(",")
    names = {plain(c) for c in columns}
    if "\t" in first and is_google_mqm(columns):
        return "marot" if {"docsegid", "metadata"} <= names else "google"
    if "\t" in first and first.partition("\t")[2].startswith(('{"errors"', "None")):
        return "mtme"
    if len(columns) == len(marot.COLUMNS) and marot.is_row(columns):
        return "marot"
    if extension(upload.name) == "rating":
        return "mtme"
    table = extension(upload.name) in ("csv", "tsv", "tab")
    if table:
        columns = header_of(upload.name, head.splitlines(keepends=True))
        names = {plain(c) for c in columns}
        if label_studio.is_csv(columns, head):
            return "label-studio"
        if is_google_mqm(columns):
            return "marot" if {"docsegid", "metadata"} <= names else "google"
    if table and judgements.rater_column(columns) and not names & {"category", "severity", "side"}:
        return "judgements"
    return None


def _guess_json(head: str) -> str | None:
    start = head.index("{") if "{" in head else len(head)
    try:
        value, _ = json.JSONDecoder().raw_decode(head, start)
    except (ValueError, RecursionError):
        return "label-studio" if '"annotations"' in head and '"data"' in head else None
    if not isinstance(value, dict):
        return None
    if any(
        keys <= value.keys()
        for keys in (
            {"data", "annotations"},
            {"data", "completions"},
            {"data", "predictions"},
            {"annotation_id", "annotator"},
        )
    ):
        return "label-studio"
    if {"hypothesis", "errors", "system_id"} <= value.keys():
        return "mtme-jsonl"
    if esa.recognised(Record("", 0, value, Collector())):
        return "esa"
    keys = list(value)
    nested = any(isinstance(inner, dict) for v in value.values() for inner in (v if isinstance(v, list) else [v]))
    table = not nested and not {"category", "severity"} & set(keys)
    return "judgements" if table and judgements.rater_column(keys) else None
