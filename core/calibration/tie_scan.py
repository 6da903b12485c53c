"""acc_eq as a function of λ, with the best ε at each λ: a fine scan, refined around its best value.

The best ε changes with λ (Deutsch et al. 2023), so this is not a step curve that could be swept. The scan uses 201 λ, evenly
spaced in ω = λ/(1+λ), then 40 more near the best. With many outputs it uses a random sample of pairs; `ScanCurve.exact`
computes the value over all pairs at one λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix

from core.calibration.bootstrap_draws import STEPS, DrawAgreements
from core.calibration.breakpoints import on_grid
from core.calibration.curve import SAME, BestLambda, CurvePoint, Plateau, defined, from_omega, omega, runs
from core.progress import Progress
from core.stats.correlation.kernel import tied_pairs
from core.stats.correlation.pairs import Floats, Ints, changes, pairs_within, random_pairs_within, ratio
from core.stats.correlation.ties import calibrate_ties
from core.stats.threads import in_threads

SCANNED = 200_000
"""Maximum number of pairs in a scan; above it, a random sample of this size is used."""
BINS = 1024
"""Number of values of ε at each λ: quantiles of the differences, or all differences of at most this many pairs."""
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
    """Returns the curve of acc_eq by λ for weights of the outputs; with segments, the average over them."""

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
        """Return weights of pairs (n_pairs, …) from those of outputs (n, …): the product, or that of the segment."""
        i, j, share = self.pairs.i, self.pairs.j, self.pairs.share
        pair_weight: Floats = weights[i] if self.segments else weights[i] * weights[j]
        return pair_weight * (share if pair_weight.ndim == 1 else share[:, None])

    def scores(self, w: float) -> Floats:
        """Return the scores at ω as integer multiples of 1e-12, so that differences are exact."""
        return np.rint(-(w * self.exp + (1 - w) * self.imp))

    def differences(self, w: float) -> Floats:
        scores = self.scores(w)
        return np.asarray(scores[self.pairs.i] - scores[self.pairs.j])

    @cached_property
    def codes(self) -> list[Codes]:
        parts = [GRID[k : k + 8] for k in range(0, len(GRID), 8)]
        return [c for part_codes in in_threads(lambda some: [self.coded(w) for w in some], parts) for c in part_codes]

    def coded(self, w: float) -> Codes:
        """Return the bin of |Δ| of each pair at ω: 0 for 0, else 1 to `BINS`; equal differences share a bin.

        `BINS` + 2 is added for concordant pairs. `BINS` + 1 stands for discordant pairs, which no ε makes correct.
        """
        apart = self.differences(w)
        gap = np.abs(apart)
        order = np.argsort(gap)
        ascending, n = gap[order], len(gap)
        first = np.maximum.accumulate(np.where(changes(ascending), np.arange(n), 0))
        code = np.empty(n, dtype=np.int64)
        code[order] = np.where(ascending == 0, 0, 1 + (first * BINS // n if n > BINS else first))
        ordered = self.pairs.human != 0
        right = ordered & (np.sign(apart) == self.pairs.human)
        return np.where(right, code + BINS + 2, np.where(ordered, BINS + 1, code)).astype(np.uint16)

    def bootstrap(self, unit: Ints, weights: Floats, lam: float, progress: Progress) -> DrawAgreements:
        """Return the agreement of many draws of units; `weights` is how often each draw contains a unit, (n_units, n_draws).

        Computed at every fifth λ of the scan, then around the best of each draw; NaN at the others.
        """
        n_draws, codes_at_lam = weights.shape[1], self.coded(omega(lam))
        agreements, at_lam = np.full((STEPS + 1, n_draws), np.nan), np.empty(n_draws)
        for start in range(0, n_draws, DRAWS_AT_ONCE):
            some = np.arange(start, min(n_draws, start + DRAWS_AT_ONCE))
            of_pairs = self.pair_weights(weights[unit[:, None], some])
            total = of_pairs.sum(0)
            at_lam[some] = _best(_sums(codes_at_lam, of_pairs), total)

            def at(k: int, w: Floats = of_pairs, t: Floats = total) -> Floats:
                return _best(_sums(self.codes[k], w), t)

            coarse = list(range(0, STEPS + 1, COARSE))
            agreements[coarse, start : start + len(some)] = in_threads(at, coarse)
            near = np.nan_to_num(agreements[coarse][:, some], nan=-1.0).argmax(0) * COARSE
            fine = sorted(
                {int(k) for k in np.add.outer(near, np.arange(1 - COARSE, COARSE)).ravel() if 0 <= k <= STEPS}
            )
            agreements[fine, start : start + len(some)] = in_threads(at, fine)
            progress(float(some[-1] + 1) / n_draws)
        return DrawAgreements(agreements.T, agreements[0], agreements[-1], at_lam)


def _sums(code: Codes, weights: Floats) -> Floats:
    """Return the sums of weights by code, (2·`BINS` + 4, …)."""
    size = 2 * BINS + 4
    if weights.ndim == 1:
        return np.asarray(np.bincount(code, weights, size), dtype=np.float64)
    n = len(code)
    table = csc_matrix((np.ones(n), code.astype(np.int32), np.arange(n + 1)), shape=(size, n))
    return np.asarray(table @ weights)


def _best(sums: Floats, total: Floats | float) -> Floats:
    """Return the highest acc_eq over all ε, from sums by code; NaN without pairs."""
    tied, right = sums[: BINS + 1], sums[BINS + 3 : 2 * BINS + 3]
    start = right.sum(0) + tied[0]
    best = start + np.maximum(0, np.cumsum(tied[1:] - right, axis=0).max(0))
    return ratio(best, np.asarray(total))


@dataclass(frozen=True)
class ScanCurve:
    """acc_eq by λ for given weights of the outputs."""

    of: TieScan
    weights: Floats

    @cached_property
    def _of_pairs(self) -> Floats:
        return self.of.pair_weights(self.weights)

    def value(self, lam: float) -> float | None:
        """Return the agreement at λ ∈ [0, ∞] over the scanned pairs."""
        return defined(self._at([omega(lam)])[0])

    def exact(self, lam: float) -> float | None:
        """Return the agreement at λ over all pairs, as in `evaluate`, for weights of 0 and 1."""
        rows = np.flatnonzero(self.weights > 0)
        scores = self.of.scores(omega(lam))[rows]
        segments = [self.of.segments[k] for k in rows] if self.of.segments else ()
        return calibrate_ties(scores, self.of.human[rows], segments).statistic.value if len(rows) else None

    def _at(self, omegas: Sequence[float] | Floats) -> Floats:
        """Return the agreement at each ω with the best of all ε."""

        def at(one: float) -> float:
            pairs = tied_pairs(self.of.differences(one), self.of.pairs.human)
            return float(pairs.best(self._of_pairs[pairs.order]))

        return np.array(in_threads(at, list(omegas)))

    @cached_property
    def _scan(self) -> Floats:
        total = float(self._of_pairs.sum())
        return np.array([_best(_sums(code, self._of_pairs), total) for code in self.of.codes], dtype=np.float64)

    @cached_property
    def _refined(self) -> tuple[Floats, Floats]:
        k = int(np.nanargmax(self._scan))
        near = np.unique(np.concatenate([np.linspace(max(0, k - 1), min(STEPS, k + 1), 2 * FINER + 1) / STEPS, [0.5]]))
        far = ~np.isin(GRID, near)
        omegas = np.concatenate([GRID[far], near])
        values = np.concatenate([self._scan[far], self._at(near)])
        order = np.argsort(omegas)
        return omegas[order], values[order]

    def best(self) -> BestLambda | None:
        """Return the best λ of the scan (on ties the one nearest to 1), with the plateau of equal neighbours."""
        if np.isnan(self._scan).all():
            return None
        omegas, values = self._refined
        top = float(values.max())
        best_steps = np.flatnonzero(values >= top - SAME)
        k = int(best_steps[np.argmin(np.abs(omegas[best_steps] - 0.5))])
        lows, highs = runs(values >= top - SAME)
        plateau = int(np.searchsorted(lows, k, "right")) - 1
        first, last = (from_omega(float(omegas[ends[plateau]])) for ends in (lows, highs))
        return BestLambda(from_omega(float(omegas[k])), top, Plateau(first, last, True, True))

    def points(self, limit: int = 400) -> list[CurvePoint]:
        if np.isnan(self._scan).all():
            return [CurvePoint(0.0, None), CurvePoint(np.inf, None)]
        omegas, values = self._refined
        return [CurvePoint(from_omega(float(w)), float(v)) for w, v in zip(omegas, values, strict=True)]
