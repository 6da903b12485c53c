"""Whether a metric favours some systems: its ranking of systems beside that of people (Amplayo et al. 2022, §7).

Rank 1 is the best; equal scores share their mean rank. Both scores are "higher is better", shape (n_systems,).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from core.stats.checks import vectors
from core.stats.correlation import acc_eq
from core.stats.pairs import Floats
from core.stats.pairwise_accuracy import TOO_FEW_SYSTEMS


class RankBias(NamedTuple):
    """`differences[i]` = metric rank − human rank of system i, in ranks: below 0 the metric places it higher than people do
    (Figure 4). They sum to 0.

    `deviation` is their population standard deviation, σ(Rank Diff) of Table 4, 0 for the ranking of people and lower for
    less bias; `mean_absolute` the mean of their sizes; `accuracy` the share of system pairs ordered as people order them,
    in [0, 1]. Without systems to rank (fewer than two, or all equal for one side) all are None or empty, with the `reason`.
    """

    human: tuple[float, ...]
    metric: tuple[float, ...]
    differences: tuple[float, ...]
    deviation: float | None
    mean_absolute: float | None
    accuracy: float | None
    reason: str = ""


def ranks(scores: npt.ArrayLike) -> Floats:
    """Rank 1 for the highest score, the mean rank for equal ones; shape (n,)."""
    (values,) = vectors(scores)
    found: Floats = np.asarray(rankdata(-values), dtype=np.float64)
    return found


def rank_bias(metric: npt.ArrayLike, human: npt.ArrayLike) -> RankBias:
    """The bias of a metric that scores systems, against what people give them. Raises `ValueError` for different shapes."""
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
        acc_eq(m, h).value,
    )
