"""`mqm`: compute MQM scores from labels in Google's TSV format, as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from core.commands.options import MqmScheme, Out
from core.commands.progress import print_notes
from core.errors import ImportProblems, Problem, UserError
from core.formats import output
from core.formats.labels import google_mqm
from core.formats.load import read_upload
from core.formats.write import csv_text
from core.mqm.schemes import Scheme
from core.mqm.schemes import scheme as named
from core.mqm.scores import SegmentScore, SystemScore, segment_scores, system_scores


def run(
    file: Annotated[Path, typer.Argument(help="MQM labels in Google's TSV format, also .gz")],
    out: Out,
    scheme: MqmScheme = "google",
    by: Annotated[
        Literal["segment", "system"], typer.Option(help="write scores per segment, or means per system")
    ] = "segment",
) -> None:
    """Write the segment scores (system, doc_id, segment_id, score, n_raters), or system means (system, score, n_segments, n_raters), best first.

    Exact duplicates of an error count once. Prints warnings about the file. Scores are ≤ 0; higher is better. Raises `UserError` for a file that cannot be read, and for an unknown scheme or severity.
    """
    weights = named(scheme)
    output.check([("the labels", file)], [("--out", out)])
    upload = read_upload(file)
    labels = google_mqm.read(upload.data, upload.name)
    try:
        scores = segment_scores(labels.rated, weights)
    except UserError as error:
        raise ImportProblems(_unweighed(labels, weights, file.name)) from error
    if by == "system":
        text = csv_text(SystemScore._fields, system_scores(labels.rated, weights))
    else:
        text = csv_text(SegmentScore._fields, scores)
    output.write({out: text})
    print_notes([w.sentence() for w in labels.warnings])


def _unweighed(labels: google_mqm.GoogleMqm, weights: Scheme, file: str) -> list[Problem]:
    """Return every error whose severity has no weight in the scheme, with its line."""
    todo = "Fix the line, or rename the severity: python -m core convert --severity NAME=OURS"
    found = []
    for (_, _, error), line in labels.lines.items():
        try:
            weights.weight(error.severity, error.category)
        except UserError:
            expected = ", ".join(weights.severities)
            found.append(Problem(file, line, "severity", repr(error.severity), expected, todo))
    return found
