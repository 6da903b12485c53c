"""The search for λ without sorting all pairs: by bins of ω for very many outputs, and in closed form for Pearson's r.

The exact line search for very many outputs: count all pairs by bins of ω, and sort only the pairs that matter.
A pair changes places at one ω = λ/(1+λ) only. Counting pairs by bins of ω needs no sorting and no memory per pair: pairs are
processed in blocks that fit in the processor's cache. The counts give the exact agreement at the ends of each bin. Within a bin
the agreement exceeds its left end by at most the sum of the gains of its pairs. Bins in which even this stays below the best end
are skipped. The pairs of the other bins, about one in a hundred, are swept as in `lambda_search`. The optimum and its plateau are
those of the full sweep.

Pearson's r as a smooth function of λ.
In one group r(ω) = −(ω·cov(e,h) + (1−ω)·cov(i,h)) / √(var h · var(ω·e + (1−ω)·i)). Its derivative is zero at one ω at
most, so the optimum is that point or an end, in closed form. An average over segments is searched on a grid of 1,001 ω and
refined by a bounded search around the best grid point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from core.calibration.breakpoints import (
    NO_BREAKPOINTS,
    Prepared,
    Terms,
    breakpoints_of_pairs,
    start_order,
    step_curve,
    terms,
)
from core.calibration.curve import SAME, BestLambda, CurvePoint, Plateau, StepCurve, defined, from_omega, omega
from core.stats.correlation.correlation import Measure, agreement_values
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, Ints, ratio
from core.stats.threads import WORKERS, in_threads

BINS = 1 << 14
UNIT: dict[str, float] = {"kendall": 2.0, "spearman": 1.0}
"""Change of the numerator when a pair becomes concordant: 2 for C − D; the distance of the ranks for the sum of rank products."""
BLOCK = 1 << 17


class SortedOutputs(NamedTuple):
    """Outputs sorted by explicit, then implicit distance (integers stored exactly as doubles), all of shape (n,).

    `human` is the mid-rank of the human score, `row` the original position.
    """

    exp: Floats
    imp: Floats
    human: Floats
    row: Ints


def sort_outputs(exp: Ints, imp: Ints, human: Floats) -> SortedOutputs:
    """Return the outputs sorted for the scan."""
    row = np.lexsort((imp, exp))
    return SortedOutputs(exp[row].astype(np.float64), imp[row].astype(np.float64), human[row], row)


class _Buffers:
    """Memory of one thread, reused for all blocks."""

    def __init__(self, n: int) -> None:
        size = max(BLOCK, n)
        self.first, self.second, self.whole = np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)

    def shaped(self, *shape: int) -> tuple[Floats, Floats, Ints]:
        size = shape[0] * shape[1]
        return self.first[:size].reshape(shape), self.second[:size].reshape(shape), self.whole[:size].reshape(shape)


def histogram(f: SortedOutputs, bins: int, *, by_rank: bool) -> tuple[Floats, Floats]:
    """Return the gains and losses of pairs that change places in each bin of ω, ((k − 1)/bins, k/bins]: (bins,) each.

    A pair gains when it becomes concordant with the human scores: 1, or with `by_rank` the distance of their mid-ranks.
    """

    def count(blocks: Sequence[tuple[int, int]]) -> Floats:
        room, bin_counts = _Buffers(len(f.exp)), np.zeros(2 * bins + 1)
        for top, end in blocks:
            apart, at, key = _stretch(f, top, end, bins, room)
            np.subtract(f.human[top:end, None], f.human[None, top:], out=apart)
            size = np.abs(apart).ravel() if by_rank else None
            np.clip(apart, -1, 1, out=apart)
            np.multiply(at, apart, out=at)
            np.add(at, bins, out=at)
            np.copyto(key, at, casting="unsafe")
            bin_counts += np.bincount(key.ravel(), size, minlength=2 * bins + 1)
        return bin_counts

    counts = sum(in_threads(count, _shares(len(f.exp))), np.zeros(2 * bins + 1))
    return counts[bins + 1 :], counts[bins - 1 :: -1]


def collect(
    f: SortedOutputs, bin_mask: npt.NDArray[np.bool_], made: Callable[[Ints, Ints, Ints], tuple[Ints, ...]]
) -> list[tuple[Ints, ...]]:
    """Return the pairs that change places within the `bin_mask` bins of ω, shape (bins,), in portions.

    A portion is `made(i, j, bin)`, with i and j positions in `f` such that exp[i] < exp[j].
    """
    table = np.concatenate(([False], bin_mask))

    def pick(blocks: Sequence[tuple[int, int]]) -> list[tuple[Ints, ...]]:
        room, portions = _Buffers(len(f.exp)), []
        for top, end in blocks:
            _, at, key = _stretch(f, top, end, len(bin_mask), room)
            np.copyto(key, at, casting="unsafe")
            flat = key.ravel()
            inside = np.flatnonzero(table.take(flat))
            if len(inside):
                i, j = np.divmod(inside, at.shape[1])
                portions.append(made(i + top, j + top, flat[inside] - 1))
        return portions

    return [portion for share in in_threads(pick, _shares(len(f.exp))) for portion in share]


def _stretch(f: SortedOutputs, top: int, end: int, bins: int, room: _Buffers) -> tuple[Floats, Floats, Ints]:
    """Return the buffers with ⌈ω·bins⌉ in the second, for pairs of rows `top` to `end` with all rows from `top` on.

    It is 0 for pairs that never change places. For i < j, i is better by explicit distance; they change places only if j is
    better by implicit distance.
    """
    below, at, key = room.shaped(end - top, len(f.exp) - top)
    np.subtract(f.imp[top:end, None], f.imp[None, top:], out=at)
    at[:, : end - top][np.tril_indices(end - top)] = 0
    np.maximum(at, 0, out=at)
    np.subtract(f.exp[None, top:], f.exp[top:end, None], out=below)
    np.add(below, at, out=below)
    np.maximum(below, 1, out=below)
    np.multiply(at, bins, out=at)  # first, so that a breakpoint on the end of a stretch is a whole number
    np.divide(at, below, out=at)
    np.ceil(at, out=at)
    return below, at, key


def _blocks(n: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows that form one block with all later rows."""
    top = 0
    while top < n - 1:
        end = min(n, top + max(1, BLOCK // (n - top)))
        yield top, end
        top = end


def _shares(n: int) -> list[Sequence[tuple[int, int]]]:
    """Return the blocks of each thread."""
    blocks = list(_blocks(n))
    return [share for k in range(WORKERS) if (share := blocks[k::WORKERS])]


class BinnedCurve:
    """Agreement by λ of pooled outputs, computed lazily.

    Values and the best λ are exact; `points` are exact at the ends of bins and near the best λ. No `peak` is searched for.
    """

    def __init__(self, measure: Measure, exp: Ints, imp: Ints, human: Floats) -> None:
        self.measure, self.exp, self.imp, self.human = measure, exp, imp, human
        self._values: dict[float, float | None] = {}

    def value(self, lam: float) -> float | None:
        """Return the agreement at λ ∈ [0, ∞], None where it is undefined."""
        if lam not in self._values:
            ranks = ranks_at(self.exp, self.imp, lam)
            self._values[lam] = defined(float(agreement_values(self.measure, ranks, self.human)))
        return self._values[lam]

    def best(self) -> BestLambda | None:
        best = self._curve.best(narrow=0.0)
        return best and best._replace(peak=None)

    def points(self, limit: int = 400) -> list[CurvePoint]:
        return self._curve.points(limit)

    @cached_property
    def _curve(self) -> StepCurve:
        """Return a curve that is exact where it is best: every bin that could reach the best end is opened.

        If that end is not a real stretch of λ (it lies between two breakpoints that count as one), the best value found
        replaces it and the search is repeated.
        """
        prepared = Prepared(
            self.exp, self.imp, self.human, [np.arange(len(self.exp))], NO_BREAKPOINTS, start_order(self.exp, self.imp)
        )
        start = terms(self.measure, prepared, np.ones(len(self.exp)))
        below = float(start.denominator[0])
        if not below > 0:
            return step_curve(NO_BREAKPOINTS, start, np.ones(1))
        f = sort_outputs(self.exp, self.imp, mid_ranks(self.human))
        gain, loss = (UNIT[self.measure] * x for x in histogram(f, BINS, by_rank=self.measure == "spearman"))
        ends = float(start.numerator[0]) + np.concatenate(([0.0], np.cumsum(gain - loss)))
        known = float(np.nanmax([ends.max() / below, start.zero[0], start.inf[0]]))
        while True:
            opened = (ends[:-1] + gain) / below >= known - SAME
            portions = collect(f, opened, lambda i, j, _: (f.row[i], f.row[j]))
            breakpoints = breakpoints_of_pairs(self.exp, self.imp, ((0, i, j) for i, j in portions))
            bin_terms = terms(self.measure, prepared._replace(breakpoints=breakpoints), np.ones(len(self.exp)))
            curve = _with_jumps(breakpoints.breaks, bin_terms, ~opened, gain - loss)
            best = curve.best(narrow=0.0)
            if best is None or best.agreement >= known:
                return curve
            known = best.agreement


def _with_jumps(breaks: Floats, t: Terms, closed: npt.NDArray[np.bool_], net: Floats) -> StepCurve:
    """Return the curve with all breakpoints of the opened bins.

    Each closed bin has a single step in its middle with the sum of its changes; the agreement on that step is NaN.
    """
    middles = (np.flatnonzero(closed) + 0.5) / len(closed)
    where = np.concatenate((breaks, middles / (1 - middles)))
    order = np.argsort(where, kind="stable")
    unknown = np.zeros(len(middles))
    on, after, below = (
        np.concatenate(pair)[order] for pair in ((t.on, unknown), (t.after, net[closed]), (t.denominator_on, unknown))
    )
    numerator = t.numerator[0] + np.concatenate(([0.0], np.cumsum(after)))
    at = ratio(numerator[:-1] + on, below)
    return StepCurve(where[order], numerator / t.denominator[0], at, float(t.zero[0]), float(t.inf[0]))


def ranks_at(exp: Ints, imp: Ints, lam: float) -> Ints:
    """Return the scores at λ ∈ [0, ∞] as ranks, higher is better; outputs whose breakpoint is λ tie."""
    if lam == 0 or math.isinf(lam):
        return -(imp if lam == 0 else exp)
    order = np.lexsort((exp, lam * exp + imp))
    de, di = np.diff(exp[order]), np.diff(imp[order])
    with np.errstate(divide="ignore", invalid="ignore"):
        tied = np.where(de == 0, di == 0, -(di / de) == lam)
    ranks = np.empty(len(exp), dtype=np.int64)
    ranks[order] = -np.cumsum(np.concatenate(([True], ~tied)))
    return ranks


GRID: Floats = np.linspace(0.0, 1.0, 1001)
TINY = 1e-18
"""Variances up to this are 0; distances have a precision of about 1e-9."""


class Correlations(NamedTuple):
    """r of each group at some ω, (G, n); 0 where undefined. `is_defined` is 1 where it is defined, else 0."""

    r: Floats
    is_defined: Floats


def correlations(moments: Floats, omegas: Floats) -> Correlations:
    """Return the correlations from the `moments` of each group (G, 6)."""
    o = omegas[None, :]
    eh, ih, ee, ei, ii, hh = (column[:, None] for column in moments.T)
    spread = (o * o * ee + 2 * o * (1 - o) * ei + (1 - o) ** 2 * ii) * np.where(hh > TINY, hh, 0)
    is_defined = spread > TINY * np.maximum(hh, TINY)
    r = np.where(is_defined, -(o * eh + (1 - o) * ih) / np.sqrt(np.where(is_defined, spread, 1.0)), 0.0)
    return Correlations(r, is_defined.astype(np.float64))


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
        weight = self.weights @ of.is_defined
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
