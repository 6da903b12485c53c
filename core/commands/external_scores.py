"""Scores of metrics that were computed elsewhere, for `evaluate`: `.seg.score` files of mt-metrics-eval, or tables."""

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
from core.formats.label_file import Severities
from core.formats.load import read_upload
from core.formats.mtme_rating import name_in
from core.formats.write import read_export
from core.metrics import external
from core.services.evaluate import Contestant
from core.services.external import name_problems
from core.signature import external_metric, external_signature

SCORE = "score"


class Computed(NamedTuple):
    """A metric from elsewhere with its values, turned so that higher is better, and how many are missing."""

    metric: Contestant
    values: dict[OutputKey, float]
    missing: int


def read(said: Sequence[str], texts: Dataset | None, lower: Collection[str] = ()) -> list[Computed]:
    """The metrics of the files, each said as `NAME=FILE` or `FILE`. Of those named in `lower`, and of error rates, lower is
    better.

    A `.seg.score` file needs the outputs (`texts`), whose segments stand in the order of the test set. A table has system,
    doc_id and segment_id, and the scores in a column NAME or `score`. Without NAME the metric is called as the file is.
    Raises `UserError` and `ImportProblems`: a name twice or that of a metric of ours, a file that does not fit.
    """
    found: dict[str, Computed] = {}
    for text in said:
        given, equals, _ = text.partition("=")
        upload = read_upload(path_of(text))
        of_metric_file = extension(upload.name) == "score"
        name = given.strip() if equals else name_in(upload.name) if of_metric_file else stem(upload.name)
        if wrong := name_problems([(name, upload.name, "")]):
            raise UserError(
                wrong[0].found, where="--external", expected=wrong[0].expected, hint="Name it: --external NAME=FILE"
            )
        if name in found:
            raise UserError("two files of one metric", where="--external", got=name, hint="Name them: NAME=FILE")
        turned = name in lower or lower_is_better(name)
        column = "" if of_metric_file else _column(upload, name)
        values, missing = _lines(upload, texts) if of_metric_file else _table(upload, column)
        signed = external_signature(name, not turned, [source_file(upload, column)])
        stored = external_metric(name)
        metric = Contestant(stored, external.describe(stored, signed).label, signed, turned=turned)
        found[name] = Computed(metric, {k: -v if turned else v for k, v in values.items()}, missing)
    return list(found.values())


def path_of(text: str) -> Path:
    """The file of `NAME=FILE` or `FILE`."""
    _, equals, path = text.partition("=")
    return Path(path if equals else text)


def _lines(upload: Upload, texts: Dataset | None) -> tuple[dict[OutputKey, float], int]:
    if texts is None:
        hint = "Give the outputs, in the order of the test set, as --outputs"
        raise UserError("a .seg.score file does not say which outputs it scores", where=upload.name, hint=hint)
    [scores] = mtme_score.read_metric(upload, Severities(), texts).external
    values = {key: v.value for key, v in scores.values.items() if v.value is not None}
    return values, len(scores.values) - len(values)


def _column(upload: Upload, name: str) -> str:
    return name if name in read_export(upload, 1).columns else SCORE


def _table(upload: Upload, column: str) -> tuple[dict[OutputKey, float], int]:
    scored, missing = read_human(upload, column)
    return {key: value for key, (value, _) in scored.items()}, missing
