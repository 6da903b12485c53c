"""Confidence interval of a mean over a calibration set: the variance of the Hájek mean under the sampling design.

The design (`sampling.draw_units`) is systematic sampling of units in random order with probabilities p_u; with strata, the order
is random only within them. A unit is an output, or a segment with its outputs. By Taylor linearization (Särndal, Swensson and
Wretman 1992, section 5.7), the Hájek mean ȳ over a domain varies as the total of e_u/p_u, e_u = Σ (y − ȳ)/N̂ over the unit's
outputs in the domain.

* Without strata: fixed-size sampling in random order is close to maximum entropy, for which Hájek (1964; Deville and
  Tillé 2005, their c_u) gives  V = Σ c_u (e_u/p_u − A)²,  c_u = (1 − p_u)·n/(n − 1),  A the mean of e_u/p_u weighted by c_u.
* With strata: given the random start, the number of units n_h of each stratum is fixed, and they are a simple random sample of
  it. So V = Σ_h (the above, within stratum h) + the variance of Σ_h A_h n_h over the start, which is uniform on [0, 1); each n_h
  varies by one at most. The second term is exact except for A_h, which is estimated.

Strata with fewer than two drawn units are merged with the next. The variance covers sampling only, not rater disagreement.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from core.calibration.sampling import weights
from core.stats.bootstrap import LEVEL
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints, vectors

ALONE = "an interval needs at least two drawn units"


class BatchMean(NamedTuple):
    """The Hájek mean with its interval, or the reason why there is no interval."""

    value: float
    low: float | None
    high: float | None
    reason: str = ""


def batch_mean(
    values: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    units: Sequence[Hashable],
    *,
    domain: Sequence[bool] | npt.NDArray[np.bool_] | None = None,
    stratum: Sequence[int] | Ints | None = None,
    places: npt.ArrayLike = (),
) -> BatchMean:
    """Return the mean over all outputs of the `domain` with its interval.

    The interval uses Student's t; the degrees of freedom are the units with outputs in the domain minus their strata.

    Args:
        values, probabilities: of all drawn outputs, also outside the domain, shape (n,); probabilities in (0, 1].
        units: the unit of each output (its segment, or itself). All outputs of a unit have the probability of the unit.
        stratum: the stratum of each output, in the order of the systematic sampling; None without strata.
        places: the expected number of units of each stratum (n_strata,), including strata without drawn units.

    Raises `ValueError` if the domain is empty.
    """
    y, p = vectors(values, probabilities)
    inside = np.ones(len(y), dtype=bool) if domain is None else np.asarray(domain, dtype=bool)
    if not inside.any():
        raise ValueError("a mean needs at least one output")
    each = np.where(inside, weights(p), 0.0)
    mean = float(each @ y / each.sum())
    unit = group_ids(list(units))
    first = np.unique(unit, return_index=True)[1]
    expanded = np.bincount(unit, each * (y - mean)) / each.sum()
    present = np.bincount(unit, inside) > 0
    if (p[first] > 1 - 1e-9).all():
        return BatchMean(mean, mean, mean)
    if present.sum() < 2:
        return BatchMean(mean, None, None, ALONE)
    of_unit = np.zeros(len(first), dtype=np.int64) if stratum is None else np.asarray(stratum, dtype=np.int64)[first]
    expected = np.array([float(len(first))]) if stratum is None else np.asarray(places, dtype=np.float64)
    merged = _merged(of_unit, present, len(expected))
    within, middle = _within(expanded, p[first], merged[of_unit])
    variance = within + _between(middle[merged], expected)
    group = merged[of_unit]
    freedom = max(1, int(present.sum()) - len(set(group[present].tolist())))
    half = float(student.ppf((1 + LEVEL) / 2, freedom)) * float(np.sqrt(variance))
    return BatchMean(mean, mean - half, mean + half)


def _merged(stratum: Ints, present: npt.NDArray[np.bool_], n_strata: int) -> Ints:
    """Return the group of each stratum.

    Strata of the domain are merged until each group has two drawn units; the last ones join the group before. A stratum without
    drawn units is merged with its neighbours if the domain is everything. Strata outside the domain (all e_u = 0) form the
    last group.
    """
    drawn = np.bincount(stratum, minlength=n_strata)
    mine = np.bincount(stratum, present, minlength=n_strata) > 0
    mine |= (drawn == 0) & bool(present.all())
    left = np.cumsum((drawn * mine)[::-1])[::-1]
    of, group, held = np.full(n_strata, -1), 0, 0
    for h in np.flatnonzero(mine):
        of[h], held = group, held + int(drawn[h])
        if held >= 2 and left[h] - drawn[h] >= 2:
            group, held = group + 1, 0
    return np.where(of < 0, group + 1, of)


def _within(expanded: Floats, p: Floats, group: Ints) -> tuple[float, Floats]:
    """Return Σ c_u (e_u/p_u − A)² over all groups, and A of each group (0 if empty); `expanded` is e_u/p_u."""
    n = np.bincount(group, minlength=int(group.max()) + 2)
    c = (1 - p) * (n / np.maximum(n - 1, 1))[group]
    c = np.where(c > 0, c, 1e-300)  # if all p_u are 1, A is the plain mean
    middle = np.bincount(group, c * expanded, len(n)) / np.where(n > 0, np.bincount(group, c, len(n)), 1.0)
    return float(c @ (expanded - middle[group]) ** 2), middle


def _between(middle: Floats, expected: Floats) -> float:
    """Return the variance of Σ_h A_h n_h over a random start in [0, 1); n_h is constant between fractional parts of the ends."""
    ends = np.cumsum(expected)
    ends = np.where(np.abs(ends - np.rint(ends)) < 1e-9, np.rint(ends), ends)
    turns = np.unique(np.concatenate(([0.0, 1.0], ends % 1.0)))
    starts, shares = (turns[:-1] + turns[1:]) / 2, np.diff(turns)
    teeth = np.floor(ends[None, :] - starts[:, None]) + 1
    sums = np.diff(teeth, prepend=0.0, axis=1) @ middle
    return float(shares @ (sums - shares @ sums) ** 2)
