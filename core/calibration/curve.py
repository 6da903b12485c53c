"""Agreement as a function of λ: types common to all curves, and the step curve of rank measures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from core.stats.correlation.pairs import Floats, Ints

SAME = 1e-10
"""Agreements closer than this are equal; running sums have rounding errors."""
NARROW = 1e-6
"""An optimum narrower than this in ω is none. Noise of 1e-6 in a distance (`core.refine.result.NOISE`) shifts the breakpoint of two
outputs whose distances differ by 1 by as much."""
DENSE = 100_000
"""With more breakpoints, most plateaus are narrower than `NARROW`, and neighbouring ones hardly differ: the best one is the optimum."""


class Plateau(NamedTuple):
    """The λ from `low` to `high` (∞ allowed) with the same agreement; `…_closed` tells if an end is included."""

    low: float
    high: float
    low_closed: bool
    high_closed: bool


class CurvePoint(NamedTuple):
    """The agreement from this λ up to the next point; None where it is undefined."""

    lam: float
    agreement: float | None


class BestLambda(NamedTuple):
    """The highest agreement on an interval of λ (or at 0 or ∞), its plateau, and the λ in the middle of the plateau.

    `peak` is a single breakpoint with a higher agreement, where outputs tie that also tie in the human scores. It is reported
    but not chosen, because the smallest rounding of a score breaks such a tie.
    """

    lam: float
    agreement: float
    plateau: Plateau
    peak: CurvePoint | None = None


class Curve(Protocol):
    def value(self, lam: float) -> float | None: ...
    def best(self) -> BestLambda | None: ...
    def points(self, limit: int = 400) -> list[CurvePoint]: ...


def omega(lam: float) -> float:
    """Return ω_exp = λ/(1+λ) in [0, 1]: λ = 0, 1 and ∞ become 0, ½ and 1."""
    return 1.0 if math.isinf(lam) else lam / (1.0 + lam)


def from_omega(w: float) -> float:
    return math.inf if w >= 1 else w / (1.0 - w)


def middle(plateau: Plateau) -> float:
    """Return the λ in the middle on the ω scale; strictly inside an open plateau, and finite unless it is {∞}."""
    low, high = plateau.low, plateau.high
    if low == high:
        return low
    lam = from_omega((omega(low) + omega(high)) / 2)
    if low < lam < high:
        return lam
    return 2 * low if math.isinf(high) else low + (high - low) / 2


def runs(mask: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the first and the last position of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return edges[::2], edges[1::2] - 1


def defined(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


@dataclass(frozen=True, slots=True)
class StepCurve:
    """Agreement as a step function of λ; NaN where undefined.

    `breaks` (K,) are the breakpoints, ascending in (0, ∞); `between` (K+1,) holds the values on the open intervals, `at` (K,)
    those on the breakpoints, where outputs tie; `zero` and `inf` those at the ends.
    """

    breaks: Floats
    between: Floats
    at: Floats
    zero: float
    inf: float

    def value(self, lam: float) -> float | None:
        """Return the agreement at λ ∈ [0, ∞], None where it is undefined."""
        if lam == 0 or math.isinf(lam):
            return defined(self.zero if lam == 0 else self.inf)
        k = int(np.searchsorted(self.breaks, lam))
        on_break = k < len(self.breaks) and self.breaks[k] == lam
        return defined(self.at[k] if on_break else self.between[k])

    def cells(self) -> Floats:
        """Return the values of {0}, (0, b₁), {b₁}, (b₁, b₂), …, (b_K, ∞), {∞}; NaN for intervals without a float."""
        cells = np.empty(2 * len(self.breaks) + 3)
        cells[0], cells[-1] = self.zero, self.inf
        cells[1:-1:2], cells[2:-2:2] = self.between, self.at
        if len(self.breaks) > 1:
            cells[3:-3:2][self.breaks[1:] <= np.nextafter(self.breaks[:-1], np.inf)] = np.nan
        return cells

    def best(self, narrow: float = NARROW) -> BestLambda | None:
        """Return the exact optimum with its plateau: of several the widest in ω, then the lowest.

        None if the agreement is undefined everywhere. If all optima are narrower than `narrow` (in ω), the highest agreement
        that is reached over at least this width is used instead (`_wide`), unless there are more than `DENSE` breakpoints.
        """
        cells = self.cells()
        stretch = np.arange(len(cells)) % 2 == 1
        stretch[[0, -1]] = True
        if np.isnan(cells[stretch]).all():
            return None
        top = float(np.nanmax(cells[stretch]))
        first, last = runs(cells >= top - SAME)
        real = (first < last) | stretch[first]
        first, last = first[real], last[real]
        low, high = self._bounds(first)[0], self._bounds(last)[1]
        k = int(np.argmax([omega(b) - omega(a) for a, b in zip(low.tolist(), high.tolist(), strict=True)]))
        plateau = Plateau(float(low[k]), float(high[k]), bool(first[k] % 2 == 0), bool(last[k] % 2 == 0))
        too_narrow = plateau.low < plateau.high and omega(plateau.high) - omega(plateau.low) < narrow
        if too_narrow and len(self.breaks) <= DENSE:
            top, plateau = self._wide(narrow)
        peak = None
        if len(self.at) and not np.isnan(self.at).all() and np.nanmax(self.at) > top + SAME:
            where = int(np.nanargmax(self.at))
            peak = CurvePoint(float(self.breaks[where]), float(self.at[where]))
        return BestLambda(self._chosen(plateau), top, plateau, peak)

    def _wide(self, narrow: float) -> tuple[float, Plateau]:
        """Return the highest agreement that an interval of this width in ω, or λ = 0 or ∞, does not fall below, and that interval.

        The interval is extended as far as the agreement allows, and of several the widest is returned. Ties on single
        breakpoints do not divide it.
        """
        ends = np.concatenate(([0.0], self.breaks, [np.inf]))
        shares = np.concatenate(([0.0], self.breaks / (1 + self.breaks), [1.0]))
        values = np.where(np.isnan(self.between), -np.inf, self.between)
        values[np.diff(ends) <= 0] = np.inf
        top = float(np.nanmax([np.where(np.diff(shares) >= narrow, values, -np.inf).max(), self.zero, self.inf]))
        start = np.flatnonzero((values > top) & (shares[:-1] + narrow <= 1.0))
        if len(start):
            stop = np.searchsorted(shares, shares[start] + narrow, "left")
            lowest = np.minimum.reduceat(np.append(values, np.inf), np.column_stack((start, stop)).ravel())[::2]
            top = max(top, float(lowest.max()))
        first, last = runs(values >= top - SAME)
        widths = shares[last + 1] - shares[first]
        if not len(widths) or widths.max() < narrow:
            end = 0.0 if self.zero >= top - SAME else math.inf
            return top, Plateau(end, end, True, True)
        k = int(np.argmax(widths))
        low, high = float(ends[first[k]]), float(ends[last[k] + 1])
        return top, Plateau(
            low, high, low == 0 and self.zero >= top - SAME, math.isinf(high) and self.inf >= top - SAME
        )

    def _chosen(self, plateau: Plateau) -> float:
        """Return the middle of the plateau, or a λ next to it if that is a breakpoint."""
        lam = middle(plateau)
        k = int(np.searchsorted(self.breaks, lam))
        if plateau.low < lam < plateau.high and k < len(self.breaks) and self.breaks[k] == lam:
            after = float(self.breaks[k + 1]) if k + 1 < len(self.breaks) else plateau.high
            return middle(Plateau(lam, min(after, plateau.high), False, False))
        return lam

    def _bounds(self, cells: Ints) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of cells given by number."""
        ends = np.concatenate(([0.0], self.breaks, [np.inf]))
        return ends[cells // 2], ends[(cells + 1) // 2]

    def points(self, limit: int = 400) -> list[CurvePoint]:
        """Return at most about 3·`limit` points for a plot: per bin of ω the first, lowest and highest value."""
        starts = np.concatenate(([0.0], self.breaks))
        bins = np.minimum((starts / (1 + starts) * limit).astype(np.int64), limit - 1)
        filled = np.where(np.isnan(self.between), -np.inf, self.between)
        first = np.flatnonzero(np.diff(bins, prepend=-1))
        order_low, order_high = np.lexsort((filled, bins)), np.lexsort((-filled, bins))
        keep = np.unique(np.concatenate((first, order_low[first], order_high[first])))
        points = [CurvePoint(0.0, defined(self.zero))]
        points += [CurvePoint(float(starts[k]), defined(self.between[k])) for k in keep]
        return [*points, CurvePoint(math.inf, defined(self.inf))]
