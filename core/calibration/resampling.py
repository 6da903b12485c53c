"""How sure a fitted λ is (bootstrap over segments), and how well it travels (cross-validation over documents)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.calibration.curve import Curve, from_omega, omega
from core.calibration.lambda_search import CurveOf
from core.data import OutputKey
from core.stats.bootstrap import draws_of, percentiles
from core.stats.correlation import group_ids
from core.stats.pairs import Floats, Ints

RIBBON: tuple[float, ...] = tuple(from_omega(w / 40) for w in range(41))


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
    """Intervals of λ and of the agreement at the chosen λ, and of the agreement along the curve."""

    ci: tuple[float, float] | None
    agreement_ci: tuple[float, float] | None
    ribbon: tuple[Band, ...]
    notes: tuple[str, ...]


def resampled(sweep: CurveOf, of_segment: Ints, lam: float, seed: int, draws: int) -> Fits:
    """Refit λ on resamples of the segments; draws on which agreement is undefined are left out and counted."""
    n = int(of_segment.max()) + 1
    if n < 2 or draws < 1:
        return Fits(None, None, (), ("There is no interval: that needs at least two segments.",) if draws else ())
    lambdas: list[float] = []
    here: list[float] = []
    bands: list[list[float]] = [[] for _ in RIBBON]
    for weights in draws_of(n, seed, draws):
        curve = sweep(weights[of_segment])
        best = curve.best()
        if best is None:
            continue
        lambdas.append(omega(best.lam))
        _keep(here, curve, lam)
        for band, at in zip(bands, RIBBON, strict=True):
            _keep(band, curve, at)
    if len(lambdas) < draws / 2:
        return Fits(
            None,
            None,
            (),
            (f"There is no interval: agreement was undefined on {draws - len(lambdas)} of {draws} resamples.",),
        )
    low, high = percentiles(lambdas)
    note = f"Agreement was undefined on {draws - len(lambdas)} of {draws} resamples; the interval leaves them out."
    ribbon = tuple(
        Band(at, *percentiles(band)) for at, band in zip(RIBBON, bands, strict=True) if len(band) >= draws / 2
    )
    return Fits(
        (from_omega(low), from_omega(high)),
        percentiles(here) if here else None,
        ribbon,
        (note,) if len(lambdas) < draws else (),
    )


def _keep(values: list[float], curve: Curve, lam: float) -> None:
    if (value := curve.value(lam)) is not None:
        values.append(value)


def cross_validated(sweep: CurveOf, keys: Sequence[OutputKey], seed: int) -> CrossValidated:
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
        best = sweep(1 - held).best()
        if best is None:
            continue
        lambdas.append(best.lam)
        value = sweep(held).value(best.lam)
        if value is not None:
            values.append(value)
            sizes.append(int(held.sum()))
    if not values:
        return CrossValidated(
            None, over, folds, tuple(lambdas), f"agreement is undefined within each part of the {over} left out"
        )
    return CrossValidated(float(np.average(values, weights=sizes)), over, folds, tuple(lambdas))
