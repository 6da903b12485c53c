"""Bootstrap intervals (over segments) and cross-validation (over documents) of a fitted λ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.calibration.bootstrap_draws import STEPS
from core.calibration.curve import from_omega, omega
from core.calibration.lambda_search import CurveOf, ManyOutputs, all_pairs_value
from core.calibration.tie_scan import TieScan
from core.data import OutputKey
from core.progress import Progress, no_progress
from core.stats.bootstrap import draws_of, percentiles
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints

RIBBON: tuple[float, ...] = tuple(from_omega(w / 40) for w in range(41))


DrawTable = tuple[Floats, Floats, Floats]
"""Per draw, NaN where undefined: ω of the fit (n_draws,), agreement at the chosen λ (n_draws,) and at `RIBBON` (n_draws, 41)."""


class Band(NamedTuple):
    """The bootstrap interval of the agreement at one λ."""

    lam: float
    low: float
    high: float


FOLD_OUTPUTS = 10
"""Outputs per fold from which the cross-validated agreement is shown."""


class CrossValidated(NamedTuple):
    """The mean agreement on held-out folds with the λ fitted on the others; None, with a reason, if undefined.

    `over` is what was held out: "documents" or, with fewer than four of them, "segments".
    """

    value: float | None
    over: str
    folds: int
    lambdas: tuple[float, ...]
    reason: str = ""

    def too_small(self, outputs: int) -> str:
        """Return why the mean over folds of so many outputs is not shown, or "": agreement in a tiny fold is nearly always 1 or undefined."""
        if self.value is None:
            return self.reason
        if outputs >= FOLD_OUTPUTS * self.folds:
            return ""
        return f"not shown for fewer than {FOLD_OUTPUTS * self.folds} outputs: {outputs} in {self.folds} folds have too few pairs"


class Fits(NamedTuple):
    """Intervals of λ, of the agreement at the chosen λ, of its gain over λ = 1, and of the agreement along the curve."""

    ci: tuple[float, float] | None
    agreement_ci: tuple[float, float] | None
    gain_ci: tuple[float, float] | None
    ribbon: tuple[Band, ...]
    notes: tuple[str, ...]


def resampled(
    sweep: CurveOf,
    of_segment: Ints,
    lam: float,
    seed: int,
    draws: int,
    progress: Progress = no_progress,
    base: Floats | None = None,
) -> Fits:
    """Refit λ on resamples of the segments, each output with its `base` weight (ignored for very many outputs).

    Resamples on which agreement is undefined are left out and counted in a note.
    """
    n = int(of_segment.max()) + 1
    if n < 2 or draws < 1:
        return Fits(None, None, None, (), ("No interval: at least two segments are needed.",) if draws else ())
    weights = np.array(list(draws_of(n, seed, draws)))
    if isinstance(sweep, ManyOutputs | TieScan):
        fitted, at_lam, bands = _at_once(sweep, of_segment, weights, lam, progress)
    else:
        fitted, at_lam, bands = _one_by_one(sweep, of_segment, weights, lam, progress, 1.0 if base is None else base)
    defined = ~np.isnan(fitted)
    missing = draws - int(defined.sum())
    if missing > draws / 2:
        return Fits(None, None, None, (), (f"No interval: agreement is undefined on {missing} of {draws} resamples.",))
    low, high = percentiles(fitted[defined])
    known = [_known(column) for column in (at_lam, *bands.T)]
    ribbon = tuple(Band(at, *percentiles(x)) for at, x in zip(RIBBON, known[1:], strict=True) if len(x) >= draws / 2)
    note = f"Agreement is undefined on {missing} of {draws} resamples; they are left out of the interval."
    return Fits(
        (from_omega(low), from_omega(high)),
        percentiles(known[0]) if len(known[0]) else None,
        percentiles(gains) if len(gains := _known(at_lam - bands[:, RIBBON.index(1.0)])) >= draws / 2 else None,
        ribbon,
        (note,) if missing else (),
    )


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _one_by_one(
    sweep: CurveOf, unit: Ints, weights: Floats, lam: float, progress: Progress, base: Floats | float
) -> DrawTable:
    """Fit each draw exactly, with its own sweep."""
    fitted, bands = np.full(len(weights), np.nan), np.full((len(weights), len(RIBBON) + 1), np.nan)
    for k, draw in enumerate(weights):
        curve = sweep(draw[unit] * base)
        if (best := curve.best()) is not None:
            fitted[k] = omega(best.lam)
            bands[k] = np.array([curve.value(at) for at in (lam, *RIBBON)], dtype=np.float64)  # None becomes NaN
        progress((k + 1) / len(weights))
    return fitted, bands[:, 0], bands[:, 1:]


def _at_once(sweep: ManyOutputs | TieScan, unit: Ints, weights: Floats, lam: float, progress: Progress) -> DrawTable:
    """Fit each draw to 201 λ (the lowest on ties), or to λ = 0 or ∞ if these are better than all between."""
    a = sweep.bootstrap(unit, np.ascontiguousarray(weights.T), lam, progress)
    values = np.column_stack((a.steps, a.zero, a.inf))
    places = np.append(np.arange(STEPS + 1) / STEPS, (0.0, 1.0))
    fitted = np.where(np.isnan(values).all(1), np.nan, places[np.where(np.isnan(values), -np.inf, values).argmax(1)])
    between = a.steps[:, np.rint([omega(at) * STEPS for at in RIBBON]).astype(np.int64)]
    return fitted, a.at_lam, np.column_stack((a.zero, between[:, 1:-1], a.inf))


def cross_validated(
    sweep: CurveOf, keys: Sequence[OutputKey], seed: int, progress: Progress = no_progress, base: Floats | None = None
) -> CrossValidated:
    """Cross-validate with up to five folds, weighted by their numbers of outputs; undefined folds are left out."""
    documents, segments = [k.doc_id for k in keys], [k.segment for k in keys]
    over, unit = ("documents", group_ids(documents)) if len(set(documents)) >= 4 else ("segments", group_ids(segments))
    n = int(unit.max()) + 1
    folds = min(5, n)
    if folds < 2:
        return CrossValidated(None, over, folds, (), "there is only one segment")
    fold = np.random.default_rng(seed).permutation(n)[unit] % folds
    each = 1.0 if base is None else base
    values: list[float] = []
    sizes: list[int] = []
    lambdas: list[float] = []
    for k in range(folds):
        held: Floats = (fold == k).astype(np.float64)
        best = sweep((1 - held) * each).best()
        progress((k + 1) / folds)
        if best is None:
            continue
        lambdas.append(best.lam)
        value = all_pairs_value(sweep(held * each), best.lam)
        if value is not None:
            values.append(value)
            sizes.append(int(held.sum()))
    if not values:
        reason = f"agreement is undefined in each held-out fold of {over}"
        return CrossValidated(None, over, folds, tuple(lambdas), reason)
    return CrossValidated(float(np.average(values, weights=sizes)), over, folds, tuple(lambdas))
