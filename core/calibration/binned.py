"""The exact line search for very many outputs: count all pairs by stretches of ω, and sort those pairs only that matter.

The counts give the agreement exactly at the ends of every stretch. Within a stretch it rises above its left end at most
by all that its pairs gain; where even that stays below the best end, no pair is looked at again. The pairs of the other
stretches, one in a hundred or so, are swept as in `lambda_search`: the optimum and its plateau are those of the full sweep.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from core.calibration.curve import SAME, Best, CurvePoint, StepCurve
from core.calibration.flips import NO_FLIPS, flips_among
from core.calibration.scan import collect, field, histogram
from core.calibration.terms import Prepared, Terms, start_order, step_curve, terms
from core.stats.correlation import FUNCTIONS, Measure
from core.stats.pairs import Floats, Ints, weighted_ranks

BINS = 1 << 14
UNIT: dict[str, float] = {"kendall": 2.0, "spearman": 1.0}
"""What the numerator moves by when a pair comes into people's order: C − D by 2, the sum of rank products by the
distance of the ranks."""


class BinnedCurve:
    """Agreement by λ of pooled outputs, worked out when it is asked for. Its values and its best are exact; `drawn` is exact at
    the ends of stretches and around the best. A `peak` is not looked for."""

    def __init__(self, measure: Measure, exp: Ints, imp: Ints, human: Floats) -> None:
        self.measure, self.exp, self.imp, self.human = measure, exp, imp, human
        self._values: dict[float, float | None] = {}

    def value(self, lam: float) -> float | None:
        """The agreement at λ ∈ [0, ∞]; None where it is undefined."""
        if lam not in self._values:
            self._values[lam] = FUNCTIONS[self.measure](ranks_at(self.exp, self.imp, lam), self.human).value
        return self._values[lam]

    def best(self) -> Best | None:
        best = self._curve.best()
        return best and best._replace(peak=None)

    def drawn(self, limit: int = 400) -> list[CurvePoint]:
        return self._curve.drawn(limit)

    @cached_property
    def _curve(self) -> StepCurve:
        """Exact where it is best: every stretch that could reach the best end is opened. Should that end be no real
        stretch of λ (two breakpoints that count as one lie around it), the best that was found takes its place."""
        prepared = Prepared(
            self.exp, self.imp, self.human, [np.arange(len(self.exp))], NO_FLIPS, start_order(self.exp, self.imp)
        )
        start = terms(self.measure, prepared, np.ones(len(self.exp)))
        below = float(start.denominator[0])
        if not below > 0:
            return step_curve(NO_FLIPS, start, np.ones(1))
        f = field(self.exp, self.imp, weighted_ranks(self.human))
        gain, loss = (UNIT[self.measure] * x for x in histogram(f, BINS, by_rank=self.measure == "spearman"))
        ends = float(start.numerator[0]) + np.concatenate(([0.0], np.cumsum(gain - loss)))
        known = float(np.nanmax([ends.max() / below, start.zero[0], start.inf[0]]))
        while True:
            opened = (ends[:-1] + gain) / below >= known - SAME
            portions = collect(f, opened, lambda i, j, _: (f.row[i], f.row[j]))
            flips = flips_among(self.exp, self.imp, ((0, i, j) for i, j in portions))
            found = terms(self.measure, prepared._replace(flips=flips), np.ones(len(self.exp)))
            curve = _with_jumps(flips.breaks, found, ~opened, gain - loss)
            best = curve.best()
            if best is None or best.agreement >= known:
                return curve
            known = best.agreement


def _with_jumps(breaks: Floats, t: Terms, closed: npt.NDArray[np.bool_], net: Floats) -> StepCurve:
    """The curve of one group with all breakpoints of the opened stretches, and in the middle of each closed one a single
    step that makes up for its own; on that the agreement is unknown."""
    middles = (np.flatnonzero(closed) + 0.5) / len(closed)
    where = np.concatenate((breaks, middles / (1 - middles)))
    order = np.argsort(where, kind="stable")
    unknown = np.zeros(len(middles))
    on, after, below = (
        np.concatenate(pair)[order] for pair in ((t.on, unknown), (t.after, net[closed]), (t.denominator_on, unknown))
    )
    numerator = t.numerator[0] + np.concatenate(([0.0], np.cumsum(after)))
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(below > 0, (numerator[:-1] + on) / below, np.nan)
    return StepCurve(where[order], numerator / t.denominator[0], at, float(t.zero[0]), float(t.inf[0]))


def ranks_at(exp: Ints, imp: Ints, lam: float) -> Ints:
    """The scores at λ ∈ [0, ∞] as ranks, higher is better; outputs tie whose breakpoint is λ."""
    if lam == 0 or math.isinf(lam):
        return -(imp if lam == 0 else exp)
    order = np.lexsort((exp, lam * exp + imp))
    de, di = np.diff(exp[order]), np.diff(imp[order])
    with np.errstate(divide="ignore", invalid="ignore"):
        tied = np.where(de == 0, di == 0, -(di / de) == lam)
    ranks = np.empty(len(exp), dtype=np.int64)
    ranks[order] = -np.cumsum(np.concatenate(([True], ~tied)))
    return ranks
