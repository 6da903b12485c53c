"""Read metric scores for `evaluate`: `.seg.score` files of mt-metrics-eval, tables, or a whole folder of a test set."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from cli.human_scores import read_human
from cli.options import counted, print_note
from core.data import Dataset, OutputKey, Value
from core.errors import UserError, unknown
from core.formats import mtme_score
from core.formats.external import lower_is_better, source_file
from core.formats.files import Upload, extension, file_at, stem
from core.formats.given_roles import GivenRoles
from core.formats.labels.label_file import Severities
from core.formats.labels.mtme_rating import name_in
from core.formats.mtme_folder import MtmeFiles, ScoreFile, chosen_pair, stored_files
from core.formats.write import read_export
from core.metrics import base
from core.services.compare.systems import GivenScores
from core.services.evaluate.evaluation_data import ScoredMetric
from core.services.projects.adding import name_problems
from core.services.projects.label_import import missing_sentence, read_mtme_texts
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


def metric_file(text: str) -> MetricFile:
    """Return the file given as `NAME=FILE` or `FILE`."""
    name, equals, path = text.partition("=")
    return MetricFile(Path(path), name.strip()) if equals else MetricFile(Path(text))


def read_metric_files(
    files: Sequence[MetricFile], texts: Dataset | None, lower: Collection[str] = ()
) -> list[ExternalMetricScores]:
    """Read the scores of metrics.

    Lower is better for metrics named in `lower` and for error rates, unless an mt-metrics-eval file has them negated. A `.seg.score`
    file needs the outputs (`texts`), with segments in the order of the test set. A table has the columns system, doc_id and
    segment_id, and the scores in a column named like the metric or `score`. Raises `UserError` and `ImportProblems` if a name is used
    twice or belongs to a built-in metric, or if a file does not match the outputs.
    """
    by_name: dict[str, ExternalMetricScores] = {}
    progress = counted("files of metric scores", len(files))
    for i, file in enumerate(files):
        progress(i / len(files))
        upload = file_at(file.path)
        of_metric_file = extension(upload.name) == "score"
        name = file.name
        if name is None:
            name = name_in(upload.name) if of_metric_file else stem(upload.name)
        if wrong := name_problems([(name, upload.name, "")]):
            raise UserError(
                wrong[0].got,
                where="--external",
                expected=wrong[0].expected,
                hint="Choose a name: --external NAME=FILE",
            )
        if name in by_name:
            raise _named_twice(name)
        column = "" if of_metric_file else name if name in read_export(upload, 1).columns else SCORE
        if of_metric_file:
            values, missing, higher = _lines(upload, texts, name)
        else:
            scored, missing = read_human(upload, column)
            values, higher = {key: value for key, (value, _) in scored.items()}, not lower_is_better(name)
        metric = _scored_metric(name, upload, column, turned=name in lower or not higher)
        by_name[name] = ExternalMetricScores(
            metric, {k: -v if metric.turned else v for k, v in values.items()}, missing
        )
    return list(by_name.values())


def read_systems(files: Sequence[MetricFile], lower: Collection[str] = ()) -> list[GivenScores]:
    """Read the system scores of `.sys.score` files. Raises `UserError` and `ImportProblems`."""
    by_name: dict[str, GivenScores] = {}
    for file in files:
        upload = file_at(file.path)
        name = name_in(upload.name) if file.name is None else file.name
        if name in by_name:
            raise _named_twice(name)
        values = {s: v for s, v in mtme_score.read_systems(upload).items() if v is not None}
        higher = mtme_score.higher_is_better(name, map(Value, values.values()))
        metric = _scored_metric(name, upload, "", turned=name in lower or not higher)
        by_name[name] = GivenScores(metric, {s: -v if metric.turned else v for s, v in values.items()})
    return list(by_name.values())


def _scored_metric(name: str, upload: Upload, column: str, *, turned: bool) -> ScoredMetric:
    signed, stored = external_signature(name, not turned, [source_file(upload, column)]), external_metric(name)
    return ScoredMetric(stored, base.describe(stored, signed).label, signed, turned=turned)


def _named_twice(name: str) -> UserError:
    hint = "Give different names: NAME=FILE"
    return UserError("two files have the same metric name", where="--external", got=name, hint=hint)


def _lines(upload: Upload, texts: Dataset | None, name: str) -> tuple[dict[OutputKey, float], int, bool]:
    """Return the values, NaN where the file has None, their number, and whether higher is better."""
    if texts is None:
        hint = "Give them with --outputs, with segments in the order of the test set"
        raise UserError("a .seg.score file needs the outputs that it scores", where=upload.name, hint=hint)
    [scores] = mtme_score.read_metric(upload, Severities(), texts).external
    values = {key: math.nan if v.value is None else v.value for key, v in scores.values.items()}
    missing = sum(map(math.isnan, values.values()))
    return values, missing, mtme_score.higher_is_better(name, scores.values.values())


MQM = "mqm"


class MtmeFolder(NamedTuple):
    """A language pair in a folder, its texts with an output for each line of each system, and the outputs that are `missing`."""

    path: Path
    files: MtmeFiles
    texts: Dataset
    missing: frozenset[OutputKey]

    def file(self, of: ScoreFile) -> Path:
        return self.path / of.file

    def metrics(self, references: Sequence[str], included: Sequence[str], *, of_systems: bool) -> list[MetricFile]:
        """Return the files of metrics, without those that `left_out` names."""
        out = {m.file for m in self._left_out(references, included)}
        every = self.files.metric_systems if of_systems else self.files.metrics
        return [MetricFile(self.file(m), m.name) for m in every if m.file not in out]

    def excluded(self, included: Sequence[str]) -> list[str]:
        """Return the systems that are references and not among `included`. Raises `UserError` for a name that is no such system."""
        systems = self.files.reference_systems
        if wrong := [name for name in included if name not in systems]:
            raise unknown("reference that is a system, for --include", wrong[0], systems)
        return [name for name in systems if name not in included]

    def notes(self, references: Sequence[str], included: Sequence[str]) -> list[str]:
        """Return what is left out or should be known about references. Raises `UserError` for an unknown reference."""
        used = dict.fromkeys(r for m in (*self.files.metrics, *self.files.metric_systems) for r in m.references)
        if wrong := [name for name in references if name not in used]:
            raise unknown("reference that a metric used, for --reference", wrong[0], used)
        notes = [missing_sentence(self.missing)] if self.missing else []
        if out := self.excluded(included):
            one = len(out) == 1
            notes.append(
                f"Excluded from the comparison because {'it is a reference' if one else 'they are references'}: {', '.join(out)} "
                "(--include NAME compares a system all the same)."
            )
        if left := dict.fromkeys(m.name for m in self._left_out(references, included)):
            notes.append(f"Metrics left out because of the references they used: {', '.join(left)}.")
        if not references and len(used) > 1:
            notes.append(
                f"The metrics used different references ({', '.join(used)}); all are compared. mt-metrics-eval compares those of the "
                "standard reference of a test set, and those without a reference: --reference NAME."
            )
        return notes

    def _left_out(self, references: Sequence[str], included: Sequence[str]) -> list[ScoreFile]:
        """Return the metrics that used a reference that is compared as a system, or one that is not among `references`, if there are any."""
        return [
            m
            for m in (*self.files.metrics, *self.files.metric_systems)
            if set(m.references) & set(included) or (references and not set(m.references) <= set(references))
        ]

    def human(self, name: str | None, scheme: str | None) -> list[Path]:
        """Return the files with the human scores: those of outputs with this name, or the error spans for a weighting scheme and where
        there are no scores of this name. Raises `UserError` if there are several scores or none."""
        scores = {f.name: f for f in self.files.human}
        if scheme is None and name is None and len(scores) > 1:
            raise UserError(
                "the folder has several human scores", where=str(self.path), got=", ".join(scores), expected="one score",
                hint=f"Choose one: --human-score {next(iter(scores))}",
            )  # fmt: skip
        score_name = name or (next(iter(scores), MQM) if scheme is None else MQM)
        if scheme is None and score_name in scores:
            return [self.file(scores[score_name])]
        spans = [f for f in self.files.spans if f.name == score_name or f.name.startswith(f"{score_name}.")]
        if not spans and scheme is not None:
            got = ", ".join(f.name for f in self.files.spans) or "none"
            raise UserError("no error spans for --scheme", where=str(self.path), got=got, expected=f"human-scores/{self.files.pair}.{score_name}.seg.rating")  # fmt: skip
        if not spans and name is not None:
            raise unknown(f"human score in {self.path}", name, [*scores, *(f.name for f in self.files.spans)])
        if not spans:
            hint = "Give them with --human"
            raise UserError("the folder has no human scores of outputs", where=str(self.path), hint=hint)
        return [self.file(f) for f in spans]

    def human_systems(self, files: Sequence[Path]) -> Path | None:
        """Return the file with the human system scores of the same name as the chosen file of human scores, if there is one."""
        names = {f.name for f in self.files.human if self.file(f) in files}
        return next((self.file(f) for f in self.files.human_systems if f.name in names), None)


def open_folder(path: Path, pair: str | None, roles: GivenRoles) -> MtmeFolder:
    """Read the texts of a language pair, and print how its files are read. Raises `UserError` and `ImportProblems`."""
    stored = stored_files(path)
    files = chosen_pair(stored, pair, path).with_roles(roles)
    print_note(*files.as_read())
    texts, missing = read_mtme_texts({file.name: file for file in stored}, files.roles)
    return MtmeFolder(path, files, texts, missing)
