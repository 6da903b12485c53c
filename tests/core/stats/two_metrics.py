"""Tests between two metrics: PERM-BOTH, and for comparison that of the WMT metrics task (mt-metrics-eval).

The latter keeps both ε and swaps the results of pairs of outputs, as if pairs were independent.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from core.stats.correlation.correlation import Measure
from core.stats.correlation.pairs import Floats, vectors
from core.stats.correlation.ties import blocks_by_size, calibrate_ties
from core.stats.significance.perm_both import PermBoth, agreement_with_ties
from core.stats.significance.system_comparison import Comparison


def perm_both(
    measure: Measure, first: npt.ArrayLike, second: npt.ArrayLike, human: npt.ArrayLike, *, seed: int, draws: int = 1000,
    **where: Any,
) -> Comparison:  # fmt: skip
    """Return PERM-BOTH of two metrics; `where` are the group, segments and systems."""
    x, y, h = vectors(first, second, human)
    seen = [agreement_with_ties(measure, m, h, **where) for m in (x, y)]
    return PermBoth(measure, h, np.stack([x, y]), seen, seed=seed, draws=draws, **where).compare([(0, 1)])[0]


def swapped_pairs(
    x: Floats, y: Floats, human: Floats, segments: Sequence[Hashable], seed: int, draws: int
) -> tuple[float, float]:
    """Return the difference of the metrics' acc_eq by segment, and its two-sided p."""
    first, second = (calibrate_ties(m, human, segments).statistic.value or 0.0 for m in (x, y))
    drawn = _pair_swaps(x, y, human, segments, seed, draws)
    as_far = np.abs(drawn) >= abs(first - second) - 1e-12
    return first - second, float((as_far.sum() + 1) / (draws + 1))


def _pair_swaps(x: Floats, y: Floats, human: Floats, segments: Sequence[Hashable], seed: int, draws: int) -> Floats:
    """Return the differences of acc_eq when each pair's two results are swapped with probability ½.

    Only pairs with different results count, each by ± its share, so the sum over groups of one size is a binomial draw.
    """
    rng = np.random.default_rng(seed)
    blocks = blocks_by_size(segments, len(human))
    n_groups = sum(len(b) for b in blocks)
    epsilons = [calibrate_ties(m, human, segments).epsilon or 0.0 for m in (x, y)]
    total = np.zeros(draws)
    for rows in blocks:
        i, j = np.triu_indices(rows.shape[1], 1)
        human_sign = np.sign(human[rows[:, i]] - human[rows[:, j]])
        right = []
        for metric, epsilon in zip((x, y), epsilons, strict=True):
            gap = metric[rows[:, i]] - metric[rows[:, j]]
            right.append(np.where(np.abs(gap) <= epsilon, 0, np.sign(gap)) == human_sign)
        differing = int((right[0] != right[1]).sum())
        total += (2.0 * rng.binomial(differing, 0.5, draws) - differing) / (len(i) * n_groups)
    return total
