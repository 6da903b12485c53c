"""Agreement by λ on the K best systems (Lu et al. 2023, section 6, Figure 2), to see if λ depends on system quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.calibration.calibrate import CalibrationPoint, calibrate
from core.calibration.curve import CurvePoint, Plateau, from_omega
from core.calibration.lambda_search import search
from core.errors import UserError
from core.progress import Progress, no_progress, part
from core.stats.correlation.correlation import Group, Measure, group_ids
from core.stats.means import group_means

FEWEST_SYSTEMS = 3
WHOLE: tuple[float, ...] = tuple(from_omega(w / 40) for w in range(41))
"""λ from 0 to ∞, evenly spaced in ω."""
PAPER: tuple[float, ...] = tuple(round(0.5 + 0.1 * k, 1) for k in range(13))
"""λ from 0.5 to 1.7, as in Figure 2 of the paper."""


class SystemHumanMean(NamedTuple):
    """The mean human score of a system over its `n` rated outputs; higher is better."""

    system: str
    mean: float
    n: int


class Top(NamedTuple):
    """The best λ on the `n` outputs of the `k` best systems, with its 95 % interval; `last` is the lowest-ranked of them.

    `curve` is for plots; `cells` are the agreements at the λ of `WHOLE` and `PAPER`. If `lam` is None, `reason` says why.
    """

    k: int
    last: str
    n: int
    lam: float | None = None
    agreement: float | None = None
    plateau: Plateau | None = None
    ci: tuple[float, float] | None = None
    curve: tuple[CurvePoint, ...] = ()
    cells: tuple[CurvePoint, ...] = ()
    reason: str = ""

    def row(self, grid: Sequence[float]) -> list[CurvePoint]:
        known = dict(self.cells)
        return [CurvePoint(lam, known.get(lam)) for lam in grid]


def ranking(points: Sequence[CalibrationPoint]) -> list[SystemHumanMean]:
    """Return the systems by mean human score over their rated outputs, best first; ties are sorted by name."""
    of = [p.key.system for p in points]
    human = np.array([p.human for p in points], dtype=np.float64)
    averages, sizes = group_means(human, group_ids(of)).tolist(), Counter(of)
    means = [SystemHumanMean(name, mean, sizes[name]) for name, mean in zip(sizes, averages, strict=True)]
    return sorted(means, key=lambda s: (-s.mean, s.system))


def by_top(
    points: Sequence[CalibrationPoint], *, measure: Measure = "kendall", group: Group = "pooled", seed: int = 0, draws: int = 100,
    progress: Progress = no_progress,
) -> list[Top]:  # fmt: skip
    """Calibrate λ for K = 3, 4, … up to all systems; return an empty list for fewer than three systems."""
    order = [s.system for s in ranking(points)]
    sizes = range(FEWEST_SYSTEMS, len(order) + 1)

    def top(best: Sequence[str], progress: Progress) -> Top:
        top_points = [p for p in points if p.key.system in best]
        unknown = Top(len(best), best[-1], len(top_points))
        try:
            curve, _ = search(
                [p.dist_exp for p in top_points], [p.dist_imp for p in top_points], [p.human for p in top_points],
                measure=measure, group=group,
                segments=[p.key.segment for p in top_points], systems=[p.key.system for p in top_points],
            )  # fmt: skip
            fitted = calibrate(top_points, measure=measure, group=group, seed=seed, draws=draws, progress=progress)
        except UserError as error:
            return unknown._replace(reason=error.got or error.what)
        cells = tuple(CurvePoint(lam, curve.value(lam)) for lam in dict.fromkeys((*WHOLE, *PAPER)))
        return unknown._replace(
            lam=fitted.lam,
            agreement=fitted.agreement,
            plateau=fitted.plateau,
            ci=fitted.ci,
            curve=fitted.curve,
            cells=cells,
        )

    return [top(order[:k], part(progress, i, len(sizes))) for i, k in enumerate(sizes)]
