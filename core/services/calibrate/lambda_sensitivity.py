"""Sensitivity of λ to the raters, the weight scheme and the quality of the systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.calibration.calibrate import Calibration, CalibrationPoint, calibrate
from core.calibration.lambda_search import search
from core.data import OutputKey, Value
from core.errors import UserError
from core.formatting import format_count
from core.mqm.label_columns import LabelColumns
from core.mqm.rated_by_output import RatedByOutput
from core.mqm.schemes import Scheme
from core.mqm.scores import SystemScore
from core.progress import Progress, no_progress, part
from core.services.calibrate.calibration import LambdaFitOptions, from_rated, points
from core.services.evaluate.evaluation_data import EvaluationData
from core.stats.correlation.correlation import Group, Measure, Statistic, agreement

FEWEST_OF_RATER = 20
"""Fewest outputs for which λ is fitted to one rater."""


class RaterLambda(NamedTuple):
    """λ fitted to the labels of these raters on `n` outputs; without `calibration`, the reason."""

    raters: tuple[str, ...]
    n: int
    calibration: Calibration | None
    reason: str = ""


class SchemeLambda(NamedTuple):
    """λ and the ranking of systems under a weight scheme, on `n` outputs; without `calibration`, the reason.

    `at_first` is the agreement of the first scheme's λ under this scheme; `systems` are ordered best first.
    """

    scheme: Scheme
    n: int
    calibration: Calibration | None
    at_first: float | None
    systems: tuple[SystemScore, ...]
    reason: str = ""

    def rank(self, system: str) -> int | None:
        """Return 1 + the number of systems with a higher score."""
        score = self.score(system)
        return None if score is None else 1 + sum(s.score > score for s in self.systems)

    def score(self, system: str) -> float | None:
        return next((s.score for s in self.systems if s.system == system), None)


class TopSystemsAgreement(NamedTuple):
    """Agreement of a metric with the human scores on the K best systems, over `n` outputs."""

    name: str
    label: str
    sentinel: bool
    k: int
    n: int
    agreement: Statistic


def by_rater(
    labels: LabelColumns,
    raters: Sequence[str],
    scheme: Scheme,
    table: Mapping[OutputKey, Value],
    choice: LambdaFitOptions,
    progress: Progress = no_progress,
) -> list[RaterLambda]:
    """Fit λ to all raters together, then to each rater with at least `FEWEST_OF_RATER` outputs."""
    groups = [tuple(raters), *((r,) for r in raters if len(raters) > 1)]
    fits = []
    for k, group in enumerate(groups):
        data = points(table, from_rated(labels, group, scheme))
        fitted, reason = _fitted(data, FEWEST_OF_RATER, choice, part(progress, k, len(groups)))
        fits.append(RaterLambda(group, len(data), fitted, reason))
    return fits


def _fitted(
    data: Sequence[CalibrationPoint], fewest: int, choice: LambdaFitOptions, progress: Progress
) -> tuple[Calibration | None, str]:
    if len(data) < fewest:
        return None, f"{format_count(len(data), 'scored output')}; at least {fewest} are needed"
    try:
        return calibrate(data, **choice._asdict(), progress=progress), ""
    except UserError as error:
        return None, error.got or error.what


def by_scheme(
    labels: LabelColumns,
    raters: Sequence[str],
    schemes: Sequence[Scheme],
    table: Mapping[OutputKey, Value],
    choice: LambdaFitOptions,
    progress: Progress = no_progress,
) -> list[SchemeLambda]:
    """Return λ, its agreement and the human ranking of systems under each scheme. The ranking uses all labelled outputs."""
    mine = RatedByOutput(labels, labels.rows_by(raters))
    fits: list[SchemeLambda] = []
    for k, scheme in enumerate(schemes):
        try:
            human_scores = from_rated(labels, raters, scheme)
        except UserError as error:
            fits.append(SchemeLambda(scheme, 0, None, None, (), f"{error.what}: {error.got}"))
            continue
        data, systems = points(table, human_scores), tuple(mine.system_scores(scheme))
        fitted, reason = _fitted(data, 2, choice, part(progress, k, len(schemes)))
        if fitted is None:
            fits.append(SchemeLambda(scheme, len(data), None, None, systems, reason))
            continue
        first = next((u.calibration for u in fits if u.calibration is not None), fitted)
        curve, _ = search(
            [p.dist_exp for p in data], [p.dist_imp for p in data], [p.human for p in data],
            measure=choice.measure, group=choice.group,
            segments=[p.key.segment for p in data], systems=[p.key.system for p in data],
        )  # fmt: skip
        fits.append(SchemeLambda(scheme, len(data), fitted, curve.value(first.lam), systems))
    return fits


def same_order(a: SchemeLambda, b: SchemeLambda) -> Statistic:
    """Return Kendall τ-b between the systems' mean scores under two schemes, over the systems in both; 1 is the same order."""
    scores_of_b = {s.system: s.score for s in b.systems}
    pairs = [(s.score, scores_of_b[s.system]) for s in a.systems if s.system in scores_of_b]
    return agreement("kendall", [x for x, _ in pairs], [y for _, y in pairs])


def metrics_at_top(
    joined: EvaluationData,
    order: Sequence[str],
    measure: Measure,
    group: Group,
    progress: Progress = no_progress,
) -> list[TopSystemsAgreement]:
    """Return the agreement of every metric and sentinel on the K best systems of `order` (Lu et al. 2023, Figure 3).

    K runs from 3 to all systems. A metric that is undefined on some outputs is undefined at every K, with its reason.
    """
    scored_systems = [s for s in order if s in joined.systems]
    agreements = []
    for k in range(3, len(scored_systems) + 1):
        progress((k - 3) / (len(scored_systems) - 2))
        best = set(scored_systems[:k])
        part = joined.only([key.system in best for key in joined.keys])
        for c in joined.scored_metrics:
            value = Statistic(None, c.undefined) if c.undefined else part.agreement(measure, c.name, group)
            agreements.append(TopSystemsAgreement(c.name, c.label, c.sentinel, k, len(part.keys), value))
    return agreements
