"""acc_eq as a function of λ, with ε found anew at every λ: a fine scan, refined around its best.

ε is the one that is best at each λ, as `evaluate` has it (Deutsch et al. 2023), so this is no step curve that could be swept. The
scan looks at 201 λ, evenly spaced in ω = λ/(1+λ), then at 40 more beside the best. Of many outputs it looks at a random sample of
their pairs; `ScanCurve.exact` has the value of all pairs at one λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix

from core.calibration.curve import SAME, Best, CurvePoint, Plateau, from_omega, omega
from core.calibration.drawn import STEPS, Agreements, Tell
from core.calibration.flips import on_grid
from core.calibration.scan import in_threads
from core.stats.pairs import Floats, Ints, pairs_within, random_pairs_within
from core.stats.ties import calibrate_ties

SCANNED = 200_000
"""Pairs that a scan looks at: all, or so many drawn at random."""
BINS = 1024
"""Values of ε at each λ of the scan: quantiles of the differences. Up to as many pairs, every ε."""
FINER = 20
COARSE = 5
DRAWS_AT_ONCE = 64
GRID: Floats = np.arange(STEPS + 1) / STEPS
Codes = npt.NDArray[np.uint16]


class _Pairs(NamedTuple):
    """Pairs of outputs: rows i and j, sign of the human difference, and weight."""

    i: Ints
    j: Ints
    human: Floats
    share: Floats


class TieScan:
    """From how often each output counts to acc_eq by λ; of segments, the average over them."""

    def __init__(
        self, exp: Floats, imp: Floats, human: Floats, groups: Sequence[Ints], segments: Sequence[int]
    ) -> None:
        self.exp, self.imp = (distance.astype(np.float64) for distance in on_grid(exp, imp))
        self.human, self.segments = human, list(segments)
        self.groups = [rows for rows in groups if len(rows) > 1]
        self.total = sum(len(r) * (len(r) - 1) // 2 for r in self.groups)
        self.sampled = self.total > SCANNED
        i, j, share = random_pairs_within(self.groups, SCANNED, 0) if self.sampled else pairs_within(self.groups)
        if not segments:
            share = np.ones(len(i))
        self.pairs = _Pairs(i, j, np.sign(human[i] - human[j]), share)

    def __call__(self, weights: Floats) -> ScanCurve:
        return ScanCurve(self, weights)

    def pair_weights(self, weights: Floats) -> Floats:
        """Of outputs (n, …) by pair (n_pairs, …): the product, or within segments the weight of the segment."""
        i, j, share = self.pairs.i, self.pairs.j, self.pairs.share
        found: Floats = weights[i] if self.segments else weights[i] * weights[j]
        return found * (share if found.ndim == 1 else share[:, None])

    def scores(self, w: float) -> Floats:
        """The scores at ω as whole numbers of 1e-12, whose differences are exact: equal ones stay equal."""
        return np.rint(-(w * self.exp + (1 - w) * self.imp))

    def differences(self, w: float) -> Floats:
        """The difference of the scores of each pair at ω."""
        found = self.scores(w)
        return np.asarray(found[self.pairs.i] - found[self.pairs.j])

    @cached_property
    def codes(self) -> list[Codes]:
        """At each ω of `GRID`, where each pair is counted: see `_coded`."""
        parts = [GRID[k : k + 8] for k in range(0, len(GRID), 8)]
        return [c for found in in_threads(lambda some: [self.coded(w) for w in some], parts) for c in found]

    def coded(self, w: float) -> Codes:
        """The bin of |Δ| of each pair at ω: 0 for 0, then 1 to `BINS`, equal ones together; + `BINS` + 2 where the metric orders the
        pair as people do. `BINS` + 1: a pair it orders wrongly, which no ε makes right."""
        apart = self.differences(w)
        gap = np.abs(apart)
        order = np.argsort(gap)
        ascending, n = gap[order], len(gap)
        fresh = np.concatenate(([True], ascending[1:] != ascending[:-1])) if n else np.zeros(0, dtype=bool)
        first = np.maximum.accumulate(np.where(fresh, np.arange(n), 0))
        code = np.empty(n, dtype=np.int64)
        code[order] = np.where(ascending == 0, 0, 1 + (first * BINS // n if n > BINS else first))
        ordered = self.pairs.human != 0
        right = ordered & (np.sign(apart) == self.pairs.human)
        return np.where(right, code + BINS + 2, np.where(ordered, BINS + 1, code)).astype(np.uint16)

    def drawn(self, unit: Ints, weights: Floats, lam: float, tell: Tell) -> Agreements:
        """The agreement of many draws of the outputs' units; `weights` are how often each takes a unit (n_units, n_draws).

        Every fifth λ of the scan, then those around the best of each; NaN at the others.
        """
        n_draws, here = weights.shape[1], self.coded(omega(lam))
        found, at_lam = np.full((STEPS + 1, n_draws), np.nan), np.empty(n_draws)
        for start in range(0, n_draws, DRAWS_AT_ONCE):
            some = np.arange(start, min(n_draws, start + DRAWS_AT_ONCE))
            of_pairs = self.pair_weights(weights[unit[:, None], some])
            total = of_pairs.sum(0)
            at_lam[some] = _best(_sums(here, of_pairs), total)

            def at(k: int, w: Floats = of_pairs, t: Floats = total) -> Floats:
                return _best(_sums(self.codes[k], w), t)

            coarse = list(range(0, STEPS + 1, COARSE))
            found[coarse, start : start + len(some)] = in_threads(at, coarse)
            near = np.nan_to_num(found[coarse][:, some], nan=-1.0).argmax(0) * COARSE
            fine = sorted(
                {int(k) for k in np.add.outer(near, np.arange(1 - COARSE, COARSE)).ravel() if 0 <= k <= STEPS}
            )
            found[fine, start : start + len(some)] = in_threads(at, fine)
            tell(float(some[-1] + 1) / n_draws)
        return Agreements(found.T, found[0], found[-1], at_lam)


def _sums(code: Codes, weights: Floats) -> Floats:
    """The weights by code, (2·`BINS` + 4, …)."""
    size = 2 * BINS + 4
    if weights.ndim == 1:
        return np.asarray(np.bincount(code, weights, size), dtype=np.float64)
    n = len(code)
    table = csc_matrix((np.ones(n), code.astype(np.int32), np.arange(n + 1)), shape=(size, n))
    return np.asarray(table @ weights)


def _best(sums: Floats, total: Floats | float) -> Floats:
    """The highest acc_eq over all ε, from sums by code; NaN without a pair."""
    tied, right = sums[: BINS + 1], sums[BINS + 3 : 2 * BINS + 3]
    start = right.sum(0) + tied[0]
    best = start + np.maximum(0, np.cumsum(tied[1:] - right, axis=0).max(0))
    found: Floats = np.divide(best, total, out=np.full(np.shape(best), np.nan), where=np.asarray(total) > 0)
    return found


@dataclass(frozen=True)
class ScanCurve:
    """acc_eq along λ under some weights of the outputs."""

    of: TieScan
    weights: Floats

    @cached_property
    def _of_pairs(self) -> Floats:
        return self.of.pair_weights(self.weights)

    def value(self, lam: float) -> float | None:
        """The agreement at λ ∈ [0, ∞], over the pairs that are scanned."""
        found = self._at([omega(lam)])
        return None if np.isnan(found[0]) else float(found[0])

    def exact(self, lam: float) -> float | None:
        """The agreement at λ over all pairs, as `evaluate` has it. `weights` are 0 and 1 here."""
        rows = np.flatnonzero(self.weights > 0)
        scores = self.of.scores(omega(lam))[rows]
        segments = [self.of.segments[k] for k in rows] if self.of.segments else ()
        return calibrate_ties(scores, self.of.human[rows], segments).statistic.value if len(rows) else None

    def _at(self, omegas: Sequence[float] | Floats) -> Floats:
        """Every ε at each ω."""
        w, tied, total = self._of_pairs, self.of.pairs.human == 0, self._of_pairs.sum()
        if not total > 0:
            return np.full(len(omegas), np.nan)

        def at(one: float) -> float:
            apart = self.of.differences(one)
            gap, right = np.abs(apart), np.sign(apart) == self.of.pairs.human
            order = np.argsort(gap)
            change = np.where(gap == 0, 0.0, tied.astype(np.float64) - right) * w
            ends = np.append(np.diff(gap[order]) > 0, True)
            return float((w @ right + max(0.0, np.cumsum(change[order])[ends].max())) / total)

        return np.array(in_threads(at, list(omegas)))

    @cached_property
    def _scan(self) -> Floats:
        total = float(self._of_pairs.sum())
        return np.array([_best(_sums(code, self._of_pairs), total) for code in self.of.codes], dtype=np.float64)

    @cached_property
    def _refined(self) -> tuple[Floats, Floats]:
        """All λ looked at, as ω ascending, and the agreement there."""
        k = int(np.nanargmax(self._scan))
        near = np.unique(np.concatenate([np.linspace(max(0, k - 1), min(STEPS, k + 1), 2 * FINER + 1) / STEPS, [0.5]]))
        far = ~np.isin(GRID, near)
        omegas = np.concatenate([GRID[far], near])
        values = np.concatenate([self._scan[far], self._at(near)])
        order = np.argsort(omegas)
        return omegas[order], values[order]

    def best(self) -> Best | None:
        """The best λ looked at: of equals the one nearest to λ = 1, with the neighbours looked at that do as well."""
        if np.isnan(self._scan).all():
            return None
        omegas, values = self._refined
        top = float(values.max())
        there = np.flatnonzero(values >= top - SAME)
        k = int(there[np.argmin(np.abs(omegas[there] - 0.5))])
        low = high = k
        while low > 0 and values[low - 1] >= top - SAME:
            low -= 1
        while high + 1 < len(omegas) and values[high + 1] >= top - SAME:
            high += 1
        first, last = (from_omega(float(omegas[at])) for at in (low, high))
        return Best(from_omega(float(omegas[k])), top, Plateau(first, last, True, True))

    def drawn(self, limit: int = 400) -> list[CurvePoint]:
        """Every λ looked at."""
        if np.isnan(self._scan).all():
            return [CurvePoint(0.0, None), CurvePoint(np.inf, None)]
        omegas, values = self._refined
        return [CurvePoint(from_omega(float(w)), float(v)) for w, v in zip(omegas, values, strict=True)]
