"""System scores as given in files, such as corpus scores, beside the means of segment scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.services.evaluate.evaluate import STATISTICS, AgreementRow, measure_of
from core.services.evaluate.evaluation_data import EvaluationData, ScoredMetric
from core.stats.correlation.correlation import group_ids, system_agreement
from core.stats.means import group_means

AS_GIVEN = "as given"
NO_INTERVAL = "no CI: system scores as given have no segments to resample"


class GivenScores(NamedTuple):
    """The score of each system under a metric, negated if lower is better."""

    metric: ScoredMetric
    values: Mapping[str, float]


def rows_as_given(
    joined: EvaluationData, given: Sequence[GivenScores], human: Mapping[str, float] | None = None
) -> tuple[AgreementRow, ...]:
    """Return the agreement of system scores as given, without CIs and soft pairwise accuracy, which need segments.

    They are compared with the `human` system scores, or with the means of all human scores of each system in `joined`. Systems
    without one of the two scores are left out; `n` counts the others.
    """
    if human is None:
        means = group_means(joined.human, group_ids(joined.of_system)).tolist()
        human = dict(zip(joined.systems, means, strict=True))
    rows = []
    for metric, values in given:
        systems = [s for s in joined.systems if s in values and s in human]
        ours, theirs = (np.array([of[s] for s in systems], dtype=np.float64) for of in (values, human))
        for statistic in STATISTICS["system"]:
            if statistic == "soft_pairwise":
                continue
            found = system_agreement(measure_of(statistic), ours, theirs)
            rows.append(
                AgreementRow(
                    f"{metric.label}, {AS_GIVEN}", "metric", statistic, "system", AS_GIVEN, found.value, None, None,
                    len(systems), 1, None, None, "undefined" if found.value is None else "ok",
                    found.reason if found.value is None else NO_INTERVAL, metric.name, metric.signature,
                )
            )  # fmt: skip
    return tuple(rows)
