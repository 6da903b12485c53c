"""Intervals: the percentile bootstrap over units (segments, documents) rather than single outputs, and Wilson's of a share."""

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
        yield from counts_of(block)


def counts_of(drawn: Ints) -> Floats:
    """Return how often each unit is in each of these resamples, both of shape (some, n)."""
    rows = np.arange(len(drawn))[:, None] * drawn.shape[1]
    return np.bincount((drawn + rows).ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float64)


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
    return ratio_interval(sums, sizes, seed, draws)._replace(value=mean)


def ratio_interval(
    above: npt.NDArray[Any], below: npt.NDArray[Any], seed: int, draws: int, too_few: str = ""
) -> Interval:
    """Return Σ above / Σ below over units, both of shape (n,), with its percentile interval; `too_few` is why one unit has none.

    The order of the units changes nothing.
    """
    order = content_order(below, above)
    above, below = above[order], below[order]
    value, n = float(above.sum() / below.sum()), len(above)
    if n < 2:
        return Interval(value, None, None, n, too_few)
    ratios = [above[drawn].sum(1) / below[drawn].sum(1) for drawn in resamples(n, seed, draws)]
    return Interval(value, *percentiles(np.concatenate(ratios)), n)


def statistic_interval(
    value: float, of_draws: Callable[[Ints], Floats], n: int, seed: int, draws: int = 1000
) -> Interval:
    """Return a statistic of n units (documents) with its percentile interval.

    `of_draws` returns the statistic of each resample from the indices of its units, shape (some, n), NaN where it is undefined. There is no
    interval with fewer than two units, or if it is undefined on most resamples.
    """
    if n < 2:
        return Interval(value, None, None, n, "an interval needs at least two documents")
    return drawn_interval(value, np.concatenate([of_draws(block) for block in resamples(n, seed, draws)]), n)


def drawn_interval(value: float, drawn: Floats, n: int, *, name: str = "", note: str = "") -> Interval:
    """Return a statistic of n units with the interval of its values on resamples, NaN where undefined; none if most are.

    `name` is what the reason calls the statistic, and `note` the reason of an interval that needs a remark.
    """
    defined = drawn[~np.isnan(drawn)]
    if not len(defined) or len(defined) < len(drawn) / 2:
        undefined = f"{name} is undefined" if name else "undefined"
        return Interval(value, None, None, n, f"{undefined} on {len(drawn) - len(defined)} of {len(drawn)} resamples")
    return Interval(value, *percentiles(defined), n, note)


def wilson(yes: int, n: int) -> Interval:
    """Return the share yes/n in [0, 1] with Wilson's score interval (1927, p. 209), which is not degenerate at 0 and 1.

    All values are None, with a reason, if n is 0.
    """
    if n == 0:
        return Interval(None, None, None, 0, "there are no cases")
    low, high = wilson_bounds(yes / n, n)
    return Interval(yes / n, low if yes else 0.0, high if yes < n else 1.0, n)


def wilson_bounds(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of n independent cases, which need not be a whole number."""
    square = float(ndtri((1 + LEVEL) / 2)) ** 2
    middle = share + square / (2 * n)
    half = math.sqrt(square * (max(share * (1 - share), 0.0) / n + square / (4 * n * n)))
    return max(0.0, (middle - half) / (1 + square / n)), min(1.0, (middle + half) / (1 + square / n))
