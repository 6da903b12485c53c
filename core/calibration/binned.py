"""The exact line search for very many outputs: count all pairs by bins of ω, and sort only the pairs that matter.

The counts give the exact agreement at the ends of each bin. Within a bin the agreement exceeds its left end by at most the
sum of the gains of its pairs. Bins in which even this stays below the best end are skipped. The pairs of the other bins,
about one in a hundred, are swept as in `lambda_search`. The optimum and its plateau are those of the full sweep.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from core.calibration.breakpoints import NO_BREAKPOINTS, breakpoints_of_pairs
from core.calibration.curve import SAME, BestLambda, CurvePoint, StepCurve, defined
from core.calibration.scan import collect, histogram, sort_outputs
from core.calibration.terms import Prepared, Terms, start_order, step_curve, terms
from core.stats.correlation.correlation import Measure, agreement_values
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, Ints, ratio

BINS = 1 << 14
UNIT: dict[str, float] = {"kendall": 2.0, "spearman": 1.0}
"""Change of the numerator when a pair becomes concordant: 2 for C − D; the distance of the ranks for the sum of rank products."""


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
