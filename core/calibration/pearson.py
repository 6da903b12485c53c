"""Pearson's r as a smooth function of λ.

In one group r(ω) = −(ω·cov(e,h) + (1−ω)·cov(i,h)) / √(var h · var(ω·e + (1−ω)·i)). Its derivative is zero at one ω at
most, so the optimum is that point or an end, in closed form. An average over segments is searched on a grid of 1,001 ω and
refined by a bounded search around the best grid point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from core.calibration.curve import BestLambda, CurvePoint, Plateau, defined, from_omega, omega
from core.stats.correlation.pairs import Floats, Ints

GRID: Floats = np.linspace(0.0, 1.0, 1001)
TINY = 1e-18
"""Variances up to this are 0; distances have a precision of about 1e-9."""


class Correlations(NamedTuple):
    """r of each group at some ω, (G, n); 0 where undefined. `there` is 1 where it is defined, else 0."""

    r: Floats
    there: Floats


def correlations(moments: Floats, omegas: Floats) -> Correlations:
    """Return the correlations from the `moments` of each group (G, 6)."""
    o = omegas[None, :]
    eh, ih, ee, ei, ii, hh = (column[:, None] for column in moments.T)
    spread = (o * o * ee + 2 * o * (1 - o) * ei + (1 - o) ** 2 * ii) * np.where(hh > TINY, hh, 0)
    there = spread > TINY * np.maximum(hh, TINY)
    r = np.where(there, -(o * eh + (1 - o) * ih) / np.sqrt(np.where(there, spread, 1.0)), 0.0)
    return Correlations(r, there.astype(np.float64))


@dataclass(frozen=True, slots=True)
class SmoothCurve:
    """Mean r over groups as a function of λ.

    `moments` (G, 6): cov(e,h), cov(i,h), var e, cov(e,i), var i, var h of each group; `weights` (G,); `grid`: the correlations
    at `GRID` for several groups, which all draws share.
    """

    moments: Floats
    weights: Floats
    grid: Correlations | None = None

    def at(self, w: float | Floats) -> Floats:
        """Return the weighted mean of r over the groups where it is defined, at each ω; NaN if it is in none."""
        return self._mean(correlations(self.moments, np.atleast_1d(np.asarray(w, dtype=np.float64))))

    def _mean(self, of: Correlations) -> Floats:
        weight = self.weights @ of.there
        return np.where(weight > 0, np.clip(self.weights @ of.r / np.where(weight > 0, weight, 1), -1, 1), np.nan)

    def value(self, lam: float) -> float | None:
        return defined(self.at(omega(lam))[0])

    def best(self) -> BestLambda | None:
        candidates = [0.0, 1.0]
        if len(self.moments) == 1:
            eh, ih, ee, ei, ii, _ = self.moments[0]
            over, under = ih * ei - eh * ii, eh * ei - ih * ee
            if under != 0 and over / under > 0:
                candidates.append(omega(float(over / under)))
        else:
            values = self.at(GRID) if self.grid is None else self._mean(self.grid)
            if np.isnan(values).all():
                return None
            k = int(np.nanargmax(values))
            bounds = (float(GRID[max(0, k - 1)]), float(GRID[min(len(GRID) - 1, k + 1)]))
            inside = minimize_scalar(
                lambda w: -float(np.nan_to_num(self.at(w)[0], nan=-1.0)), bounds=bounds, method="bounded"
            )
            candidates += [float(GRID[k]), float(inside.x)]
        values = self.at(np.array(candidates))
        if np.isnan(values).all():
            return None
        k = int(np.nanargmax(values))
        lam = from_omega(candidates[k])
        return BestLambda(lam, float(values[k]), Plateau(lam, lam, True, True))

    def points(self, limit: int = 400) -> list[CurvePoint]:
        best = self.best()
        omegas = np.unique(np.append(np.linspace(0, 1, limit + 1), [] if best is None else [omega(best.lam)]))
        return [CurvePoint(from_omega(w), defined(v)) for w, v in zip(omegas, self.at(omegas), strict=True)]


def moments(exp: Floats, imp: Floats, human: Floats, groups: Sequence[Ints], weights: Floats) -> Floats:
    """Return the moments of each group (G, 6), each output counted `weights` times."""
    rows = []
    for group in groups:
        w = weights[group]
        total = w.sum()
        if total <= 0:
            rows.append([0.0] * 6)
            continue
        e, i, h = (x[group] - (w @ x[group]) / total for x in (exp, imp, human))
        rows.append([float(w @ (a * b)) / float(total) for a, b in ((e, h), (i, h), (e, e), (e, i), (i, i), (h, h))])
    return np.array(rows, dtype=np.float64).reshape(-1, 6)
