"""Draw a calibration set with known inclusion probabilities, and estimate means over all outputs from it.

Draw a calibration set: outputs to be labelled, with known inclusion probabilities.
Lu et al. 2023 (Appendix B) recommend over 100 outputs of all qualities, with 2 or 3 raters. Two designs set the probabilities:

* *stratified*: strata are quantiles of a metric's value crossed with the systems. Each stratum gets the same number of
  outputs (or all it has), so rare qualities are drawn as often as common ones.
* *informative*: outputs that narrow the interval of λ most. The agreement changes inside the interval only at the λ* of
  pairs that are both labelled. So the probability of an output is proportional to the number of pairs that change places
  inside the interval and whose other output is labelled, or expected to be. One fifth of the places is spread evenly, so
  that every output has a chance and means over all outputs can be estimated.

`draw_units` draws exactly as many units as the probabilities add up to (systematic sampling; Madow 1949), so that
probabilities are exact. A mean over all outputs is estimated with weights 1/probability (Horvitz and Thompson 1952; Hájek
1971); the unweighted mean of the drawn outputs would be biased.

Confidence interval of a mean over a calibration set: the variance of the Hájek mean under the sampling design.
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
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from core.calibration.curve import omega
from core.data import OutputKey
from core.errors import UserError
from core.ports.calibration import Chosen
from core.stats.bootstrap import LEVEL
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints, vectors
from core.stats.means import group_means

Method = Literal["stratified", "informative"]
STRATA = 5
EVENLY = 0.2
"""The share of places that the informative design spreads evenly."""
CELLS_AT_ONCE = 4_000_000
CERTAIN = 1 - 1e-9


class LabelCandidate(NamedTuple):
    """An output that could be labelled, with the metric's value, and the distances for the informative design."""

    key: OutputKey
    value: float
    dist_exp: float = 0.0
    dist_imp: float = 0.0


def strata(values: npt.ArrayLike, n: int = STRATA) -> Ints:
    """Return the quantile stratum 0 … n − 1 of each value; equal values share one, so strata may be unequal or empty."""
    (v,) = vectors(values)
    if not len(v):
        return np.zeros(0, dtype=np.int64)
    edges = np.quantile(v, np.arange(1, n) / n, method="inverted_cdf")
    return np.searchsorted(edges, v, side="left").astype(np.int64)


def places(sizes: Sequence[int] | Ints, n: int) -> Floats:
    """Share n places equally among strata of these sizes; places that small strata cannot fill go to the others."""
    size = np.asarray(sizes, dtype=np.float64)
    if n >= size.sum():
        return size
    order = np.sort(size)
    left = n - np.concatenate(([0.0], np.cumsum(order)))[:-1]
    level = left / np.arange(len(order), 0, -1)
    share = float(level[np.argmax(level <= order)])
    return np.minimum(size, share)


def cells(candidates: Sequence[LabelCandidate], *, whole: bool = False, n_strata: int = STRATA) -> Ints:
    """Return the stratum of each candidate, by quality and then system.

    With `whole`, strata are by the mean quality of the segment only.
    """
    unit = group_ids([c.key.segment if whole else c.key for c in candidates])
    quality = strata(group_means(np.array([c.value for c in candidates]), unit), n_strata)[unit]
    system = np.zeros(len(unit), dtype=np.int64) if whole else group_ids([c.key.system for c in candidates])
    return quality * (int(system.max()) + 1) + system


class Strata(NamedTuple):
    """The stratum of each candidate, and the number of units to draw from each stratum."""

    of: Ints
    places: Floats


def design(candidates: Sequence[LabelCandidate], n: int, *, whole: bool = False, n_strata: int = STRATA) -> Strata:
    """Return the strata from which `choose` draws about n outputs, and the units (outputs or segments) per stratum."""
    unit, n_units = _units(candidates, n, whole)
    of = cells(candidates, whole=whole, n_strata=n_strata)
    first = np.unique(unit, return_index=True)[1]
    return Strata(of, np.bincount(of[first], stratified(of[first], n_units)).astype(np.float64))


def _units(candidates: Sequence[LabelCandidate], n: int, whole: bool) -> tuple[Ints, int]:
    """Return the unit of each candidate (itself or its segment), and the number of units closest to n outputs."""
    unit = group_ids([c.key.segment if whole else c.key for c in candidates])
    sizes = np.bincount(unit)
    return unit, min(len(sizes), max(1, round(n / float(sizes.mean()))))


def stratified(stratum: Sequence[Hashable] | Ints, n: int) -> Floats:
    """Return the probability of each unit: places of its stratum / units in its stratum, for n places in all."""
    ids = group_ids(list(stratum))
    sizes = np.bincount(ids) if len(ids) else np.zeros(0, dtype=np.int64)
    return (places(sizes, n) / np.maximum(sizes, 1))[ids]


def proportional(sizes: npt.ArrayLike, n: int, evenly: float = EVENLY) -> Floats:
    """Return probabilities that add up to n (or the number of units, if smaller), proportional to `sizes` ≥ 0.

    The share `evenly` is spread equally over all units. Probabilities are capped at 1, and the excess goes to the others in
    proportion. If all sizes are 0, probabilities are equal.
    """
    (size,) = vectors(sizes)
    if (size < 0).any() or not 0 < evenly <= 1:
        raise ValueError("sizes must be ≥ 0 and `evenly` must be in (0, 1]")
    total = len(size)
    if n >= total:
        return np.ones(total)
    mean = float(size.mean()) if total else 0.0
    share = (1 - evenly) * size / mean + evenly if mean > 0 else np.ones(total)
    probabilities, free = np.zeros(total), np.ones(total, dtype=bool)
    while True:
        probabilities[free] = share[free] * (n - (~free).sum()) / share[free].sum()
        if not (over := free & (probabilities >= 1)).any():
            return probabilities
        probabilities[over], free = 1.0, free & ~over


def crossings(exp: npt.ArrayLike, imp: npt.ArrayLike, low: float, high: float, labelled: npt.ArrayLike) -> Floats:
    """Return for each output the expected number of labelled outputs with which it changes places within (low, high).

    `labelled` is the probability of each output, in [0, 1], to be labelled. `high` may be ∞. Pairs that tie at an end do not
    count, because they do not change places inside.
    """
    e, i, known = vectors(exp, imp, labelled)
    if not 0 <= low <= high:
        raise ValueError(f"the interval of λ must lie in [0, ∞], got [{low}, {high}]")
    at_low, at_high = (np.round(omega(lam) * e + (1 - omega(lam)) * i, 12) for lam in (low, high))
    expected = np.zeros(len(e))
    step = max(1, CELLS_AT_ONCE // max(1, len(e)))
    for top in range(0, len(e), step):
        rows = slice(top, top + step)
        before, after = (np.sign(s[rows, None] - s[None, :]).astype(np.int8) for s in (at_low, at_high))
        expected[rows] = (before * after < 0) @ known
    return expected


def draw_units(probabilities: npt.ArrayLike, seed: int, order: npt.ArrayLike | None = None) -> Ints:
    """Draw units without replacement, each with exactly its probability; their number is the sum of these, ± 1.

    Systematic sampling: the units are put on a line in random order, each as long as its probability, and one is drawn at each
    point of a grid of step 1 with a random start. With `order`, units are shuffled only within equal values of it, so that
    each stratum gets its number of places, rounded up or down.
    """
    (p,) = vectors(probabilities)
    if ((p < 0) | (p > 1)).any():
        raise ValueError("probabilities must lie in [0, 1]")
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(p))
    if order is not None:
        (key,) = vectors(order)
        shuffled = shuffled[np.argsort(key[shuffled], kind="stable")]
    ends = np.cumsum(p[shuffled])
    if len(ends):
        ends = np.where(np.abs(ends - np.rint(ends)) < 1e-9, np.rint(ends), ends)  # no place may be lost by rounding
    teeth = np.floor(ends - rng.random()).astype(np.int64) + 1
    taken = shuffled[np.diff(teeth, prepend=0) > 0]
    return np.union1d(taken, np.flatnonzero(p >= CERTAIN))


def choose(
    candidates: Sequence[LabelCandidate],
    n: int,
    *,
    method: Method = "stratified",
    seed: int = 0,
    whole: bool = False,
    n_strata: int = STRATA,
    interval: tuple[float, float] = (0.0, float("inf")),
    labelled: Sequence[LabelCandidate] = (),
) -> tuple[Chosen, ...]:
    """Draw about `n` outputs (all, if there are no more), sorted by segment, with segments in random order.

    Because of this order, the first outputs are a random part of the set if a rater stops early.

    Args:
        candidates: the outputs to choose from, each once.
        whole: draw whole segments, so that raters see all systems side by side; an output then has the probability of its
            segment, and the number of segments is the closest to `n` outputs.
        n_strata: strata of quality (stratified only).
        interval: the present interval of λ, ∞ allowed (informative only).
        labelled: outputs that are labelled already; pairs with them count fully (informative only).

    Raises `UserError` if there is nothing to choose from.
    """
    if n < 1 or not candidates:
        raise UserError(
            "the number of outputs must be 1 or more" if n < 1 else "there are no outputs to choose from",
            hint="Choose at least one output" if n < 1 else "Compute the metric first, or include labelled outputs",
        )
    unit, n_units = _units(candidates, n, whole)
    sizes = np.bincount(unit)
    if method == "stratified":
        cell = np.empty(len(sizes), dtype=np.int64)
        cell[unit] = cells(candidates, whole=whole, n_strata=n_strata)
        probabilities, order = stratified(cell, n_units), cell
    else:
        probabilities, order = proportional(_informative(candidates, unit, n_units, interval, labelled), n_units), None
    taken = set(draw_units(probabilities, seed, order).tolist())
    segment = group_ids([c.key.segment for c in candidates])
    turn = np.random.default_rng([seed, 1]).permutation(int(segment.max()) + 1)[segment]
    return tuple(
        Chosen(candidates[i].key, float(probabilities[unit[i]]))
        for i in np.argsort(turn, kind="stable")
        if unit[i] in taken
    )


def _informative(
    candidates: Sequence[LabelCandidate],
    unit: Ints,
    n_units: int,
    interval: tuple[float, float],
    labelled: Sequence[LabelCandidate],
) -> Floats:
    """Return the expected crossings of each unit, summed over its outputs."""
    chance = min(1.0, n_units / (int(unit.max()) + 1))
    everything = [*candidates, *labelled]
    known = np.concatenate((np.full(len(candidates), chance), np.ones(len(labelled))))
    exp, imp = [c.dist_exp for c in everything], [c.dist_imp for c in everything]
    expected = crossings(exp, imp, *interval, known)[: len(candidates)]
    return np.bincount(unit, expected).astype(np.float64)


def weights(probabilities: npt.ArrayLike) -> Floats:
    """Return the weight 1/probability of each output. Raises `ValueError` for a probability outside (0, 1]."""
    (p,) = vectors(probabilities)
    if ((p <= 0) | (p > 1)).any():
        raise ValueError("probabilities of drawn outputs must lie in (0, 1]")
    return 1 / p


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
