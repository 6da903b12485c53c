"""The exact line search for very many outputs: count all pairs by bins of ω, and sort only the pairs that matter.

A pair changes places at one ω = λ/(1+λ) only. Counting pairs by bins of ω needs no sorting and no memory per pair: pairs are
processed in blocks that fit in the processor's cache. The counts give the exact agreement at the ends of each bin. Within a bin
the agreement exceeds its left end by at most the sum of the gains of its pairs. Bins in which even this stays below the best end
are skipped. The pairs of the other bins, about one in a hundred, are swept as in `lambda_search`. The optimum and its plateau are
those of the full sweep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.calibration.breakpoints import NO_BREAKPOINTS, breakpoints_of_pairs
from core.calibration.curve import SAME, BestLambda, CurvePoint, StepCurve, defined
from core.calibration.terms import Prepared, Terms, start_order, step_curve, terms
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
        room, found = _Buffers(len(f.exp)), np.zeros(2 * bins + 1)
        for top, end in blocks:
            apart, at, key = _stretch(f, top, end, bins, room)
            np.subtract(f.human[top:end, None], f.human[None, top:], out=apart)
            size = np.abs(apart).ravel() if by_rank else None
            np.clip(apart, -1, 1, out=apart)
            np.multiply(at, apart, out=at)
            np.add(at, bins, out=at)
            np.copyto(key, at, casting="unsafe")
            found += np.bincount(key.ravel(), size, minlength=2 * bins + 1)
        return found

    found = sum(in_threads(count, _shares(len(f.exp))), np.zeros(2 * bins + 1))
    return found[bins + 1 :], found[bins - 1 :: -1]


def collect(
    f: SortedOutputs, wanted: npt.NDArray[np.bool_], made: Callable[[Ints, Ints, Ints], tuple[Ints, ...]]
) -> list[tuple[Ints, ...]]:
    """Return the pairs that change places within the `wanted` bins of ω, shape (bins,), in portions.

    A portion is `made(i, j, bin)`, with i and j positions in `f` such that exp[i] < exp[j].
    """
    table = np.concatenate(([False], wanted))

    def pick(blocks: Sequence[tuple[int, int]]) -> list[tuple[Ints, ...]]:
        room, found = _Buffers(len(f.exp)), []
        for top, end in blocks:
            _, at, key = _stretch(f, top, end, len(wanted), room)
            np.copyto(key, at, casting="unsafe")
            flat = key.ravel()
            there = np.flatnonzero(table.take(flat))
            if len(there):
                i, j = np.divmod(there, at.shape[1])
                found.append(made(i + top, j + top, flat[there] - 1))
        return found

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
            found = terms(self.measure, prepared._replace(breakpoints=breakpoints), np.ones(len(self.exp)))
            curve = _with_jumps(breakpoints.breaks, found, ~opened, gain - loss)
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
