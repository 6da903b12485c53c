"""Contrasts of two arms that were drawn at random for each rater and unit: estimates, standard errors, and tests.

Errors are those of the bootstrap of raters and of units, crossed, in the limit of many draws and to first order (infinitesimal jackknife).
Drawing raters and units at the same time counts the residual three times (Owen 2007, section 4). So the two variances are added,
and that of single cells (rater × unit) is subtracted, as in two-way clustering (Cameron, Gelbach and Miller 2011, equation 2.11).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from core.stats.correlation.pairs import Floats, Ints

CELLS_AT_ONCE = 2_000_000
FEW_RATERS = 4
"""With fewer raters, their variance is not estimated: errors are for these raters."""
ROUNDING = 1e-10


class ArmRows(NamedTuple):
    """The design, each of shape (n_rows,): whether a row is treated, with which `probability` it is, and ids from 0.

    Rows of the same rater and unit are one cell and have the same arm. Arms of cells in a block are exchangeable.
    """

    treated: npt.NDArray[np.bool_]
    probability: Floats
    raters: Ints
    units: Ints
    blocks: Ints

    @property
    def cells(self) -> Ints:
        """Return the id of each row's cell."""
        return np.unique(self.raters * (self.units.max(initial=0) + 1) + self.units, return_inverse=True)[1]


class ArmMeasure(NamedTuple):
    """The ratio Σ top / Σ bottom, both of shape (n_rows,) and 0 where a row has no value. With `log`, contrasts are of its logarithm."""

    top: Floats
    bottom: Floats
    log: bool = False


Terms = dict[tuple[int, int], float]
"""A contrast: the coefficient of each (arm, index of a measure); arm 1 is treated, 0 is control."""


class Contrast(NamedTuple):
    """The estimate of a contrast and its standard error with `df` degrees of freedom; NaN if undefined."""

    value: float
    error: float
    df: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of Student's t distribution."""
        half = float(stdtrit(max(self.df, 1), (1 + level) / 2)) * self.error
        return self.value - half, self.value + half


def levels(rows: ArmRows, measures: Sequence[ArmMeasure]) -> Floats:
    """Return the measures in the control and the treated arm, shape (2, n_measures), weighted by 1 / the probability of the arm.

    NaN without values, logarithms for measures with `log`.
    """
    treated, controls = _tables(rows, measures)
    arms = rows.treated[:, None]
    return _linked(np.stack([np.where(arms, 0, controls).sum(0), np.where(arms, treated, 0).sum(0)]), measures)


def contrasts(rows: ArmRows, measures: Sequence[ArmMeasure], all_terms: Sequence[Terms]) -> list[Contrast]:
    """Return each contrast with its error, see the module. NaN where a measure is undefined in an arm that the contrast uses."""
    linked, n = levels(rows, measures), len(measures)
    influence = np.zeros((2, n, len(rows.treated)))
    for arm, (in_arm, weight) in enumerate(
        ((~rows.treated, 1 / (1 - rows.probability)), (rows.treated, 1 / rows.probability))
    ):
        for m, measure in enumerate(measures):
            w = np.where(in_arm, weight, 0.0)
            total, ratio = float((w * measure.bottom).sum()), math.nan
            if np.isfinite(linked[arm, m]):
                ratio = math.exp(linked[arm, m]) if measure.log else float(linked[arm, m])
                influence[arm, m] = w * (measure.top - ratio * measure.bottom) / (total * (ratio if measure.log else 1))
    clusters = (rows.raters, rows.units, rows.cells)
    return [_contrast(clusters, linked, influence, terms) for terms in all_terms]


def _contrast(clusters: tuple[Ints, Ints, Ints], linked: Floats, influence: Floats, terms: Terms) -> Contrast:
    value = sum(c * float(linked[at]) for at, c in terms.items())
    of_rows = sum((c * influence[at] for at, c in terms.items()), np.zeros(len(clusters[0])))
    used = of_rows != 0
    if not math.isfinite(value) or not used.any():
        return Contrast(value if math.isfinite(value) else math.nan, math.nan, 0)
    raters, units, cells = (_clustered(of_rows[used], ids[used]) for ids in clusters)
    if raters[1] < FEW_RATERS:
        return Contrast(value, math.sqrt(units[0]) if units[1] > 1 else math.nan, units[1] - 1)
    variance = raters[0] + units[0] - cells[0]
    variance = variance if variance > 0 else max(raters[0], units[0])
    return Contrast(value, math.sqrt(variance), min(raters[1], units[1]) - 1)


def _clustered(influence: Floats, ids: Ints) -> tuple[float, int]:
    """Return the variance over clusters, Σ (sum of a cluster)² · n/(n − 1), and their number n."""
    sums, n = np.bincount(ids, influence), int(np.count_nonzero(np.bincount(ids)))
    return float((sums**2).sum()) * n / max(n - 1, 1), n


def randomisation_p(
    rows: ArmRows, measures: Sequence[ArmMeasure], families: Sequence[Sequence[Terms]], *, seed: int, draws: int
) -> list[list[float | None]]:
    """Return two-sided p-values of contrasts by drawing arms again within blocks; None if no block has cells of both arms.

    Each is the share of draws (with the observed one) in which the largest contrast of its family is at least as far from 0. So the
    p-values of a family are corrected for their number (Westfall and Young 1993, single step). Draws in which a contrast is undefined
    count as far.
    """
    cells, first = rows.cells, np.unique(rows.cells, return_index=True)[1]
    arms, blocks = rows.treated[first], rows.blocks[first]
    if (arms[cells] != rows.treated).any():
        raise ValueError("the rows of one rater and unit must be in one arm")
    by_block, n_treated = np.bincount(blocks), np.bincount(blocks, arms)
    if not ((n_treated > 0) & (n_treated < by_block)).any():
        return [[None] * len(family) for family in families]
    treated, controls = _tables(rows, measures)
    of_rows, all_controls = np.hstack([treated, controls]), controls.sum(0)
    all_terms = [terms for family in families for terms in family]
    signs = np.array(
        [[terms.get((arm, m), 0.0) for arm in (0, 1) for m in range(len(measures))] for terms in all_terms]
    )
    family_of = np.repeat(np.arange(len(families)), [len(family) for family in families])

    def distances(shown: Floats) -> Floats:
        """Return how far each contrast is from 0, shape (n_draws, n_contrasts), ∞ if undefined; `shown` is (n_draws, n_rows)."""
        of_treated, of_controls = np.split(shown @ of_rows, 2, axis=1)
        sums = np.stack([all_controls - of_controls, of_treated], axis=1)
        linked = _linked(sums, measures).reshape(len(shown), -1)
        undefined = np.isnan(linked)
        far: Floats = np.abs(np.where(undefined, 0, linked) @ signs.T)
        far[undefined.astype(np.float64) @ (signs.T != 0) > 0] = np.inf
        return far

    observed = distances(rows.treated[None].astype(np.float64))[0]
    arms_in_order = arms[np.argsort(blocks, kind="stable")].astype(np.float64)
    rng, step = np.random.default_rng(seed), max(1, CELLS_AT_ONCE // len(rows.treated))
    at_least = np.ones(len(all_terms))
    for start in range(0, draws, step):
        order = np.argsort(rng.random((min(step, draws - start), len(blocks))) + blocks, axis=1)
        again = np.empty(order.shape)
        np.put_along_axis(again, order, np.broadcast_to(arms_in_order, order.shape), 1)
        drawn = distances(again[:, cells])
        largest = np.stack([drawn[:, family_of == f].max(1) for f in range(len(families))], axis=1)
        at_least += (largest[:, family_of] >= observed - ROUNDING).sum(0)
    p_values = [
        p if math.isfinite(far) else None
        for p, far in zip((at_least / (draws + 1)).tolist(), observed.tolist(), strict=True)
    ]
    return [[p for p, f in zip(p_values, family_of, strict=True) if f == family] for family in range(len(families))]


def _tables(rows: ArmRows, measures: Sequence[ArmMeasure]) -> tuple[Floats, Floats]:
    """Return what each row adds to the tops and bottoms if it is treated, and if it is a control; shape (n_rows, 2 · n_measures)."""
    values = np.stack([m.top for m in measures] + [m.bottom for m in measures], axis=1)
    return values / rows.probability[:, None], values / (1 - rows.probability)[:, None]


def _linked(sums: Floats, measures: Sequence[ArmMeasure]) -> Floats:
    """Return the measures from their sums, (…, 2 · n_measures) → (…, n_measures), see `levels`."""
    top, bottom = sums[..., : len(measures)], sums[..., len(measures) :]
    log = np.array([m.log for m in measures])
    # sums that were computed by subtraction differ from 0 by rounding
    defined = (bottom > ROUNDING) & (~log | (top > ROUNDING))
    ratio = np.where(defined, top, 1.0) / np.where(defined, bottom, 1.0)
    return np.where(defined, np.where(log, np.log(np.where(log, ratio, 1.0)), ratio), np.nan)


class Equivalence(NamedTuple):
    """Whether effects lie within ±`margin`, by two one-sided tests at 5 % for each: all their 90 % intervals do.

    `outside` says whether one of the intervals lies beyond the margin completely. `needed` is the factor by which the number of units
    must grow so that effects of 0 are shown to lie within the margin with a probability of at least 80 % each: Φ⁻¹(.95) + Φ⁻¹(.90) = 2.93 standard
    errors are then one margin.
    """

    margin: float
    equivalent: bool
    outside: bool
    needed: float


def equivalence(effects: Sequence[Contrast], margin: float) -> Equivalence:
    """Test all effects together. Each must pass, so no correction for their number is needed (Berger 1982)."""
    intervals = [effect.interval(0.90) for effect in effects]
    inside = all(-margin <= low and high <= margin for low, high in intervals)
    outside = any(low > margin or high < -margin for low, high in intervals)
    largest = max(effect.error for effect in effects)
    return Equivalence(margin, inside, outside, ((1.6449 + 1.2816) * largest / margin) ** 2)
