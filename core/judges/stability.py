"""Stability of a judge over repeated calls with the same texts. `repeats` has the shape (n_outputs, n_calls), NaN for a missing value."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from core.judges.agreement import kappa
from core.stats.correlation.correlation import Statistic
from core.stats.correlation.pairs import Floats

FEWEST_CALLS = 3
TARGETS = (3, 10)
"""Numbers of calls for which the reliability of their mean is shown."""


class Stability(NamedTuple):
    """Repeated calls: `flip_rate` and `kappa` are those of classes, `icc` that of scores; `mean_of` is the reliability of the mean of m calls."""

    outputs: int
    calls: int
    flip_rate: Statistic
    kappa: Statistic
    icc: Statistic
    mean_of: tuple[tuple[int, float | None], ...]

    @property
    def enough(self) -> bool:
        return self.calls >= FEWEST_CALLS


def stability(scores: Floats, classes: Floats, n_classes: int) -> Stability:
    """Return the stability of repeated calls; outputs with fewer than two values are left out."""
    twice = (~np.isnan(scores)).sum(1) >= 2
    scores = scores[twice]
    r = icc(scores)
    means = tuple((m, None if r.value is None else reliability(r.value, m)) for m in TARGETS)
    calls = int((~np.isnan(scores)).sum(1).max(initial=0))
    return Stability(int(twice.sum()), calls, flip_rate(classes), mean_pairwise_kappa(classes, n_classes), r, means)


def flip_rate(classes: Floats) -> Statistic:
    """Return the mean over outputs of 1 − the share of their most frequent class, in [0, 1]; 0 is best."""
    twice = classes[(~np.isnan(classes)).sum(1) >= 2]
    if not len(twice):
        return Statistic(None, "no output was judged twice")
    most = np.max([(twice == c).sum(1) for c in np.unique(twice[~np.isnan(twice)])], axis=0)
    return Statistic(float((1 - most / (~np.isnan(twice)).sum(1)).mean()), "", len(twice))


def mean_pairwise_kappa(classes: Floats, n_classes: int) -> Statistic:
    """Return the mean of Cohen's κ over the pairs of calls for which it is defined."""
    pairs = [kappa(classes[:, a], classes[:, b], n_classes) for a, b in combinations(range(classes.shape[1]), 2)]
    known = [pair.value for pair in pairs if pair.value is not None]
    if not known:
        return Statistic(None, pairs[0].reason if pairs else "no output was judged twice")
    return Statistic(float(np.mean(known)), "", len(classes), len(known), len(pairs) - len(known))


def icc(scores: Floats) -> Statistic:
    """Return the intraclass correlation of a one-way random model, r = (MS_b − MS_w)/(MS_b + (k₀ − 1)·MS_w) (Shrout and Fleiss 1979, ICC(1, 1)).

    With unequal numbers of calls k_i, k₀ = (N − Σ k_i²/N)/(n − 1). 1: calls agree; 0 or below: an output's calls differ as much as outputs do.
    """
    present = ~np.isnan(scores)
    scores, present = scores[present.any(1)], present[present.any(1)]
    k = present.sum(1).astype(np.float64)
    n, total = len(scores), float(k.sum())
    if n < 2 or total <= n:
        return Statistic(None, "at least two outputs must be judged twice", n)
    own = np.where(present, scores, 0.0).sum(1) / k
    between = float((k * (own - np.where(present, scores, 0.0).sum() / total) ** 2).sum()) / (n - 1)
    within = float((np.where(present, scores - own[:, None], 0.0) ** 2).sum()) / (total - n)
    k0 = (total - float((k**2).sum()) / total) / (n - 1)
    below = between + (k0 - 1) * within
    if below <= 0:
        return Statistic(None, "all values are equal", n)
    return Statistic((between - within) / below, "", n)


def reliability(r: float, calls: int) -> float | None:
    """Return the reliability of the mean of m calls, m·r/(1 + (m − 1)·r) (Spearman 1910, Brown 1910); None for r below 0."""
    return None if r < 0 else calls * r / (1 + (calls - 1) * r)
