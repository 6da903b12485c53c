"""Compare systems in a human evaluation campaign: design-weighted paired differences, tested by random signs per item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, product
from typing import NamedTuple

import numpy as np

from core.stats.bootstrap import LEVEL, Interval
from core.stats.campaign.campaign_scores import CampaignScore, OutputMeans, Unit, output_means
from core.stats.correlation.pairs import Floats, Ints
from core.stats.significance.random_signs import SLACK, random_signs
from core.stats.significance.system_comparison import Comparison, holm, minimum_detectable_difference

CELLS = 2_000_000
DRAWS = 9999
EXACT_UNITS = 12
TOO_FEW = "at least two units (items or documents) with scores of both systems are needed"
NO_INTERVAL = "an interval needs at least six units (items or documents) with scores of both systems"
NO_COMMON_RATER = "no rater scored outputs of both systems, so the difference may be one between raters"


class PairedDifference(NamedTuple):
    """Comparison of two systems; a positive `test.difference` is a higher mean for `first`, in the unit of the scores.

    `interval` holds the differences that the test does not reject at .05; `test.n` and `interval.n` count units.
    `adjusted` is Holm's p over all pairs, `detectable` the difference detectable with 80 % power. Items of the campaign:
    `shared` have scores of both systems; others are not used. Undefined values are None, with a reason. `caution` is not empty if
    raters and systems are confounded.
    """

    first: str
    second: str
    test: Comparison
    adjusted: float | None
    interval: Interval
    detectable: float | None
    detectable_reason: str
    shared: int
    caution: str = ""


class _Sums(NamedTuple):
    """Per unit and pair: Σ w·d and Σ w, both of shape (n_units, n_pairs)."""

    differences: Floats
    weights: Floats


def compare_campaign_systems(
    scores: Iterable[CampaignScore], *, seed: int, by: Unit = "item", draws: int = DRAWS
) -> list[PairedDifference]:
    """Compare each pair of systems on the items with scores of both: D = Σ w_i·d_i / Σ w_i, d_i the first's mean minus the second's.

    w_i is 1 / the probability that both outputs were drawn: their common weight, as the outputs of an item are drawn together
    (the geometric mean, should the weights differ).

    Test: the signs of whole items, or of whole documents, are drawn at random, weights unchanged;
    p = (1 + #{|D_k| ≥ |D|})/(draws + 1), two-sided (Fisher 1935), or the share of all sign vectors with at most 12 units. It is exact
    at any coverage if the two outputs of a unit, and
    the assignment of raters to them, could be exchanged under the null hypothesis. If raters are assigned by document, or
    systems differ in whole documents, use `by="document"`. p is at least 2^(1 − n_units).

    Interval: the differences δ that the same test, applied to d_i − δ, does not reject. D − δ is as extreme as draw k between the
    weighted means of the units with sign + and of those with sign − (Hartigan 1969), so no search is needed.

    An unpaired comparison over all outputs is not reported: it adds the difficulty of different items to the error, and calling
    systems different if either test does has a type-I error of more than α.
    """
    table = output_means(scores)
    ids = table.unit_ids(by)
    pairs = list(combinations(range(len(table.systems)), 2))
    differences: list[PairedDifference] = []
    step = max(1, CELLS // max(draws, len(ids), 1))
    for start in range(0, len(pairs), step):
        some = pairs[start : start + step]
        sums = _unit_sums(table, some, ids)
        tests, intervals = _tests(sums, seed, draws)
        differences += [
            _compared(table, pair, test, interval, column)
            for pair, test, interval, column in zip(some, tests, intervals, _columns(sums), strict=True)
        ]
    adjusted = holm([pair.test.p for pair in differences])
    return [pair._replace(adjusted=p) for pair, p in zip(differences, adjusted, strict=True)]


def smallest_p(units: int) -> float:
    """Return the smallest p that the test of two systems can give for so many units, without a correction for several pairs."""
    return min(1.0, 2.0 ** (1 - units)) if units <= EXACT_UNITS else 1 / (DRAWS + 1)


def smallest_adjusted_p(differences: Sequence[PairedDifference]) -> float | None:
    """Return the smallest p that any of these differences could have after Holm's correction; None if none is tested."""
    possible = [p for p in holm([smallest_p(d.test.n) for d in differences if d.test.p is not None]) if p is not None]
    return min(possible, default=None)


def fewest_units(pairs: int, alpha: float) -> int | None:
    """Return the fewest units with which a difference can be significant at `alpha` after Holm's correction; None if no number is enough."""
    return next((n for n in range(2, EXACT_UNITS + 2) if pairs * smallest_p(n) <= alpha), None)


def _unit_sums(table: OutputMeans, pairs: Sequence[tuple[int, int]], ids: Ints) -> _Sums:
    first, second = (np.array(rows, dtype=np.int64) for rows in zip(*pairs, strict=True))
    difference = table.values[first] - table.values[second]
    weight = np.nan_to_num(np.sqrt(table.weights[first] * table.weights[second]))
    n_units = int(ids.max(initial=-1)) + 1
    blank = np.zeros((n_units, len(pairs)))
    sums = _Sums(blank, blank.copy())
    np.add.at(sums.differences, ids, (weight * np.nan_to_num(difference)).T)
    np.add.at(sums.weights, ids, weight.T)
    return sums


def _columns(sums: _Sums) -> Iterator[tuple[Floats, Floats]]:
    """Yield Σ w·d and Σ w of the units of each pair."""
    for differences, weights in zip(sums.differences.T, sums.weights.T, strict=True):
        used = weights > 0
        yield differences[used], weights[used]


def _tests(sums: _Sums, seed: int, draws: int) -> tuple[list[Comparison], list[Interval]]:
    """Return the test and the interval of each pair: with all sign vectors for few units, else with random ones."""
    n_units = (sums.weights > 0).sum(0)
    exact = n_units <= EXACT_UNITS
    p, low, high = (np.full(len(n_units), np.nan) for _ in range(3))
    if not exact.all():
        shared = _Sums(sums.differences[:, ~exact], sums.weights[:, ~exact])
        blocks = random_signs(len(sums.weights), seed, draws, cells=int((~exact).sum()))
        same = np.ones((1, len(sums.weights)))
        p[~exact], low[~exact], high[~exact] = _extremes(shared, chain([same], blocks))
    for i in np.flatnonzero(exact & (n_units > 0)).tolist():
        used = sums.weights[:, i] > 0
        own = _Sums(sums.differences[used, i : i + 1], sums.weights[used, i : i + 1])
        signs = np.array(list(product((1.0, -1.0), repeat=int(n_units[i]))))
        (p[i],), (low[i],), (high[i],) = _extremes(own, [signs])
    tests, intervals = [], []
    with np.errstate(invalid="ignore"):
        means = sums.differences.sum(0) / sums.weights.sum(0)
    for i, n in enumerate(n_units.tolist()):
        value = float(means[i]) if n else None
        if n < 2:
            tests.append(Comparison(value, None, TOO_FEW, n))
        else:
            tests.append(Comparison(value, float(p[i]), "", n, 2**n if exact[i] else draws))
        bounded = bool(np.isfinite(low[i]) and np.isfinite(high[i]))
        interval = Interval(value, float(low[i]), float(high[i]), n)
        intervals.append(interval if bounded else Interval(value, None, None, n, NO_INTERVAL))
    return tests, intervals


def _extremes(sums: _Sums, blocks: Iterable[Floats]) -> tuple[Floats, Floats, Floats]:
    """Return p and the ends of the interval of each pair, for sign vectors that include the observed one (all +)."""
    total, weight = sums.differences.sum(0), sums.weights.sum(0)
    slack = SLACK * np.abs(sums.differences).sum(0)
    far, lows, highs = [], [], []
    for signs in blocks:
        moved, balance = signs @ sums.differences, signs @ sums.weights
        far.append(np.abs(moved) >= np.abs(total) - slack)
        plus = _half_mean(total + moved, weight + balance, weight)
        minus = _half_mean(total - moved, weight - balance, weight)
        empty = np.isnan(plus) | np.isnan(minus)
        lows.append(np.where(empty, -np.inf, np.minimum(plus, minus)))
        highs.append(np.where(empty, np.inf, np.maximum(plus, minus)))
    p: Floats = np.concatenate(far).mean(0)
    place = int((1 - LEVEL) * sum(map(len, far)) + 1e-9)
    low: Floats = np.partition(np.concatenate(lows), place, axis=0)[place]
    high: Floats = -np.partition(-np.concatenate(highs), place, axis=0)[place]
    return p, low, high


def _half_mean(above: Floats, below: Floats, weight: Floats) -> Floats:
    """Return above/below, NaN where no unit has the sign."""
    mean: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 1e-9 * weight)
    return mean


def _compared(
    table: OutputMeans, pair: tuple[int, int], test: Comparison, interval: Interval, column: tuple[Floats, Floats]
) -> PairedDifference:
    first, second = pair
    scored = ~np.isnan(table.values[[first, second]])
    shared = np.flatnonzero(scored.all(0)).tolist()
    raters = [(table.raters[first, j], table.raters[second, j]) for j in shared]
    of_first, of_second = (frozenset().union(*side) for side in zip(*raters, strict=True)) if raters else ((), ())
    detectable = minimum_detectable_difference(_pseudo_values(*column), alpha=1 - LEVEL)
    return PairedDifference(
        table.systems[first],
        table.systems[second],
        test,
        None,
        interval,
        detectable.value,
        _reason(detectable.reason),
        len(shared),
        NO_COMMON_RATER if raters and not frozenset(of_first) & frozenset(of_second) else "",
    )


def _pseudo_values(differences: Floats, weights: Floats) -> Floats:
    """Return values whose mean is D and whose standard error of the mean is that of D, by linearisation; shape (n_units,).

    D + n·(Σ w·d − D·Σ w)/Σ_all w per unit (Särndal et al. 1992, result 5.7.1).
    """
    if not len(weights):
        return differences
    mean = differences.sum() / weights.sum()
    pseudo: Floats = mean + len(weights) * (differences - mean * weights) / weights.sum()
    return pseudo


def _reason(reason: str) -> str:
    return reason.replace("at least two segments are needed", TOO_FEW).replace("segment", "unit")
