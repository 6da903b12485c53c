"""Compare systems on the same segments: tests, Holm's correction, ranks, and the minimum detectable difference.

For scores whose system value is the mean over segments (so not corpus BLEU). Tables are complete, of shape
(n_systems, n_segments); a positive difference means a higher mean for the first system.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import nct
from scipy.stats import t as student

from core.stats.bootstrap import LEVEL, Interval, counts_of, percentiles, resamples
from core.stats.correlation.correlation import Statistic, group_ids
from core.stats.correlation.pairs import Floats, tables, vectors
from core.stats.significance.random_signs import at_least, random_signs

Wins = npt.NDArray[np.bool_]
ROUNDING = 1e-12
Ended = Literal["", "reached", "clear"]


class Comparison(NamedTuple):
    """The `difference` (first minus second) and its two-sided `p`; None, with a reason, if undefined.

    `n` counts the segments or outputs compared, `draws` the random draws used for `p`, and `ended` says why these are fewer than
    asked for: enough of them `reached` the observed difference, or it is so large that it is `clear` that none will.
    """

    difference: float | None
    p: float | None
    reason: str = ""
    n: int = 0
    draws: int = 0
    ended: Ended = ""


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's (1979) adjusted p-values, in the order given; rejecting those ≤ α keeps the family-wise error rate ≤ α.

    The i-th smallest of m becomes the maximum of min(1, (m − k + 1)·p_k) over k ≤ i. Undefined tests (None) stay None and
    are not counted in m.
    """
    known = [i for i, p in enumerate(p_values) if p is not None]
    values = np.array([p_values[i] for i in known], dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p-values must lie in [0, 1]")
    order = np.argsort(values, kind="stable")
    raised = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    adjusted: list[float | None] = [None] * len(p_values)
    for place, value in zip(order, np.maximum.accumulate(raised), strict=True):
        adjusted[known[int(place)]] = float(value)
    return adjusted


def wins_of(
    n: int,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float | None],
    p_values: Sequence[float | None],
    alpha: float = 0.05,
) -> Wins:
    """Return `wins[i, j]`: i is better than j with p ≤ alpha. Untested pairs count as not different."""
    wins = np.zeros((n, n), dtype=bool)
    for (i, j), difference, p in zip(pairs, differences, p_values, strict=True):
        if difference and p is not None and p <= alpha:
            wins[(i, j) if difference > 0 else (j, i)] = True
    return wins


def rank_ranges(wins: Wins) -> list[tuple[int, int]]:
    """Return the smallest and the largest rank that each item can have, 1 is best; `wins[i, j]`: i is significantly better than j.

    An item ranks below those that beat it and above those that it beats (as in the WMT general translation task, Kocmi et al. 2023).
    """
    n = len(wins)
    return [(1 + int(wins[:, i].sum()), n - int(wins[i].sum())) for i in range(n)]


TOO_FEW = "at least two segments that both systems translated are needed"


class SystemPair(NamedTuple):
    """Comparison of systems `first` and `second` of a table.

    `adjusted` is Holm's p over all pairs; `detectable` is the minimum difference detectable with 80 % power, None with a
    reason if undefined.
    """

    first: int
    second: int
    randomization: Comparison
    adjusted: float | None
    bootstrap: Interval
    detectable: float | None
    detectable_reason: str = ""


def approximate_randomization(
    scores: npt.ArrayLike, *, seed: int, draws: int = 10_000, units: Sequence[Hashable] = ()
) -> dict[tuple[int, int], Comparison]:
    """Test all pairs of systems: p = (1 + #{|δ_k| ≥ |δ|})/(draws + 1), two-sided (Noreen 1989; Riezler and Maxwell 2005).

    δ_k is the difference of the means after swapping the two systems' scores of each segment with probability ½. With `units`,
    the document of each segment, whole documents are swapped. All pairs share the random swaps.
    """
    sums, _, n = _by_unit(scores, units)
    pairs = list(combinations(range(len(sums)), 2))
    if sums.shape[1] < 2:
        return {pair: Comparison(None, None, TOO_FEW, sums.shape[1]) for pair in pairs}
    seen = sums.sum(1)
    blocks = random_signs(sums.shape[1], seed, draws)
    as_far = sum((at_least(sums, signs, two_sided=True) for signs in blocks), np.zeros((len(sums), len(sums))))
    return {
        (i, j): Comparison(
            float(seen[i] - seen[j]) / n, float(1 + as_far[i, j]) / (draws + 1), "", sums.shape[1], draws
        )
        for i, j in pairs
    }


def paired_bootstrap(
    scores: npt.ArrayLike, *, seed: int, draws: int = 1000, units: Sequence[Hashable] = ()
) -> dict[tuple[int, int], Interval]:
    """Return the interval of the difference of each pair of systems (Koehn 2004): n of n segments are drawn with replacement.

    The same segments are drawn for all systems; with `units`, whole documents. With few segments, the interval is too narrow
    (the tests give figures).
    """
    sums, sizes, _ = _by_unit(scores, units)
    pairs = list(combinations(range(len(sums)), 2))
    n = sums.shape[1]
    if n < 2:
        return {pair: Interval(None, None, None, n, TOO_FEW) for pair in pairs}
    means = []
    for counts in map(counts_of, resamples(n, seed, draws)):
        means.append(counts @ sums.T / (counts @ sizes)[:, None])
    drawn, seen = np.concatenate(means), sums.sum(1) / sizes.sum()
    return {(i, j): Interval(float(seen[i] - seen[j]), *percentiles(drawn[:, i] - drawn[:, j]), n) for i, j in pairs}


def compare_systems(scores: npt.ArrayLike, *, seed: int, units: Sequence[Hashable] = ()) -> list[SystemPair]:
    """Return all comparisons of each pair of systems; the minimum detectable difference uses α = 1 − `LEVEL`."""
    tests = approximate_randomization(scores, seed=seed, units=units)
    intervals = paired_bootstrap(scores, seed=seed, units=units)
    adjusted = holm([t.p for t in tests.values()])
    sums, sizes, _ = _by_unit(scores, units)
    comparisons = []
    for (pair, test), p in zip(tests.items(), adjusted, strict=True):
        differences = (sums[pair[0]] - sums[pair[1]]) * (len(sizes) / max(1.0, float(sizes.sum())))
        detectable = minimum_detectable_difference(differences, alpha=1 - LEVEL)
        comparisons.append(SystemPair(*pair, test, p, intervals[pair], detectable.value, detectable.reason))
    return comparisons


def _by_unit(scores: npt.ArrayLike, units: Sequence[Hashable]) -> tuple[Floats, Floats, int]:
    """Return sums per unit of shape (n_systems, n_units), unit sizes and the number of segments."""
    (values,) = tables(scores)
    n = values.shape[1]
    if not len(units):
        return values, np.ones(n), n
    if len(units) != n:
        raise ValueError(f"{len(units)} units for {n} segments")
    ids = group_ids(units)
    sums = np.stack([np.bincount(ids, row) for row in values]) if len(values) else np.zeros((0, int(ids.max()) + 1))
    return sums.astype(np.float64), np.bincount(ids).astype(np.float64), n


POWER = 0.8


def minimum_detectable_difference(differences: npt.ArrayLike, *, alpha: float = 0.05) -> Statistic:
    """Return the true mean difference that a two-sided paired t-test at `alpha` detects with 80 % power (Bloom 1995).

    `differences` are the paired differences, shape (n_segments,); only their standard deviation s counts. The value is
    ncp·s/√n > 0, in the unit of the scores, with ncp the noncentrality at which the noncentral t distribution with n − 1
    degrees of freedom has that power; (1.960 + 0.842)·s/√n for large n. A
    smaller observed difference may be real, but the test had little power to detect it (Card et al. 2020).
    Undefined below two segments, and if all differences are equal.
    """
    (d,) = vectors(differences)
    if len(d) < 2:
        return Statistic(None, "at least two segments are needed", len(d))
    spread = float(d.std(ddof=1))
    if spread <= 1e-12 * float(np.abs(d).max()):
        return Statistic(None, "the two differ by the same on every segment", len(d))
    return Statistic(noncentrality(len(d), alpha) * spread / float(np.sqrt(len(d))), "", len(d))


@lru_cache(maxsize=4096)
def noncentrality(n: float, alpha: float) -> float:
    """Return the noncentrality at which a two-sided paired t-test of n > 1 differences at `alpha` has 80 % power."""
    critical = float(student.isf(alpha / 2, n - 1))

    def missing(ncp: float) -> float:
        # scipy's lower tail is NaN for some arguments where it is below 10⁻⁹, and adds nothing
        return float(nct.sf(critical, n - 1, ncp) + np.nan_to_num(nct.cdf(-critical, n - 1, ncp))) - POWER

    high = 1.0
    while missing(high) < 0:
        high *= 2
    return float(brentq(missing, 0.0, high, xtol=1e-10))
