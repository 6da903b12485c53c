"""Read external scores for `evaluate`: `.seg.score` files of mt-metrics-eval, or tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from core.commands.human_scores import read_human
from core.commands.progress import counted
from core.data import Dataset, OutputKey, Value
from core.errors import UserError
from core.formats import mtme_score
from core.formats.external import lower_is_better, source_file
from core.formats.files import Upload, extension, stem
from core.formats.labels.label_file import Severities
from core.formats.labels.mtme_rating import name_in
from core.formats.load import read_upload
from core.formats.write import read_export
from core.metrics import external
from core.services.evaluate.evaluation_data import ScoredMetric
from core.services.evaluate.system_scores import GivenScores
from core.services.projects.external_scores import name_problems
from core.signature import external_metric, external_signature

SCORE = "score"


class ExternalMetricScores(NamedTuple):
    """An external metric with its values, negated if lower is better, and the number of missing values."""

    metric: ScoredMetric
    values: dict[OutputKey, float]
    missing: int


class MetricFile(NamedTuple):
    """A file of metric scores; the metric has the name of the file if `name` is None."""

    path: Path
    name: str | None = None


def given(text: str) -> MetricFile:
    """Return the file given as `NAME=FILE` or `FILE`."""
    name, equals, path = text.partition("=")
    return MetricFile(Path(path), name.strip()) if equals else MetricFile(Path(text))


def read(files: Sequence[MetricFile], texts: Dataset | None, lower: Collection[str] = ()) -> list[ExternalMetricScores]:
    """Read the scores of metrics.

    Lower is better for metrics named in `lower` and for error rates, unless an mt-metrics-eval file has them negated. A `.seg.score`
    file needs the outputs (`texts`), with segments in the order of the test set. A table has the columns system, doc_id and
    segment_id, and the scores in a column named like the metric or `score`. Raises `UserError` and `ImportProblems` if a name is used
    twice or belongs to a built-in metric, or if a file does not match the outputs.
    """
    found: dict[str, ExternalMetricScores] = {}
    progress = counted("files of metric scores", len(files))
    for i, file in enumerate(files):
        progress(i / len(files))
        upload = read_upload(file.path)
        of_metric_file = extension(upload.name) == "score"
        name = file.name
        if name is None:
            name = name_in(upload.name) if of_metric_file else stem(upload.name)
        if wrong := name_problems([(name, upload.name, "")]):
            raise UserError(
                wrong[0].found,
                where="--external",
                expected=wrong[0].expected,
                hint="Choose a name: --external NAME=FILE",
            )
        if name in found:
            raise UserError(
                "two files have the same metric name",
                where="--external",
                got=name,
                hint="Give different names: NAME=FILE",
            )
        column = "" if of_metric_file else _column(upload, name)
        if of_metric_file:
            values, missing, higher = _lines(upload, texts, name)
        else:
            (values, missing), higher = _table(upload, column), not lower_is_better(name)
        turned = name in lower or not higher
        signed = external_signature(name, not turned, [source_file(upload, column)])
        stored = external_metric(name)
        metric = ScoredMetric(stored, external.describe(stored, signed).label, signed, turned=turned)
        found[name] = ExternalMetricScores(metric, {k: -v if turned else v for k, v in values.items()}, missing)
    return list(found.values())


def read_systems(files: Sequence[MetricFile], lower: Collection[str] = ()) -> list[GivenScores]:
    """Read the system scores of `.sys.score` files. Raises `UserError` and `ImportProblems`."""
    found: dict[str, GivenScores] = {}
    for file in files:
        upload = read_upload(file.path)
        name = name_in(upload.name) if file.name is None else file.name
        if name in found:
            hint = "Give different names: NAME=FILE"
            raise UserError("two files have the same metric name", where="--external", got=name, hint=hint)
        values = {s: v for s, v in mtme_score.read_systems(upload).items() if v is not None}
        turned = name in lower or not mtme_score.higher_is_better(name, map(Value, values.values()))
        signed = external_signature(name, not turned, [source_file(upload, "")])
        stored = external_metric(name)
        metric = ScoredMetric(stored, external.describe(stored, signed).label, signed, turned=turned)
        found[name] = GivenScores(metric, {s: -v if turned else v for s, v in values.items()})
    return list(found.values())


def _lines(upload: Upload, texts: Dataset | None, name: str) -> tuple[dict[OutputKey, float], int, bool]:
    """Return the values, NaN where the file has None, their number, and whether higher is better."""
    if texts is None:
        hint = "Give them with --outputs, with segments in the order of the test set"
        raise UserError("a .seg.score file needs the outputs that it scores", where=upload.name, hint=hint)
    [scores] = mtme_score.read_metric(upload, Severities(), texts).external
    values = {key: math.nan if v.value is None else v.value for key, v in scores.values.items()}
    missing = sum(map(math.isnan, values.values()))
    return values, missing, mtme_score.higher_is_better(name, scores.values.values())


def _column(upload: Upload, name: str) -> str:
    return name if name in read_export(upload, 1).columns else SCORE


def _table(upload: Upload, column: str) -> tuple[dict[OutputKey, float], int]:
    scored, missing = read_human(upload, column)
    return {key: value for key, (value, _) in scored.items()}, missing
