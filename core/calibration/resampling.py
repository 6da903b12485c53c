"""How sure a fitted λ is (bootstrap over segments), and how well it travels (cross-validation over documents)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.calibration.curve import from_omega, omega
from core.calibration.drawn import STEPS, Tell, quiet
from core.calibration.lambda_search import CurveOf, ManyOutputs, all_pairs_value
from core.calibration.tie_scan import TieScan
from core.data import OutputKey
from core.stats.bootstrap import draws_of, percentiles
from core.stats.correlation import group_ids
from core.stats.pairs import Floats, Ints

RIBBON: tuple[float, ...] = tuple(from_omega(w / 40) for w in range(41))


Table = tuple[Floats, Floats, Floats]
"""By draw, NaN where undefined: ω of the fit (n_draws,), the agreement at the chosen λ, and at `RIBBON` (n_draws, 41)."""


class Band(NamedTuple):
    """The bootstrap interval of the agreement at one λ."""

    lam: float
    low: float
    high: float


class CrossValidated(NamedTuple):
    """The mean agreement on parts left out, under the λ fitted on the others; None with the reason where there is none.

    `over`: what was left out, "documents" or, with fewer than four of them, "segments".
    """

    value: float | None
    over: str
    folds: int
    lambdas: tuple[float, ...]
    reason: str = ""


class Fits(NamedTuple):
    """Intervals of λ, of the agreement at the chosen λ, of what that is above the agreement at λ = 1, and of the agreement
    along the curve."""

    ci: tuple[float, float] | None
    agreement_ci: tuple[float, float] | None
    gain_ci: tuple[float, float] | None
    ribbon: tuple[Band, ...]
    notes: tuple[str, ...]


def resampled(
    sweep: CurveOf, of_segment: Ints, lam: float, seed: int, draws: int, tell: Tell = quiet, base: Floats | None = None
) -> Fits:
    """Refit λ on resamples of the segments, each output with its `base` weight; draws on which agreement is undefined are left
    out and counted. Very many outputs come without weights."""
    n = int(of_segment.max()) + 1
    if n < 2 or draws < 1:
        return Fits(None, None, None, (), ("There is no interval: that needs at least two segments.",) if draws else ())
    weights = np.array(list(draws_of(n, seed, draws)))
    if isinstance(sweep, ManyOutputs | TieScan):
        fitted, here, bands = _at_once(sweep, of_segment, weights, lam, tell)
    else:
        fitted, here, bands = _one_by_one(sweep, of_segment, weights, lam, tell, 1.0 if base is None else base)
    there = ~np.isnan(fitted)
    missing = draws - int(there.sum())
    if missing > draws / 2:
        return Fits(
            None, None, None, (), (f"There is no interval: agreement was undefined on {missing} of {draws} resamples.",)
        )
    low, high = percentiles(fitted[there])
    known = [_known(column) for column in (here, *bands.T)]
    ribbon = tuple(Band(at, *percentiles(x)) for at, x in zip(RIBBON, known[1:], strict=True) if len(x) >= draws / 2)
    note = f"Agreement was undefined on {missing} of {draws} resamples; the interval leaves them out."
    return Fits(
        (from_omega(low), from_omega(high)),
        percentiles(known[0]) if len(known[0]) else None,
        percentiles(gains) if len(gains := _known(here - bands[:, RIBBON.index(1.0)])) >= draws / 2 else None,
        ribbon,
        (note,) if missing else (),
    )


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _one_by_one(sweep: CurveOf, unit: Ints, weights: Floats, lam: float, tell: Tell, base: Floats | float) -> Table:
    """Exactly: a sweep for every draw."""
    fitted, bands = np.full(len(weights), np.nan), np.full((len(weights), len(RIBBON) + 1), np.nan)
    for k, draw in enumerate(weights):
        curve = sweep(draw[unit] * base)
        if (best := curve.best()) is not None:
            fitted[k] = omega(best.lam)
            bands[k] = [np.nan if (v := curve.value(at)) is None else v for at in (lam, *RIBBON)]
        tell((k + 1) / len(weights))
    return fitted, bands[:, 0], bands[:, 1:]


def _at_once(sweep: ManyOutputs | TieScan, unit: Ints, weights: Floats, lam: float, tell: Tell) -> Table:
    """The best of 201 λ for every draw, of equals the lowest; λ = 0 and ∞ where they are better than all between."""
    a = sweep.drawn(unit, np.ascontiguousarray(weights.T), lam, tell)
    values = np.column_stack((a.steps, a.zero, a.inf))
    places = np.append(np.arange(STEPS + 1) / STEPS, (0.0, 1.0))
    fitted = np.where(np.isnan(values).all(1), np.nan, places[np.where(np.isnan(values), -np.inf, values).argmax(1)])
    between = a.steps[:, np.rint([omega(at) * STEPS for at in RIBBON]).astype(np.int64)]
    return fitted, a.here, np.column_stack((a.zero, between[:, 1:-1], a.inf))


def cross_validated(
    sweep: CurveOf, keys: Sequence[OutputKey], seed: int, tell: Tell = quiet, base: Floats | None = None
) -> CrossValidated:
    """Up to five folds. Each fold's agreement counts by its number of outputs; folds where it is undefined stay out."""
    documents, segments = [k.doc_id for k in keys], [k.segment for k in keys]
    over, unit = ("documents", group_ids(documents)) if len(set(documents)) >= 4 else ("segments", group_ids(segments))
    n = int(unit.max()) + 1
    folds = min(5, n)
    if folds < 2:
        return CrossValidated(None, over, folds, (), "there is only one segment")
    fold = np.random.default_rng(seed).permutation(n)[unit] % folds
    values: list[float] = []
    sizes: list[int] = []
    lambdas: list[float] = []
    for k in range(folds):
        held: Floats = (fold == k).astype(np.float64)
        each = 1.0 if base is None else base
        best = sweep((1 - held) * each).best()
        tell((k + 1) / folds)
        if best is None:
            continue
        lambdas.append(best.lam)
        value = all_pairs_value(sweep(held * each), best.lam)
        if value is not None:
            values.append(value)
            sizes.append(int(held.sum()))
    if not values:
        return CrossValidated(
            None, over, folds, tuple(lambdas), f"agreement is undefined within each part of the {over} left out"
        )
    return CrossValidated(float(np.average(values, weights=sizes)), over, folds, tuple(lambdas))
