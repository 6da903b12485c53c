"""Sensitivity of a metric to errors (Karpinska et al. 2022; Lu et al. 2023, appendix D), computed from scores.

z = (m(r, h) − m(r, h′)) / (m(r, h) − m(r, "")): the cost of the error in h′, relative to the difference between a good output
h and an empty one. 0: the metric misses the error; 1: as bad as an empty output; below 0: it prefers the error. The sign of a
metric cancels, so metrics for which lower is better (TER) need no special treatment. z is unbounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.bootstrap import Interval, mean_interval
from core.stats.correlation.correlation import group_ids, rows_by
from core.stats.correlation.pairs import Floats

NEAR_ZERO = 0.01
"""A denominator smaller than this share of the metric's mean |denominator| counts as 0: z would be inflated a hundredfold."""
ROUNDING = 1e-6
"""A difference smaller than this share of the scores is rounding (single precision has about seven digits)."""

TOO_CLOSE = "the scores of the good text and of an empty one are too close"
NO_SCORE = "a score is missing"
Flags = npt.NDArray[np.bool_]


class Ratios(NamedTuple):
    """z per pair, NaN where undefined; `too_close` marks pairs with too small a denominator."""

    z: Floats
    too_close: Flags


class Sensitivity(NamedTuple):
    """Sensitivity of a metric to one type of error.

    `pairs` counts all pairs of the type, `z.n` those with a z, and `z.value` is its mean. `accuracy` is the share of pairs with
    both scores in which the good text scores strictly better. `undefined` lists reasons for missing z, most frequent first.
    In `empty_better` pairs, the empty output scores better than the good one, so z has the opposite sign; they are included
    in the mean.
    """

    type: str
    pairs: int
    z: Interval
    accuracy: Interval
    undefined: tuple[tuple[str, int], ...]
    empty_better: int


def ratios(good: Floats, perturbed: Floats, empty: Floats) -> Ratios:
    """Return z of each pair; all three scores have the shape (n_pairs,), NaN where missing.

    Undefined if |m(good) − m(empty)| ≤ `NEAR_ZERO` × its mean over all pairs, which does not depend on the metric's scale, or
    if it is within rounding.
    """
    gap = good - empty
    size = np.abs(gap)
    known = ~np.isnan(size)
    scale = float(size[known].mean()) if known.any() else 0.0
    limit = np.maximum(NEAR_ZERO * scale, ROUNDING * np.maximum(np.abs(good), np.abs(empty)))
    too_close = known & (size <= limit)
    z = np.full(len(gap), np.nan)
    np.divide(good - perturbed, gap, out=z, where=known & ~too_close)
    return Ratios(z, too_close)


def sensitivities(
    types: Sequence[str],
    good: Floats,
    perturbed: Floats,
    empty: Floats,
    *,
    higher_is_better: bool = True,
    missing: Sequence[str] = (),
    seed: int = 0,
    draws: int = 1000,
) -> list[Sensitivity]:
    """Return a metric's sensitivity to each error type, in order of first appearance.

    `good`, `perturbed` and `empty` are its scores, shape (n_pairs,), NaN where missing; `missing` gives the reason per pair.
    The threshold for denominators near 0 uses the pairs of all types. Intervals are percentile intervals over resampled pairs
    of the type: those with a z for z, those with both scores for the accuracy.
    """
    sign = 1.0 if higher_is_better else -1.0
    z, too_close = ratios(good, perturbed, empty)
    compared = ~np.isnan(good) & ~np.isnan(perturbed)
    right = (sign * (good - perturbed) > 0).astype(np.float64)
    upside_down = ~np.isnan(z) & (sign * (good - empty) < 0)
    of_types = []
    for rows in rows_by(group_ids(types)):
        lost = rows[np.isnan(z[rows])]
        why = Counter(TOO_CLOSE if too_close[i] else (missing[i] if missing else "") or NO_SCORE for i in lost)
        of_types.append(
            Sensitivity(
                types[rows[0]],
                len(rows),
                _interval(z[np.setdiff1d(rows, lost)], seed, draws),
                _interval(right[rows[compared[rows]]], seed, draws),
                tuple(why.most_common()),
                int(upside_down[rows].sum()),
            )
        )
    return of_types


def _interval(values: Floats, seed: int, draws: int) -> Interval:
    interval = mean_interval(values, seed, draws=draws)
    reason = {0: "no pair has a value", 1: "an interval needs at least two pairs"}.get(interval.n, interval.reason)
    return interval._replace(reason=reason)
