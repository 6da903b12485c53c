"""The test of the WMT metrics task between two metrics (mt-metrics-eval), for comparison with `perm_both`.

It keeps both ε and swaps the results of pairs of outputs, as if pairs were independent.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from core.stats.correlation.pairs import Floats
from core.stats.correlation.ties import blocks_by_size, calibrate_ties


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
