"""The exact line search for λ, the weight of explicit errors (Lu et al. 2023, section 3.3).

Two outputs change places at one λ only, so a rank agreement is a step function of λ. All breakpoints are sorted and swept
once; the result is the exact optimum with its plateau, not the best of a grid. Above 100,000 pooled pairs, only the
breakpoints near the optimum are swept (`binned`), with the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from core.calibration.bootstrap_draws import BootstrapBatch, DrawAgreements, by_pairs, by_ranks
from core.calibration.breakpoints import (
    DECIMALS,
    Prepared,
    find_breakpoints,
    on_grid,
    start_order,
    step_curve,
    terms,
    ties_of,
    without_noise,
)
from core.calibration.curve import BestLambda, Curve, StepCurve
from core.calibration.many_outputs import GRID, BinnedCurve, SmoothCurve, correlations, moments, ranks_at
from core.calibration.tie_scan import ScanCurve, TieScan
from core.errors import UserError
from core.progress import Progress
from core.refine.result import NOISE
from core.stats.correlation.correlation import Group, Measure, check_measure, group_ids, rows_by
from core.stats.correlation.pairs import Floats, Ints, dense_ranks
from core.stats.means import equalized

CurveOf = Callable[[Floats], Curve]
"""Returns the curve for weights of the outputs (n,). A weight of 0 leaves an output out; integers are a bootstrap draw."""


SWEPT_PAIRS = 100_000
MOST_OUTPUTS = 50_000


class ManyOutputs:
    """A `CurveOf` for pooled outputs with more than `SWEPT_PAIRS` pairs. Raises `UserError` above 50,000 outputs."""

    def __init__(self, measure: Measure, exp: Ints, imp: Ints, human: Floats) -> None:
        if len(exp) > MOST_OUTPUTS:
            raise UserError(
                "there are too many outputs to compare all pairs",
                got=f"{len(exp):,} outputs",
                expected=f"at most {MOST_OUTPUTS:,}",
                hint="Average by segment or by system, or calibrate on fewer outputs",
            )
        self.measure, self.exp, self.imp, self.human = measure, exp, imp, human

    def __call__(self, weights: Floats) -> Curve:
        rows = np.repeat(np.arange(len(self.exp)), weights.astype(np.int64))
        return BinnedCurve(self.measure, self.exp[rows], self.imp[rows], self.human[rows])

    def bootstrap(self, unit: Ints, weights: Floats, lam: float, progress: Progress) -> DrawAgreements:
        """Return the agreement of many draws of units; `weights` is how often each draw contains a unit, (n_units, n_draws)."""
        d = BootstrapBatch(self.exp, self.imp, dense_ranks(self.human), unit, weights)
        places = [ranks_at(self.exp, self.imp, at) for at in (0.0, math.inf, lam)]
        return by_ranks(d, places, progress) if self.measure == "spearman" else by_pairs(d, places, progress)


def curve_of(
    exp: npt.ArrayLike,
    imp: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    measure: Measure = "kendall",
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
) -> CurveOf:
    """Sort once and return the function that computes the curve for any weights of the outputs.

    With `group="segment"`, a segment has the weight of its first output; with "system", all scores are averaged per system
    first. Human scores are rounded to twelve decimals. acc_eq uses the best ε at each λ (`tie_scan`), or ε = 0 on
    systems' means.
    """
    check_measure(measure, group)
    e, i, h = (np.asarray(x, dtype=np.float64) for x in (exp, imp, human))
    if not (e.shape == i.shape == h.shape and e.ndim == 1 and np.isfinite([e, i, h]).all()):
        raise ValueError("dist_exp, dist_imp and human must be finite and of one length")
    if group == "system":
        return _by_system(e, i, h, measure, group_ids(systems))
    groups = rows_by(group_ids(segments)) if group == "segment" else [np.arange(len(e))]
    if measure == "acc_eq":
        return TieScan(e, i, np.round(h, DECIMALS), groups, group_ids(segments).tolist() if group == "segment" else ())
    return _steps(e, i, h, measure, group, groups)


def _steps(e: Floats, i: Floats, h: Floats, measure: Measure, group: Group, groups: Sequence[Ints]) -> CurveOf:
    heads = np.array([rows[0] for rows in groups if len(rows)], dtype=np.int64)
    if group == "pooled":
        if measure == "pearson":
            return lambda weights: SmoothCurve(moments(e, i, h, groups, weights), np.ones(1))
        if len(e) * (len(e) - 1) // 2 > SWEPT_PAIRS:
            return ManyOutputs(measure, *on_grid(e, i), np.round(h, DECIMALS))
        p = _prepared(e, i, h, groups, measure)
        return lambda weights: step_curve(p.breakpoints, terms(measure, p, weights), np.ones(1))
    if measure == "pearson":
        of_groups = moments(e, i, h, groups, np.ones(len(e)))
        at_grid = correlations(of_groups, GRID)
        return lambda weights: SmoothCurve(of_groups, weights[heads], at_grid)
    p = _prepared(e, i, h, groups, measure)
    once = terms(measure, p, np.ones(len(e)))
    return lambda weights: step_curve(p.breakpoints, once, weights[heads])


def _prepared(e: Floats, i: Floats, h: Floats, groups: Sequence[Ints], measure: Measure) -> Prepared:
    exp, imp = on_grid(e, i)
    breakpoints = find_breakpoints(exp, imp, groups)
    ties = ties_of(breakpoints, len(e)) if measure == "spearman" else None
    return Prepared(exp, imp, np.round(h, DECIMALS), groups, breakpoints, start_order(exp, imp), ties)


def _by_system(e: Floats, i: Floats, h: Floats, measure: Measure, ids: Ints) -> CurveOf:
    """Return a `CurveOf` that averages and sweeps anew for each draw; systems are few."""
    largest = [np.zeros(int(ids.max(initial=-1)) + 1) for _ in range(3)]
    for top, x in zip(largest, (e, i, h), strict=True):
        np.maximum.at(top, ids, np.abs(x))

    def curve(weights: Floats) -> Curve:
        size = np.bincount(ids, weights)
        nonempty = size > 0
        exp, imp, human = (
            equalized(np.bincount(ids, weights * x)[nonempty] / size[nonempty], top[nonempty])
            for x, top in zip((e, i, h), largest, strict=True)
        )
        return _of_means(exp, imp, human, measure)

    return curve


def _of_means(exp: Floats, imp: Floats, human: Floats, measure: Measure) -> Curve:
    """Return the curve of systems' means. acc_eq is pairwise accuracy, undefined if all systems are equal on one side."""
    curve = _steps(exp, imp, human, measure, "pooled", [np.arange(len(human))])(np.ones(len(human)))
    if measure != "acc_eq" or not isinstance(curve, StepCurve) or not len(human):
        return curve
    flat = human.min() == human.max()
    zero, inf = (np.nan if flat or x.min() == x.max() else end for x, end in ((imp, curve.zero), (exp, curve.inf)))
    if flat or np.ptp(exp) == np.ptp(imp) == 0:
        curve = replace(curve, between=np.full_like(curve.between, np.nan), at=np.full_like(curve.at, np.nan))
    return replace(curve, zero=zero, inf=inf)


def all_pairs_value(curve: Curve, lam: float) -> float | None:
    """Return the agreement at λ over all pairs, even if the curve uses a sample; for weights of 0 and 1."""
    return curve.exact(lam) if isinstance(curve, ScanCurve) else curve.value(lam)


def search(
    exp: npt.ArrayLike,
    imp: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    measure: Measure = "kendall",
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
) -> tuple[Curve, BestLambda]:
    """Return agreement by λ and its optimum; distances closer than `NOISE` are equal for rank measures.

    Raises `UserError` if agreement is undefined at every λ.
    """
    e, i, h = (np.asarray(x, dtype=np.float64) for x in (exp, imp, human))
    if measure != "pearson":
        e, i = without_noise(e, NOISE), without_noise(i, NOISE)
    curve = curve_of(e, i, h, measure=measure, group=group, segments=segments, systems=systems)(np.ones(len(h)))
    return curve, best_of(curve, e, i, h, group)


def best_of(curve: Curve, exp: Floats, imp: Floats, human: Floats, group: Group) -> BestLambda:
    """Return the optimum of the curve of these outputs. Raises `UserError` if agreement is undefined at every λ."""
    if (best := curve.best()) is not None:
        return best
    raise UserError(
        "λ cannot be calibrated: agreement is undefined at every λ",
        got=_why_undefined(exp, imp, human, group),
        hint="Add outputs whose human scores differ",
    )


def _why_undefined(exp: Floats, imp: Floats, human: Floats, group: Group) -> str:
    """Return the most likely reason."""
    if len(human) < 2:
        return f"{len(human)} outputs with a human score; at least two are needed"
    if human.min() == human.max():
        return "the same human score for every output"
    if np.ptp(exp) == 0 and np.ptp(imp) == 0:
        return "the same distances for every output"
    where = {"pooled": "the outputs", "segment": "the outputs of each segment", "system": "the systems' means"}
    return f"no two of {where[group]} that differ in both scores"
