"""How sure a mean over a batch is: the variance of the Hájek mean under the design by which the batch was drawn.

The design (`sampling.drawn`) is systematic sampling of units in a random order, with the probabilities p_u; with strata the order
is random within them only. A unit is an output, or a segment with its outputs. By Taylor's series (Särndal, Swensson and
Wretman 1992, section 5.7) the Hájek mean ȳ over a domain varies as the total of e_u/p_u, e_u = Σ (y − ȳ)/N̂ over the unit's
outputs in the domain.

* Without strata: sampling of fixed size in a random order comes near to maximal entropy, for which Hájek (1964; Deville and
  Tillé 2005, their c_u) has  V = Σ c_u (e_u/p_u − A)²,  c_u = (1 − p_u)·n/(n − 1),  A the mean of e_u/p_u weighted by c_u.
* With strata: given the start of the comb the number of units n_h of every stratum is fixed, and they are a simple random sample of
  it. So V = Σ_h (the above, within stratum h) + the variance of Σ_h A_h n_h over the start, which lies evenly on [0, 1); the n_h
  differ by one at most. The second part is exact but for A_h, which is estimated.

Strata in which fewer than two units were drawn are taken together with the next. It is the chance of sampling and nothing else:
that raters disagree is not in it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.calibration.sampling import weights
from core.stats.checks import vectors
from core.stats.correlation import group_ids
from core.stats.pairs import Floats, Ints

ALONE = "an interval needs at least two units that were drawn"


class BatchMean(NamedTuple):
    """The Hájek mean with its interval, or the reason why there is none."""

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
    level: float = 0.95,
) -> BatchMean:
    """The mean over all outputs of the `domain` and its interval, by Student's t with as many degrees of freedom as units with
    outputs in the domain, less the strata these lie in.

    Args:
        values, probabilities: of the outputs drawn, shape (n,), those outside the domain too; probabilities in (0, 1].
        units: what each was drawn with: its segment, or itself. All outputs of a unit have the probability of the unit.
        stratum: the stratum of each output, in the order in which the comb ran over them; None without strata.
        places: how many units each stratum was to give (n_strata,), strata from which none was drawn too.

    Raises `ValueError` where the domain is empty.
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
    half = _quantile(level, freedom) * float(np.sqrt(variance))
    return BatchMean(mean, mean - half, mean + half)


def _merged(stratum: Ints, present: npt.NDArray[np.bool_], n_strata: int) -> Ints:
    """The group of each stratum. Strata of the domain are taken together until two units were drawn in each group, the last few
    with those before them; one from which nothing was drawn goes with its neighbours where the domain is everything. The
    others, whose e_u are all 0, are a group by themselves, the last."""
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
    """Σ c_u (e_u/p_u − A)² over all groups, and A of each, 0 for an empty one; `expanded` holds e_u/p_u."""
    n = np.bincount(group, minlength=int(group.max()) + 2)
    c = (1 - p) * (n / np.maximum(n - 1, 1))[group]
    c = np.where(c > 0, c, 1e-300)  # where all are certain, A is their plain mean
    middle = np.bincount(group, c * expanded, len(n)) / np.where(n > 0, np.bincount(group, c, len(n)), 1.0)
    return float(c @ (expanded - middle[group]) ** 2), middle


def _between(middle: Floats, expected: Floats) -> float:
    """The variance of Σ_h A_h n_h over all strata as the comb's start runs from 0 to 1: n_h is constant between the fractions of
    the ends."""
    ends = np.cumsum(expected)
    ends = np.where(np.abs(ends - np.rint(ends)) < 1e-9, np.rint(ends), ends)
    turns = np.unique(np.concatenate(([0.0, 1.0], ends % 1.0)))
    starts, shares = (turns[:-1] + turns[1:]) / 2, np.diff(turns)
    teeth = np.floor(ends[None, :] - starts[:, None]) + 1
    sums = np.diff(teeth, prepend=0.0, axis=1) @ middle
    return float(shares @ (sums - shares @ sums) ** 2)


def _quantile(level: float, freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + level) / 2, freedom))
