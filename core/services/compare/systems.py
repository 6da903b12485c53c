"""Scores of systems: means over segments, and corpus scores as given in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.columns import Array
from core.services.compare.compare import Order, row_mean
from core.services.evaluate.evaluate import STATISTICS, AgreementRow, measure_of
from core.services.evaluate.evaluation_data import EvaluationData, ScoredMetric
from core.services.projects.view import Column, View
from core.stats.correlation.correlation import group_ids, system_agreement
from core.stats.means import group_means


class SystemScores(NamedTuple):
    """Means of output scores, shape (n_systems, n_columns), NaN without a score; `counts` are the outputs with a score."""

    systems: tuple[str, ...]
    columns: tuple[Column, ...]
    means: Array
    counts: npt.NDArray[np.intp]
    outputs: int

    @property
    def best(self) -> npt.NDArray[np.bool_]:
        """Return the best mean of each column; none without a direction, or if all systems are equal."""
        is_best = np.zeros(self.means.shape, dtype=bool)
        for k, column in enumerate(self.columns):
            defined = self.means[~np.isnan(self.means[:, k]), k]
            if not column.human and len(defined) and defined.min() < defined.max():
                is_best[:, k] = self.means[:, k] == (defined.max() if column.higher_is_better else defined.min())
        return is_best

    @property
    def partial(self) -> list[tuple[Column, int]]:
        """Return the columns that lack scores, with the number of outputs that have one."""
        totals = zip(self.columns, self.counts.sum(axis=0).tolist(), strict=True)
        return [(c, n) for c, n in totals if n < self.outputs]


def system_scores(view: View, lam: float, rows: Order, systems: Sequence[str] = ()) -> SystemScores:
    """Return the means over the segments `rows` of these systems, or of all."""
    at = view.at(systems)
    cells = np.ix_(rows, np.array(at, dtype=np.intp))
    values = [view.values(c.name, lam)[cells].T for c in view.human_first]
    return SystemScores(
        tuple(view.systems[i] for i in at),
        view.human_first,
        np.stack([row_mean(v) for v in values], axis=1),
        np.stack([(~np.isnan(v)).sum(axis=1) for v in values], axis=1),
        int(view.present[cells].sum()),
    )


AS_GIVEN = "as given"
NO_INTERVAL = "no CI: system scores as given have no segments to resample"


class GivenScores(NamedTuple):
    """The score of each system under a metric, negated if lower is better."""

    metric: ScoredMetric
    values: Mapping[str, float]


def rows_as_given(
    joined: EvaluationData, given_scores: Sequence[GivenScores], human: Mapping[str, float] | None = None
) -> tuple[AgreementRow, ...]:
    """Return the agreement of system scores as given, without CIs and soft pairwise accuracy, which need segments.

    They are compared with the `human` system scores, or with the means of all human scores of each system in `joined`. Systems
    without one of the two scores are left out; `n` counts the others.
    """
    if human is None:
        means = group_means(joined.human, group_ids(joined.of_system)).tolist()
        human = dict(zip(joined.systems, means, strict=True))
    rows = []
    for metric, values in given_scores:
        systems = [s for s in joined.systems if s in values and s in human]
        ours, theirs = (np.array([of[s] for s in systems], dtype=np.float64) for of in (values, human))
        for statistic in STATISTICS["system"]:
            if statistic == "soft_pairwise":
                continue
            agreement = system_agreement(measure_of(statistic), ours, theirs)
            rows.append(
                AgreementRow(
                    f"{metric.label}, {AS_GIVEN}", "metric", statistic, "system", AS_GIVEN, agreement.value, None, None,
                    len(systems), 1, None, None, "undefined" if agreement.value is None else "ok",
                    agreement.reason if agreement.value is None else NO_INTERVAL, metric.name, metric.signature,
                )
            )  # fmt: skip
    return tuple(rows)
