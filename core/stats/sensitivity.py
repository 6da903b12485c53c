"""Sensitivity of a metric to an error (Karpinska et al. 2022; Lu et al. 2023, appendix D), from scores alone.

z = (m(r, h) − m(r, h′)) / (m(r, h) − m(r, "")): the share of all that separates a good output h from an empty one which the
error in h′ costs. 0: the metric does not see the error; 1: as bad as an empty output; below 0: it prefers the error. The sign
of a metric cancels, so that TER (lower is better) reads as chrF does; z is not bounded on either side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.bootstrap import Interval, mean_interval
from core.stats.correlation import group_ids, rows_by
from core.stats.pairs import Floats

NEAR_ZERO = 0.01
"""A denominator this small against the mean |denominator| of the metric's pairs is 0: such a z would count a hundredfold."""
ROUNDING = 1e-6
"""A difference this small against the scores themselves is rounding (single precision carries about seven digits)."""

TOO_CLOSE = "the metric hardly tells the good text from an empty one"
NO_SCORE = "a score is missing"
Flags = npt.NDArray[np.bool_]


class Ratios(NamedTuple):
    """One entry a pair. `z` is NaN where it is undefined; `too_close` says where that is for its denominator."""

    z: Floats
    too_close: Flags


class Sensitivity(NamedTuple):
    """What a metric makes of one type of error.

    `pairs` counts all of the type; `z.n` those with a z, the mean of which is `z.value`; `accuracy` is the share, among the
    pairs with both scores, in which the good text gets strictly the better one. `undefined` says why pairs have no z, most
    frequent first. In `empty_better` pairs, which are part of the mean, the metric likes an empty output more than the
    good one: their z has the opposite sign.
    """

    type: str
    pairs: int
    z: Interval
    accuracy: Interval
    undefined: tuple[tuple[str, int], ...]
    empty_better: int


def ratios(good: Floats, perturbed: Floats, empty: Floats) -> Ratios:
    """z of each pair; all three of shape (n_pairs,), NaN where there is no score.

    Undefined where |m(good) − m(empty)| ≤ `NEAR_ZERO` × its mean over all pairs given, so the same in whatever unit the
    metric counts; and where it is rounding.
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
    level: float = 0.95,
) -> list[Sensitivity]:
    """One metric's sensitivity to each type, in the order the types first appear.

    `good`, `perturbed` and `empty` are its scores, shape (n_pairs,), NaN where there is none; `missing` says why, one text a
    pair. What is near 0 is judged over the pairs of all types together. Intervals are percentile intervals over resampled
    pairs of the type, those with a z for z, those with both scores for the accuracy.
    """
    sign = 1.0 if higher_is_better else -1.0
    z, too_close = ratios(good, perturbed, empty)
    compared = ~np.isnan(good) & ~np.isnan(perturbed)
    right = (sign * (good - perturbed) > 0).astype(np.float64)
    upside_down = ~np.isnan(z) & (sign * (good - empty) < 0)
    found = []
    for rows in rows_by(group_ids(types)):
        lost = rows[np.isnan(z[rows])]
        why = Counter(TOO_CLOSE if too_close[i] else (missing[i] if missing else "") or NO_SCORE for i in lost)
        found.append(
            Sensitivity(
                types[rows[0]],
                len(rows),
                _interval(z[np.setdiff1d(rows, lost)], seed, draws, level),
                _interval(right[rows[compared[rows]]], seed, draws, level),
                tuple(why.most_common()),
                int(upside_down[rows].sum()),
            )
        )
    return found


def _interval(values: Floats, seed: int, draws: int, level: float) -> Interval:
    found = mean_interval(values, seed, draws=draws, level=level)
    reason = {0: "no pair has a value", 1: "an interval needs at least two pairs"}.get(found.n, found.reason)
    return found._replace(reason=reason)
