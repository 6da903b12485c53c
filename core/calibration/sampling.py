"""Which outputs people should label next, so that a metric can be calibrated on them (Lu et al. 2023, Appendix B: over 100
outputs of all qualities, 2 or 3 raters), with the probability of each output to be chosen known exactly.

Two designs set these probabilities, one procedure draws by them:

* *stratified*: outputs are cut into strata of equal size by a metric's value, crossed with the systems. Every stratum gets the
  same number of places, as far as it has outputs: rare qualities are seen as often as common ones.
* *informative*: outputs that most narrow the interval of λ. Two outputs change places at one λ* only; inside the interval the
  agreement moves only where a pair has its λ* there, and only if people have rated both. The probability of an output is
  proportional to the number of pairs that change places inside the interval and whose other output is, or can be expected
  to be, labelled. One fifth is spread evenly, so that every output keeps a chance and means over all can be estimated.

`drawn` takes exactly as many units as the probabilities add up to (systematic sampling; Madow 1949), so no unit's
probability depends on a simulation. A mean over all outputs is estimated with weights 1/probability (Horvitz and Thompson
1952; Hájek 1971): the plain mean over the chosen ones is biased towards what was chosen more readily.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from core.calibration.curve import omega
from core.data import OutputKey
from core.errors import UserError
from core.ports import Chosen
from core.stats.checks import vectors
from core.stats.correlation import group_ids
from core.stats.pairs import Floats, Ints

Method = Literal["stratified", "informative"]
STRATA = 5
EVENLY = 0.2
"""The share of the places that the informative design spreads evenly."""
CELLS_AT_ONCE = 4_000_000
CERTAIN = 1 - 1e-9


class Candidate(NamedTuple):
    """An output that could be labelled: its value by the metric, and its distances where λ is what is asked about."""

    key: OutputKey
    value: float
    dist_exp: float = 0.0
    dist_imp: float = 0.0


def strata(values: npt.ArrayLike, n: int = STRATA) -> Ints:
    """The quantile stratum 0 … n − 1 of each value; equal values are never parted, so strata may be unequal or missing."""
    (v,) = vectors(values)
    if not len(v):
        return np.zeros(0, dtype=np.int64)
    edges = np.quantile(v, np.arange(1, n) / n, method="inverted_cdf")
    return np.searchsorted(edges, v, side="left").astype(np.int64)


def places(sizes: Sequence[int] | Ints, n: int) -> Floats:
    """n places shared equally among strata, none more than it has outputs; what small ones leave goes to the others."""
    size = np.asarray(sizes, dtype=np.float64)
    if n >= size.sum():
        return size
    order = np.sort(size)
    left = n - np.concatenate(([0.0], np.cumsum(order)))[:-1]
    level = left / np.arange(len(order), 0, -1)
    share = float(level[np.argmax(level <= order)])
    shared: Floats = np.minimum(size, share)
    return shared


def cells(candidates: Sequence[Candidate], *, whole: bool = False, n_strata: int = STRATA) -> Ints:
    """The stratum of each candidate in the stratified design, in the order in which places are given out: its quality (with
    `whole`, that of its segment by the mean), and for single outputs its system within that."""
    unit = group_ids([c.key.segment if whole else c.key for c in candidates])
    quality = strata(np.bincount(unit, [c.value for c in candidates]) / np.bincount(unit), n_strata)[unit]
    system = np.zeros(len(unit), dtype=np.int64) if whole else group_ids([c.key.system for c in candidates])
    return quality * (int(system.max()) + 1) + system


class Strata(NamedTuple):
    """The stratum of each candidate, and the places of each stratum, which add up to the units that are wanted."""

    of: Ints
    places: Floats


def design(candidates: Sequence[Candidate], n: int, *, whole: bool = False, n_strata: int = STRATA) -> Strata:
    """The strata from which `choose` draws about n outputs, and how many units (outputs, or segments) each gives."""
    unit, wanted = _units(candidates, n, whole)
    of = cells(candidates, whole=whole, n_strata=n_strata)
    first = np.unique(unit, return_index=True)[1]
    return Strata(of, np.bincount(of[first], stratified(of[first], wanted)).astype(np.float64))


def _units(candidates: Sequence[Candidate], n: int, whole: bool) -> tuple[Ints, int]:
    """What each candidate is drawn with, itself or its segment, and how many of these come nearest to n outputs."""
    unit = group_ids([c.key.segment if whole else c.key for c in candidates])
    sizes = np.bincount(unit)
    return unit, min(len(sizes), max(1, round(n / float(sizes.mean()))))


def stratified(stratum: Sequence[Hashable] | Ints, n: int) -> Floats:
    """The probability of each unit when the strata share n places: places of its stratum/units in its stratum."""
    ids = group_ids(list(stratum))
    sizes = np.bincount(ids) if len(ids) else np.zeros(0, dtype=np.int64)
    probabilities: Floats = (places(sizes, n) / np.maximum(sizes, 1))[ids]
    return probabilities


def proportional(sizes: npt.ArrayLike, n: int, evenly: float = EVENLY) -> Floats:
    """Probabilities that add up to n (or to all units, if fewer), proportional to `sizes` ≥ 0 but for the share `evenly`.

    No probability is above 1: what is cut off there goes to the others in proportion. Where all sizes are 0 they are equal.
    """
    (size,) = vectors(sizes)
    if (size < 0).any() or not 0 < evenly <= 1:
        raise ValueError("sizes must be 0 or more, and the share that is spread evenly above 0")
    total = len(size)
    if n >= total:
        return np.ones(total)
    mean = float(size.mean()) if total else 0.0
    share = (1 - evenly) * size / mean + evenly if mean > 0 else np.ones(total)
    found, free = np.zeros(total), np.ones(total, dtype=bool)
    while True:
        found[free] = share[free] * (n - (~free).sum()) / share[free].sum()
        if not (over := free & (found >= 1)).any():
            return found
        found[over], free = 1.0, free & ~over


def crossings(exp: npt.ArrayLike, imp: npt.ArrayLike, low: float, high: float, labelled: npt.ArrayLike) -> Floats:
    """For each output the expected number of labelled others with which it changes places strictly between λ = low and high.

    `labelled` is the probability in [0, 1] that the other output is labelled. ∞ is allowed for `high`. Pairs that tie at one
    of the ends do not count: inside they do not change places.
    """
    e, i, known = vectors(exp, imp, labelled)
    if not 0 <= low <= high:
        raise ValueError(f"an interval of λ within [0, ∞] is needed, got [{low}, {high}]")
    at_low, at_high = (np.round(omega(lam) * e + (1 - omega(lam)) * i, 12) for lam in (low, high))
    found = np.zeros(len(e))
    step = max(1, CELLS_AT_ONCE // max(1, len(e)))
    for top in range(0, len(e), step):
        rows = slice(top, top + step)
        before, after = (np.sign(s[rows, None] - s[None, :]).astype(np.int8) for s in (at_low, at_high))
        found[rows] = (before * after < 0) @ known
    return found


def drawn(probabilities: npt.ArrayLike, seed: int, order: npt.ArrayLike | None = None) -> Ints:
    """Units drawn without replacement, each with exactly its probability: as many as these add up to, give or take one.

    Systematic sampling: the units in a random order lie along a line, each as long as its probability, and a comb of unit
    width with a random start picks one at each tooth. With `order` units are shuffled within equal values of it only, so
    that every stratum gets its number of places, rounded up or down.
    """
    (p,) = vectors(probabilities)
    if ((p < 0) | (p > 1)).any():
        raise ValueError("a probability lies between 0 and 1")
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(p))
    if order is not None:
        (key,) = vectors(order)
        shuffled = shuffled[np.argsort(key[shuffled], kind="stable")]
    ends = np.cumsum(p[shuffled])
    if len(ends):
        ends = np.where(np.abs(ends - np.rint(ends)) < 1e-9, np.rint(ends), ends)  # rounding must lose nobody a place
    teeth = np.floor(ends - rng.random()).astype(np.int64) + 1
    taken = shuffled[np.diff(teeth, prepend=0) > 0]
    return np.union1d(taken, np.flatnonzero(p >= CERTAIN))


def choose(
    candidates: Sequence[Candidate],
    n: int,
    *,
    method: Method = "stratified",
    seed: int = 0,
    whole: bool = False,
    n_strata: int = STRATA,
    interval: tuple[float, float] = (0.0, float("inf")),
    labelled: Sequence[Candidate] = (),
) -> tuple[Chosen, ...]:
    """A batch of about `n` outputs; all of them where there are no more. They come segment by segment, the segments in a random
    order: people who stop half-way have labelled a fair part of the batch.

    Args:
        candidates: the outputs to choose from, each once.
        whole: draw whole segments, so that raters see all systems side by side; an output then has the probability of its
            segment, and the batch holds as many segments as come nearest to `n` outputs.
        n_strata: strata of quality (stratified only).
        interval: the present interval of λ, ∞ allowed (informative only).
        labelled: outputs people have labelled already; pairs with them count in full (informative only).

    Raises `UserError` where there is nothing to choose from.
    """
    if n < 1 or not candidates:
        raise UserError(
            "there is nothing to choose" if n < 1 else "there is no output to choose from",
            hint="Ask for one output at least" if n < 1 else "Score the metric first, or leave nothing out",
        )
    unit, wanted = _units(candidates, n, whole)
    sizes = np.bincount(unit)
    if method == "stratified":
        cell = np.empty(len(sizes), dtype=np.int64)
        cell[unit] = cells(candidates, whole=whole, n_strata=n_strata)
        probabilities, order = stratified(cell, wanted), cell
    else:
        probabilities, order = proportional(_informative(candidates, unit, wanted, interval, labelled), wanted), None
    taken = set(drawn(probabilities, seed, order).tolist())
    segment = group_ids([c.key.segment for c in candidates])
    turn = np.random.default_rng([seed, 1]).permutation(int(segment.max()) + 1)[segment]
    return tuple(
        Chosen(candidates[i].key, float(probabilities[unit[i]]))
        for i in np.argsort(turn, kind="stable")
        if unit[i] in taken
    )


def _informative(
    candidates: Sequence[Candidate],
    unit: Ints,
    wanted: int,
    interval: tuple[float, float],
    labelled: Sequence[Candidate],
) -> Floats:
    """Expected crossings of each unit, those of its outputs added up."""
    chance = min(1.0, wanted / (int(unit.max()) + 1))
    everything = [*candidates, *labelled]
    known = np.concatenate((np.full(len(candidates), chance), np.ones(len(labelled))))
    exp, imp = [c.dist_exp for c in everything], [c.dist_imp for c in everything]
    found = crossings(exp, imp, *interval, known)[: len(candidates)]
    of_unit: Floats = np.bincount(unit, found).astype(np.float64)
    return of_unit


def weights(probabilities: npt.ArrayLike) -> Floats:
    """How many outputs each chosen one stands for: 1/probability. Raises `ValueError` for a probability that is not in (0, 1]."""
    (p,) = vectors(probabilities)
    if ((p <= 0) | (p > 1)).any():
        raise ValueError("the probability of something chosen lies above 0 and not above 1")
    each: Floats = 1 / p
    return each


def horvitz_thompson(values: npt.ArrayLike, probabilities: npt.ArrayLike, population: int) -> float:
    """The mean over all `population` outputs: Σ v/probability ÷ population. Unbiased, whatever the probabilities."""
    v, p = vectors(values, probabilities)
    return float((v * weights(p)).sum() / population)


def hajek(values: npt.ArrayLike, probabilities: npt.ArrayLike) -> float | None:
    """The mean over all outputs as Σ v/p ÷ Σ 1/p: hardly biased, less scattered, exact for equal values; None of none."""
    v, p = vectors(values, probabilities)
    return float(np.average(v, weights=weights(p))) if len(v) else None
