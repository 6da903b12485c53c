"""Soft pairwise accuracy of a metric's system ranking (Thompson et al. 2024).

It lies in [0, 1], higher is better; higher scores must be better. Tables have the shape (n_systems, n_segments). Pairwise
accuracy (Kocmi et al. 2021) is `core.stats.correlation.correlation.system_agreement` with acc_eq.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.stats.checks import tables
from core.stats.correlation.correlation import Statistic
from core.stats.correlation.pairs import Floats
from core.stats.significance.random_signs import random_signs

TOO_FEW_SYSTEMS = "at least two systems are needed"
TOO_FEW_SEGMENTS = "at least two segments that every system translated are needed"
ROUNDING = 1e-10


def soft_pairwise_accuracy(metric: npt.ArrayLike, human: npt.ArrayLike, *, seed: int, draws: int = 1000) -> Statistic:
    """Return 1 − mean over the pairs i < j of |p_human(i, j) − p_metric(i, j)| (Thompson et al. 2024, section 3).

    p(i, j) is the one-sided p-value of "system i is better than j" from a paired permutation test; human and metric scores
    share the permutations. `n` counts systems. p counts draws equal to the observed difference, as in the paper's code, so
    p(i, j) + p(j, i) ≠ 1 for two systems with many equal scores, and their order in the table matters a little.

    With 1,000 draws, the standard deviation over seeds is .001 to .002. google-research/mt-metrics-eval always uses seed 4 and
    single precision, which loses some ties with the observed difference; its value differs by about as much. Undefined if
    all systems have equal scores on every segment.
    """
    m, h = tables(metric, human)
    if min(m.shape) < 2:
        return Statistic(None, TOO_FEW_SYSTEMS if len(m) < 2 else TOO_FEW_SEGMENTS, len(m))
    for name, table in (("metric", m), ("human", h)):
        if (table.max(0) == table.min(0)).all():
            return Statistic(None, f"all systems have equal {name} scores on every segment", len(m))
    found = np.zeros((2, len(m), len(m)))
    for signs in random_signs(m.shape[1], seed, draws):
        found += [at_least(m, signs), at_least(h, signs)]
    pairs = np.triu_indices(len(m), 1)
    p_metric, p_human = (found / draws)[:, *pairs]
    return Statistic(float(1 - np.abs(p_human - p_metric).mean()), "", len(m))


def at_least(scores: Floats, signs: Floats) -> Floats:
    """Count the sign vectors for which system i's lead over j > i is at least the observed one; shape (n_systems, n_systems).

    A sign of −1 swaps the two systems' scores of that segment. Other cells are 0.
    """
    drawn, seen = signs @ scores.T, scores.sum(1)
    counts = np.zeros((len(scores), len(scores)))
    for i, row in enumerate(scores):
        slack = ROUNDING * np.abs(row - scores[i + 1 :]).sum(1)
        far = drawn[:, [i]] - drawn[:, i + 1 :] >= seen[i] - seen[i + 1 :] - slack
        counts[i, i + 1 :] = np.count_nonzero(far, axis=0)
    return counts
