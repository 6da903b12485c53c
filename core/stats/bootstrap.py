"""Percentile bootstrap over units (segments, documents) rather than single outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints

DRAWS_AT_ONCE = 2_000_000
MANY = 5000
LEVEL = 0.95
"""The level of every interval."""


class Interval(NamedTuple):
    """An estimate with its percentile interval; undefined values are None, with a reason. `n` counts the units.

    `method` is how the interval was made: by a bootstrap, or, of a mean of very many values, from the normal distribution.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""
    method: Literal["bootstrap", "normal"] = "bootstrap"


METHODS = {"bootstrap": "bootstrap", "normal": f"normal approximation, used from {MANY:,} values on"}
"""How an interval was made, as shown."""


def method_of(intervals: Iterable[Interval]) -> str:
    """Return how these intervals were made, in words."""
    used = {i.method for i in intervals if i.low is not None}
    return " or ".join(words for method, words in METHODS.items() if method in used) or METHODS["bootstrap"]


def content_order(*columns: npt.NDArray[Any]) -> Ints:
    """Return an order of units by their contents, each column of shape (n,): the order of rows in a file changes no interval."""
    return np.lexsort(columns)


def draws_of(n: int, seed: int, draws: int) -> Iterator[Floats]:
    """Yield `draws` resamples of n units with replacement, each as counts of the units, shape (n,)."""
    for block in resamples(n, seed, draws):
        rows = np.arange(len(block))[:, None] * n
        yield from np.bincount((block + rows).ravel(), minlength=block.size).reshape(block.shape).astype(np.float64)


def resamples(n: int, seed: int, draws: int) -> Iterator[Ints]:
    """Yield `draws` resamples of n units with replacement, as the indices of the units, in blocks of shape (some, n)."""
    rng, step = np.random.default_rng(seed), max(1, DRAWS_AT_ONCE // n)
    for start in range(0, draws, step):
        yield rng.integers(0, n, (min(step, draws - start), n))


def percentiles(values: Sequence[float] | Floats) -> tuple[float, float]:
    """Return the central interval that contains the share `LEVEL` of the values."""
    low, high = np.quantile(np.asarray(values, dtype=np.float64), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def mean_interval(
    values_by_segment: Sequence[float] | Floats,
    seed: int,
    *,
    draws: int = 1000,
    units: Sequence[Hashable] = (),
) -> Interval:
    """Return the mean with its percentile interval.

    `units` names the unit (document) of each value; by default each value is one. All values of a drawn unit are used, so long
    documents weigh more, as in the mean. With fewer than two units there is no interval. From `MANY` values on that are units of
    their own, it is the interval of the normal distribution: both differ by less than two runs of the bootstrap do. It ends at
    the lowest and highest value, as that of a bootstrap.
    """
    values = np.asarray(values_by_segment, dtype=np.float64)
    if not len(values):
        return Interval(None, None, None, 0, "there are no values")
    ids = group_ids(units) if len(units) else np.arange(len(values))
    sums, sizes = np.bincount(ids, values), np.bincount(ids)
    n, mean = len(sums), float(values.mean())
    if n < 2:
        return Interval(mean, None, None, n, "an interval needs at least two segments or documents")
    if not len(units) and n >= MANY:
        half = float(values.std()) / math.sqrt(n) * float(ndtri((1 + LEVEL) / 2))
        low, high = max(mean - half, float(values.min())), min(mean + half, float(values.max()))
        return Interval(mean, low, high, n, method="normal")
    order = content_order(sizes, sums)
    sums, sizes = sums[order], sizes[order]
    means = [sums[drawn].sum(1) / sizes[drawn].sum(1) for drawn in resamples(n, seed, draws)]
    low, high = percentiles(np.concatenate(means))
    return Interval(mean, low, high, n)


def statistic_interval(
    value: float, of_draws: Callable[[Ints], Floats], n: int, seed: int, draws: int = 1000
) -> Interval:
    """Return a statistic of n units (documents) with its percentile interval.

    `of_draws` returns the statistic of each resample from the indices of its units, shape (some, n), NaN where it is undefined. There is no
    interval with fewer than two units, or if it is undefined on most resamples.
    """
    if n < 2:
        return Interval(value, None, None, n, "an interval needs at least two documents")
    drawn = np.concatenate([of_draws(block) for block in resamples(n, seed, draws)])
    defined = drawn[~np.isnan(drawn)]
    if len(defined) < draws / 2:
        return Interval(value, None, None, n, f"undefined on {draws - len(defined)} of {draws} resamples")
    return Interval(value, *percentiles(defined), n)
