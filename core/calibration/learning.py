"""λ on parts of the data: by the number of labelled outputs, with a forecast, and on the K best systems.

Learning curve: λ is fitted on parts of the labelled segments (20 %, 40 %, …, several draws each) with `calibrate`. Widths are on the scale of
ω_exp = λ/(1+λ), in [0, 1]. Standard errors fall with the square root of the number of observations, so a + b·n^−½ is fitted
to the widths and extrapolated.

The K best systems (Lu et al. 2023, section 6, Figure 2) show whether λ depends on the quality of the systems.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.calibration.calibrate import Calibration, CalibrationPoint, calibrate, in_order, measure_name
from core.calibration.curve import CurvePoint, Plateau, from_omega, omega
from core.calibration.lambda_search import search
from core.errors import UserError
from core.progress import Progress, no_progress, part
from core.signature import signature
from core.stats.correlation.correlation import Group, Measure, group_ids
from core.stats.correlation.pairs import Ints
from core.stats.means import group_means

SHARES: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1.0)
TIMES: tuple[float, ...] = (1.5, 2.0)
FEWEST_OUTPUTS = 10
"""Parts with fewer outputs are not fitted."""
FEWEST_TO_FORECAST = 30
VERSION = 1


class Spread(NamedTuple):
    """Mean, minimum and maximum over draws."""

    mean: float
    low: float
    high: float


class LearningStep(NamedTuple):
    """Results for a share of the segments: `n` outputs on average over the draws.

    `agreement` is cross-validated; `width` is that of λ's 95 % interval in ω. They are None, with a reason, if undefined for
    half of the draws or more.
    """

    share: float
    n: float
    n_segments: int
    draws: int
    agreement: Spread | None
    width: Spread | None
    reason: str = ""


class Law(NamedTuple):
    """Width = a + b/√n, with a, b ≥ 0."""

    a: float
    b: float

    def width(self, n: float) -> float:
        return min(1.0, self.a + self.b / math.sqrt(n))


class Forecast(NamedTuple):
    """Forecast for `times` as many outputs (`n`): the width in ω, and the interval of that width around the present λ."""

    times: float
    n: int
    width: float
    around: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Learning:
    """The learning curve; `reason` says why there is no forecast."""

    steps: tuple[LearningStep, ...]
    law: Law | None
    forecasts: tuple[Forecast, ...]
    reason: str
    signature: str


def parts(of_segment: Ints, shares: Sequence[float], repeats: int, seed: int) -> list[tuple[float, list[Ints]]]:
    """Return for each share the rows of the outputs of each draw; for share 1, all outputs once.

    Each draw is a random order of the segments, and a share takes the first of them, so parts are nested.
    """
    n = int(of_segment.max()) + 1 if len(of_segment) else 0
    orders = [np.random.default_rng([seed, draw]).permutation(n) for draw in range(repeats)]
    draws_by_share = []
    for share in shares:
        size = min(n, max(1, math.floor(share * n + 0.5)))
        taken = [np.flatnonzero(np.isin(of_segment, order[:size])) for order in (orders if size < n else orders[:1])]
        draws_by_share.append((share, taken))
    return draws_by_share


def learn(
    points: Sequence[CalibrationPoint],
    *,
    measure: Measure = "kendall",
    group: Group = "pooled",
    seed: int = 0,
    repeats: int = 5,
    draws: int = 100,
    progress: Progress = no_progress,
) -> Learning:
    """Compute the learning curve over `SHARES`, with `repeats` draws of segments each and `draws` resamples per interval.

    The same points and seed give the same result.
    """
    points = in_order(points)
    of_segment = group_ids([p.key.segment for p in points])
    drawn = parts(of_segment, SHARES, repeats, seed)
    total, done = sum(len(taken) for _, taken in drawn), 0
    steps, at = [], None
    for share, taken in drawn:
        fits: list[Calibration] = []
        reason = ""
        for rows in taken:
            try:
                if len(rows) < FEWEST_OUTPUTS:
                    raise UserError("too few", got=f"fewer than {FEWEST_OUTPUTS} outputs")
                some = [points[i] for i in rows]
                of_one = part(progress, done, total)
                fits.append(calibrate(some, measure=measure, group=group, seed=seed, draws=draws, progress=of_one))
            except UserError as error:
                reason = error.got or error.what
            done += 1
            progress(done / total)
        n = float(np.mean([len(rows) for rows in taken])) if taken else 0.0
        segments = len(set(of_segment[taken[0]].tolist())) if taken else 0
        steps.append(_step(share, n, segments, len(taken), fits, reason))
        at = fits[0].lam if fits else at
    law, reason = fitted([(s.n, s.width.mean) for s in steps if s.width is not None])
    forecasts = []
    if law is not None and at is not None:
        for times in TIMES:
            more = math.floor(times * steps[-1].n + 0.5)
            forecasts.append(Forecast(times, more, law.width(more), around(at, law.width(more))))
    sign = {"measure": measure_name(measure, group), "group": group, "seed": seed, "repeats": repeats, "draws": draws}
    return Learning(tuple(steps), law, tuple(forecasts), reason, signature("learning", {**sign, "v": VERSION}))


def fitted(widths: Sequence[tuple[float, float]]) -> tuple[Law | None, str]:
    """Fit the law to (n, width in ω) by least squares with a, b ≥ 0; return None with a reason if impossible.

    Needs at least three widths, at least `FEWEST_TO_FORECAST` outputs, and widths that fall with n.
    """
    if len(widths) < 3:
        return None, f"a forecast needs three parts with an interval; only {len(widths)} have one"
    if max(n for n, _ in widths) < FEWEST_TO_FORECAST:
        return None, f"a forecast needs at least {FEWEST_TO_FORECAST} labelled outputs"
    root = np.array([1 / math.sqrt(n) for n, _ in widths])
    width = np.array([w for _, w in widths])
    dx = root - root.mean()
    b = float(dx @ (width - width.mean()) / (dx @ dx)) if dx.any() else 0.0
    a = float(width.mean() - b * root.mean())
    if a < 0:
        a, b = 0.0, float(root @ width / (root @ root))
    if b <= 0:
        return None, "the interval does not narrow with more outputs"
    return Law(a, b), ""


def _step(share: float, n: float, segments: int, draws: int, fits: Sequence[Calibration], reason: str) -> LearningStep:
    agreements = [f.cross_validated.value for f in fits if f.cross_validated.value is not None]
    widths = [omega(f.ci[1]) - omega(f.ci[0]) for f in fits if f.ci is not None]
    if not reason and len(widths) <= draws / 2:
        reason = "most draws have no interval"
    agreement, width = (
        Spread(float(np.mean(v)), min(v), max(v)) if len(v) > draws / 2 else None for v in (agreements, widths)
    )
    missing = agreement is None or width is None
    return LearningStep(share, n, segments, draws, agreement, width, reason if missing else "")


def around(lam: float, width: float) -> tuple[float, float]:
    """Return the interval of width `width` in ω centred at λ, shifted to stay within [0, 1]."""
    low = min(max(0.0, omega(lam) - width / 2), 1.0 - width)
    return from_omega(low), from_omega(low + width)


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
