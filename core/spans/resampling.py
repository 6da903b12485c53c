"""Confidence intervals of span measures over segments, and paired permutation tests between layers.

Both need the statistics of each segment (`core.spans.measures.span_statistics`, summed): a measure is a function of their sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Literal

import numpy as np

from core.progress import Progress, no_progress
from core.spans.measures import COMPARISONS, GOLD, PREDICTED, F, rates
from core.stats.bootstrap import Interval, draws_of, percentiles
from core.stats.correlation.pairs import Floats
from core.stats.significance.random_signs import random_signs
from core.stats.significance.system_comparison import SLACK, Comparison

Average = Literal["micro", "macro"]
AVERAGES: dict[Average, str] = {
    "micro": "micro: sums of all outputs",
    "macro": "macro: mean F of outputs",
}
DRAWS_AT_ONCE = 64
TOO_FEW = "at least two segments are needed"


def average_f(sums: Floats, average: Average) -> Floats:
    """Return F of summed statistics, shape (…, 6): from the sums, or the mean F of outputs. NaN without any output."""
    n = sums[..., COMPARISONS]
    value = rates(sums)[2] if average == "micro" else np.divide(sums[..., F], n, out=np.zeros(n.shape), where=n > 0)
    return np.where(n > 0, value, np.nan)


def intervals(
    statistics: Floats, average: Average, *, seed: int, draws: int, progress: Progress = no_progress
) -> list[Interval]:
    """Return F of each layer with its percentile interval from resampled segments.

    `statistics` has the shape (n_segments, n_layers, 6). All layers share the draws. Draws without any span are left out of the micro
    average, and draws without any output of a layer.
    """
    n, layers = statistics.shape[:2]
    seen = average_f(statistics.sum(0), average).tolist()
    values = [None if np.isnan(value) else float(value) for value in seen]
    if n < 2 or not draws:
        return [Interval(value, None, None, n, TOO_FEW if n < 2 else "") for value in values]
    flat, resampled, counts = statistics.reshape(n, -1), [], draws_of(n, seed, draws)
    while block := list(islice(counts, DRAWS_AT_ONCE)):
        sums = (np.stack(block) @ flat).reshape(-1, layers, 6)
        empty = (sums[..., PREDICTED] + sums[..., GOLD] == 0) & (average == "micro")
        resampled.append(np.where(empty, np.nan, average_f(sums, average)))
        progress(min(1.0, len(resampled) * DRAWS_AT_ONCE / draws))
    drawn = np.concatenate(resampled)
    ends = [percentiles(of[~np.isnan(of)]) if not np.isnan(of).all() else (None, None) for of in drawn.T]
    return [Interval(value, low, high, n) for value, (low, high) in zip(values, ends, strict=True)]


def permutation_tests(
    statistics: Floats, pairs: Sequence[tuple[int, int]], average: Average, *, seed: int, draws: int,
    progress: Progress = no_progress,
) -> list[Comparison]:  # fmt: skip
    """Return the difference in F of each pair of layers, with two-sided p = (1 + #{|δ_k| ≥ |δ|})/(draws + 1).

    δ_k is the difference after both layers have swapped their spans in each segment with probability ½ (approximate randomization,
    Noreen 1989). `statistics` has the shape (n_segments, n_layers, 6).
    """
    n = len(statistics)
    if n < 2 or not pairs:
        return [Comparison(None, None, TOO_FEW, n) for _ in pairs]
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    differences = (statistics[:, first] - statistics[:, second]).reshape(n, -1)
    total = statistics.sum(0)
    both = total[first] + total[second]
    seen = average_f(total[first], average) - average_f(total[second], average)
    reached, done = np.zeros(len(pairs), dtype=np.int64), 0
    for signs in random_signs(n, seed, draws, max(n, differences.shape[1])):
        moved = (signs @ differences).reshape(len(signs), *both.shape)
        delta = average_f((both + moved) / 2, average) - average_f((both - moved) / 2, average)
        reached += (np.abs(delta) >= np.abs(seen) - SLACK).sum(0)
        done += len(signs)
        progress(done / draws)
    p = (1 + reached) / (draws + 1)
    return [Comparison(float(d), float(q), "", n, draws) for d, q in zip(seen, p, strict=True)]
