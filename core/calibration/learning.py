"""How many more labels: agreement and the width of λ's interval against the number of labelled outputs, and a forecast.

λ is fitted on part of the labelled segments (20 %, 40 %, … of them, several draws each), as `calibrate` does it. Widths are
on the scale of ω_exp = λ/(1+λ), between 0 and 1, where λ = ∞ has a place too. The standard error of an estimate falls with
the root of the number of observations; a + b·n^−½ is fitted to the widths and carried on. That is a forecast, no measurement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.calibration.calibrate import Calibration, Point, calibrate, measure_name
from core.calibration.curve import from_omega, omega
from core.calibration.drawn import Tell, part, quiet
from core.errors import UserError
from core.signature import signature
from core.stats.correlation import Group, Measure, group_ids
from core.stats.pairs import Ints

SHARES: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1.0)
TIMES: tuple[float, ...] = (1.5, 2.0)
FEWEST_OUTPUTS = 10
"""A part with fewer outputs is not fitted."""
FEWEST_TO_FORECAST = 30
VERSION = 1


class Spread(NamedTuple):
    """The mean over draws, and the smallest and largest of them."""

    mean: float
    low: float
    high: float


class Step(NamedTuple):
    """What λ is worth fitted on a share of the segments: `n` outputs on average over the draws.

    `agreement` is cross-validated; `width` that of λ's 95 % interval in ω. None where it is undefined for half the draws or
    more, with the reason.
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
    """With `times` as many outputs, `n`: the width in ω, and the interval of that width around the present λ."""

    times: float
    n: int
    width: float
    around: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Learning:
    """The learning curve. Without a forecast `reason` says why there is none."""

    steps: tuple[Step, ...]
    law: Law | None
    forecasts: tuple[Forecast, ...]
    reason: str
    signature: str


def parts(of_segment: Ints, shares: Sequence[float], repeats: int, seed: int) -> list[tuple[float, list[Ints]]]:
    """For each share the rows of the outputs drawn, once per draw; all outputs once where the share is 1.

    A draw is one random order of the segments, and a share its first segments: smaller parts lie within larger ones.
    """
    n = int(of_segment.max()) + 1 if len(of_segment) else 0
    orders = [np.random.default_rng([seed, draw]).permutation(n) for draw in range(repeats)]
    found = []
    for share in shares:
        size = min(n, max(1, math.floor(share * n + 0.5)))
        taken = [np.flatnonzero(np.isin(of_segment, order[:size])) for order in (orders if size < n else orders[:1])]
        found.append((share, taken))
    return found


def learn(
    points: Sequence[Point],
    *,
    measure: Measure = "kendall",
    group: Group = "pooled",
    seed: int = 0,
    repeats: int = 5,
    draws: int = 100,
    tell: Tell = quiet,
) -> Learning:
    """The learning curve over `SHARES`, `repeats` draws of segments each, with intervals of `draws` resamples.

    The same points and seed give the same result. `tell` hears which share is done.
    """
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
                told = part(tell, done, total)
                fits.append(calibrate(some, measure=measure, group=group, seed=seed, draws=draws, tell=told))
            except UserError as error:
                reason = error.got or error.what
            done += 1
            tell(done / total)
        n = float(np.mean([len(rows) for rows in taken])) if taken else 0.0
        segments = len(set(of_segment[taken[0]].tolist())) if taken else 0
        steps.append(_step(share, n, segments, len(taken), fits, reason))
        at = fits[0].lam if fits else at
    law, reason = fitted([(s.n, s.width.mean) for s in steps if s.width is not None])
    forecasts = _forecasts(law, steps[-1].n, at) if law is not None and at is not None else ()
    sign = {"measure": measure_name(measure, group), "group": group, "seed": seed, "repeats": repeats, "draws": draws}
    return Learning(tuple(steps), law, forecasts, reason, signature("learning", {**sign, "v": VERSION}))


def fitted(widths: Sequence[tuple[float, float]]) -> tuple[Law | None, str]:
    """The law through (n, width in ω), by least squares with a, b ≥ 0; or None with the reason.

    Undefined with fewer than three widths, below `FEWEST_TO_FORECAST` outputs in all, and where the widths do not fall with n.
    """
    if len(widths) < 3:
        return None, f"only {len(widths)} of the parts have an interval; a forecast needs three"
    if max(n for n, _ in widths) < FEWEST_TO_FORECAST:
        return None, f"a forecast needs {FEWEST_TO_FORECAST} labelled outputs or more"
    root = np.array([1 / math.sqrt(n) for n, _ in widths])
    width = np.array([w for _, w in widths])
    dx = root - root.mean()
    b = float(dx @ (width - width.mean()) / (dx @ dx)) if dx.any() else 0.0
    a = float(width.mean() - b * root.mean())
    if a < 0:
        a, b = 0.0, float(root @ width / (root @ root))
    if b <= 0:
        return None, "the interval does not narrow as outputs are added, so there is nothing to carry on"
    return Law(a, b), ""


def _step(share: float, n: float, segments: int, draws: int, fits: Sequence[Calibration], reason: str) -> Step:
    agreements = [f.cross_validated.value for f in fits if f.cross_validated.value is not None]
    widths = [omega(f.ci[1]) - omega(f.ci[0]) for f in fits if f.ci is not None]
    if not reason and len(widths) <= draws / 2:
        reason = "there is no interval for most draws"
    agreement, width = (_spread(v) if len(v) > draws / 2 else None for v in (agreements, widths))
    return Step(share, n, segments, draws, agreement, width, reason if agreement is None or width is None else "")


def _spread(values: Sequence[float]) -> Spread:
    return Spread(float(np.mean(values)), min(values), max(values))


def _forecasts(law: Law, n: float, lam: float) -> tuple[Forecast, ...]:
    found = []
    for times in TIMES:
        more = math.floor(times * n + 0.5)
        width = law.width(more)
        found.append(Forecast(times, more, width, around(lam, width)))
    return tuple(found)


def around(lam: float, width: float) -> tuple[float, float]:
    """The interval of λ that is `width` wide in ω with λ in its middle, or pushed to the end of the scale it would leave."""
    low = min(max(0.0, omega(lam) - width / 2), 1.0 - width)
    return from_omega(low), from_omega(low + width)
