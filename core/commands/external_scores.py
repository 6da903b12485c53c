"""Read external scores for `evaluate`: `.seg.score` files of mt-metrics-eval, or tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from core.commands.human_scores import read_human
from core.data import Dataset, OutputKey
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


def read(files: Sequence[str], texts: Dataset | None, lower: Collection[str] = ()) -> list[ExternalMetricScores]:
    """Read the metrics of files given as `NAME=FILE` or `FILE`; without NAME, the metric has the name of the file.

    Lower is better for metrics named in `lower` and for error rates. A `.seg.score` file needs the outputs (`texts`), with
    segments in the order of the test set. A table has the columns system, doc_id and segment_id, and the scores in a column
    NAME or `score`. Raises `UserError` and `ImportProblems` if a name is used twice or belongs to a built-in metric, or if a
    file does not match the outputs.
    """
    found: dict[str, ExternalMetricScores] = {}
    for text in files:
        given, equals, _ = text.partition("=")
        upload = read_upload(path_of(text))
        of_metric_file = extension(upload.name) == "score"
        name = given.strip() if equals else name_in(upload.name) if of_metric_file else stem(upload.name)
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
        turned = name in lower or lower_is_better(name)
        column = "" if of_metric_file else _column(upload, name)
        values, missing = _lines(upload, texts) if of_metric_file else _table(upload, column)
        signed = external_signature(name, not turned, [source_file(upload, column)])
        stored = external_metric(name)
        metric = ScoredMetric(stored, external.describe(stored, signed).label, signed, turned=turned)
        found[name] = ExternalMetricScores(metric, {k: -v if turned else v for k, v in values.items()}, missing)
    return list(found.values())


def read_systems(files: Sequence[str], lower: Collection[str] = ()) -> list[GivenScores]:
    """Read the system scores of `.sys.score` files given as `NAME=FILE` or `FILE`. Raises `UserError` and `ImportProblems`."""
    found: dict[str, GivenScores] = {}
    for text in files:
        given, equals, _ = text.partition("=")
        upload = read_upload(path_of(text))
        name = given.strip() if equals else name_in(upload.name)
        if name in found:
            hint = "Give different names: NAME=FILE"
            raise UserError("two files have the same metric name", where="--external", got=name, hint=hint)
        turned = name in lower or lower_is_better(name)
        signed = external_signature(name, not turned, [source_file(upload, "")])
        stored = external_metric(name)
        metric = ScoredMetric(stored, external.describe(stored, signed).label, signed, turned=turned)
        values = {s: -v if turned else v for s, v in mtme_score.read_systems(upload).items() if v is not None}
        found[name] = GivenScores(metric, values)
    return list(found.values())


def path_of(text: str) -> Path:
    """Return the file in `NAME=FILE` or `FILE`."""
    _, equals, path = text.partition("=")
    return Path(path if equals else text)


def _lines(upload: Upload, texts: Dataset | None) -> tuple[dict[OutputKey, float], int]:
    if texts is None:
        hint = "Give them with --outputs, with segments in the order of the test set"
        raise UserError("a .seg.score file needs the outputs that it scores", where=upload.name, hint=hint)
    [scores] = mtme_score.read_metric(upload, Severities(), texts).external
    values = {key: v.value for key, v in scores.values.items() if v.value is not None}
    return values, len(scores.values) - len(values)


def _column(upload: Upload, name: str) -> str:
    return name if name in read_export(upload, 1).columns else SCORE


def _table(upload: Upload, column: str) -> tuple[dict[OutputKey, float], int]:
    scored, missing = read_human(upload, column)
    return {key: value for key, (value, _) in scored.items()}, missing
