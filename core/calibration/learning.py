"""Learning curve: agreement and width of λ's interval by the number of labelled outputs, with a forecast.

λ is fitted on parts of the labelled segments (20 %, 40 %, …, several draws each) with `calibrate`. Widths are on the scale of
ω_exp = λ/(1+λ), in [0, 1]. Standard errors fall with the square root of the number of observations, so a + b·n^−½ is fitted
to the widths and extrapolated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.calibration.calibrate import Calibration, CalibrationPoint, calibrate, in_order, measure_name
from core.calibration.curve import from_omega, omega
from core.errors import UserError
from core.progress import Progress, no_progress, part
from core.signature import signature
from core.stats.correlation.correlation import Group, Measure, group_ids
from core.stats.correlation.pairs import Ints

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
