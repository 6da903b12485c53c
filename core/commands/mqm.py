"""`mqm`: labels in Google's TSV to MQM scores, as CSV."""

from __future__ import annotations

from pathlib import Path

from core.errors import ImportProblems, Problem, UserError
from core.formats import google_mqm, output
from core.formats.load import read_upload
from core.formats.write import csv_text
from core.mqm.schemes import Scheme
from core.mqm.schemes import scheme as named
from core.mqm.scores import SegmentScore, SystemScore, segment_scores, system_scores


def run(path: Path, scheme: str, by: str | None, out: Path) -> list[str]:
    """Write the segment scores (system, doc_id, segment_id, score, n_raters), or with `by="system"` the systems' means
    (system, score, n_segments, n_raters), best first. Scores are ≤ 0, higher is better. Returns what was odd in the file.

    Raises `UserError` for a file that cannot be read, an unknown scheme or severity.
    """
    if by not in (None, "", "segment", "system"):
        raise UserError("scores are made by segment or by system", got=repr(by), expected="segment or system")
    weights = named(scheme)
    output.check([("the labels", path)], [("--out", out)])
    upload = read_upload(path)
    labels = google_mqm.read(upload.data, upload.name)
    try:
        scores = segment_scores(labels.rated, weights)
    except UserError as error:
        raise ImportProblems(_unweighed(labels, weights, path.name)) from error
    if by == "system":
        text = csv_text(SystemScore._fields, system_scores(labels.rated, weights))
    else:
        text = csv_text(SegmentScore._fields, scores)
    output.write({out: text})
    return [w.sentence() for w in labels.warnings]


def _unweighed(labels: google_mqm.GoogleMqm, weights: Scheme, file: str) -> list[Problem]:
    """Every error whose severity has no weight, with its line."""
    todo = "Correct the line, or rename it: python -m core convert --severity NAME=OURS"
    found = []
    for (_, _, error), line in labels.lines.items():
        try:
            weights.weight(error.severity, error.category)
        except UserError:
            expected = ", ".join(weights.severities)
            found.append(Problem(file, line, "severity", repr(error.severity), expected, todo))
    return found
