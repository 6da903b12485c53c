"""Rank bias of a metric: its ranking of systems compared with the human ranking (Amplayo et al. 2022, §7).

Rank 1 is the best; equal scores share their mean rank. Higher scores are better; shape (n_systems,).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from core.stats.checks import vectors
from core.stats.correlation.correlation import agreement
from core.stats.correlation.pairs import Floats
from core.stats.pairwise_accuracy import TOO_FEW_SYSTEMS


class RankBias(NamedTuple):
    """Differences of a metric's ranking from the human ranking.

    `differences[i]` = metric rank − human rank of system i (Figure 4); below 0, the metric favours the system. They sum to 0.
    `deviation` is their population standard deviation, σ(Rank Diff) of Table 4, lower is better, 0 for the human ranking;
    `mean_absolute` the mean of their absolute values; `accuracy` the share of system pairs with the human order, in [0, 1].
    With fewer than two systems, or equal scores on one side, all are None or empty, with the `reason`.
    """

    human: tuple[float, ...]
    metric: tuple[float, ...]
    differences: tuple[float, ...]
    deviation: float | None
    mean_absolute: float | None
    accuracy: float | None
    reason: str = ""


def ranks(scores: npt.ArrayLike) -> Floats:
    """Return ranks, 1 for the highest score and the mean rank for ties; shape (n,)."""
    (values,) = vectors(scores)
    return np.asarray(rankdata(-values), dtype=np.float64)


def rank_bias(metric: npt.ArrayLike, human: npt.ArrayLike) -> RankBias:
    """Compare a metric's system scores with the human ones. Raises `ValueError` for different shapes."""
    m, h = vectors(metric, human)
    reason = TOO_FEW_SYSTEMS if len(m) < 2 else ""
    for name, values in (("metric", m), ("human", h)):
        if not reason and values.min() == values.max():
            reason = f"all {name} scores of the systems are equal"
    if reason:
        return RankBias((), (), (), None, None, None, reason)
    of_metric, of_human = ranks(m), ranks(h)
    apart = of_metric - of_human
    return RankBias(
        tuple(of_human.tolist()),
        tuple(of_metric.tolist()),
        tuple(apart.tolist()),
        float(np.sqrt((apart**2).mean())),  # their mean is 0
        float(np.abs(apart).mean()),
        agreement("acc_eq", m, h).value,
    )
