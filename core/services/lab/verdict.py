"""Whether a metric passes a test: curves over levels, one-sided bootstrap tests, and the rule that makes a verdict of them.

The paper's bare rule (He et al. 2023, sections 2 and 5.5.1): a metric fails where noised texts do not score below gold on average,
and, in grades, where the curve does not fall from level to level. Means alone cannot tell a blind spot from chance, so here:

- *pass*: a drop is shown at every level (p < .05, Holm over levels), and no step of a graded curve is shown to rise (Holm over steps);
- *fail*: at some level the metric is shown to be blind, which is that no drop is shown and the 95 % interval of the drop lies wholly at
  or below `NEGLIGIBLE` of the standard deviation of the gold texts' scores; or a step of a graded curve is shown to rise;
- *unclear*: neither;
- *untold*: fewer than `FEWEST` texts are compared, or the metric scored none of them.

A drop is the gold text's score minus the noised text's, by the metric's own direction, averaged over seeds; texts are resampled.
p of "not above 0" is the larger of two bootstrap p-values: the share of resampled means that are not above 0, which is too bold
for few texts, and that of the studentised bootstrap (Davison and Hinkley 1997, section 4.4), too bold where few texts change. Where
nothing happens at most 5 % pass; up to 10 % where a single level is judged on ten texts or fewer with strongly skewed differences.
A level at which no text was changed is not judged, nor a step at which no text was changed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.services.lab.report import Verdict
from core.stats.bootstrap import DRAWS_AT_ONCE, percentiles
from core.stats.pairs import Floats
from core.stats.significance import holm

FEWEST = 5
ALPHA = 0.05
NEGLIGIBLE = 0.1
"""A drop not worth the name, in standard deviations of the gold texts' scores."""
_ZERO = 1e-12
"""Differences so small beside the scores come from adding up in another order."""


class Estimate(NamedTuple):
    """A mean over texts, above 0 where it is right, with its 95 % percentile interval and the p of a mean that is not above 0."""

    mean: float
    low: float
    high: float
    p: float


class Judged(NamedTuple):
    """`published` is the paper's bare rule, None where undefined."""

    verdict: Verdict
    why: str
    published: bool | None


def drops(gold: Floats, noised: Floats, *, higher_is_better: bool = True) -> Floats:
    """How much worse each text became, shape of `noised` (…, n_texts); what is rounding alone is 0."""
    worse = (gold - noised) * (1.0 if higher_is_better else -1.0)
    scale = np.maximum(1.0, np.maximum(np.abs(gold), np.abs(noised)))
    return np.where(np.abs(worse) <= _ZERO * scale, 0.0, worse)


def estimates(values: Floats, seed: int, draws: int) -> list[Estimate]:
    """Each row of `values` (n_rows, n_texts) tested over texts, all rows on the same resamples. Raises ValueError without texts."""
    rows, n = values.shape
    if not n:
        raise ValueError("there are no texts to resample")
    means, errors = _resampled(values, seed, draws)
    own = values.mean(1)
    own_error = _error(own, (values**2).mean(1), n)
    found = []
    for k in range(rows):
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(_apart(means[:, k], own[k]) / errors[:, k], nan=0.0, posinf=np.inf, neginf=-np.inf)
            own_t = own[k] / own_error[k] if own_error[k] else np.inf if own[k] > 0 else -np.inf
        count = max(int(np.sum(means[:, k] <= 0)), int(np.sum(t >= own_t)))
        low, high = percentiles(means[:, k])
        found.append(Estimate(float(own[k]), low, high, (1 + count) / (draws + 1)))
    return found


def _apart(means: Floats, own: float) -> Floats:
    apart = means - own
    return np.where(np.abs(apart) <= _ZERO * abs(own), 0.0, apart)


def _resampled(values: Floats, seed: int, draws: int) -> tuple[Floats, Floats]:
    """Means and standard errors of the resampled texts, each (draws, n_rows)."""
    rows, n = values.shape
    both = np.concatenate([values, values**2]).T
    rng = np.random.default_rng(seed)
    out = []
    for start in range(0, draws, step := max(1, DRAWS_AT_ONCE // n)):
        size = min(step, draws - start)
        drawn = rng.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        out.append(counts @ both / n)
    moments = np.concatenate(out)
    return moments[:, :rows], _error(moments[:, :rows], moments[:, rows:], n)


def _error(mean: Floats, square: Floats, n: int) -> Floats:
    spread = square - mean**2
    spread = np.where(spread <= _ZERO * np.maximum(square, 1e-300), 0.0, spread)
    return np.asarray(np.sqrt(spread / max(1, n - 1)), dtype=np.float64)


def steps(falls: Floats) -> Floats:
    """How much each level's texts rise over those of the level before, (n_levels − 1, n_texts); above 0 is wrong."""
    return falls[:-1] - falls[1:]


def judge(
    labels: Sequence[str],
    levels: Sequence[Estimate],
    rises: Sequence[Estimate | None],
    *,
    gold: float,
    sd: float,
    higher_is_better: bool,
    texts: int,
) -> Judged:
    """The verdict over the levels at which texts were changed, in their order. `rises` are tests of `steps`, one a pair of
    neighbouring levels, None where both hold the same texts; empty where levels are no grades. `gold` and `sd` are mean and
    standard deviation of the gold texts' scores."""
    if texts < FEWEST:
        return Judged(
            "untold", f"{texts} {'text' if texts == 1 else 'texts'} could be compared; a verdict takes {FEWEST}.", None
        )
    if not levels:
        return Judged("untold", "No text was changed.", None)
    published = all(level.mean > 0 for level in levels) and all(rise.mean < 0 for rise in rises if rise)
    means = [gold - level.mean * (1 if higher_is_better else -1) for level in levels]
    adjusted = [p or 0.0 for p in holm([level.p for level in levels])]
    blind = [k for k, level in enumerate(levels) if adjusted[k] >= ALPHA and level.high <= NEGLIGIBLE * sd]
    if blind:
        k = min(blind, key=lambda k: levels[k].mean)
        worth = (
            f"a drop of more than {_n(NEGLIGIBLE * sd)}, a tenth of gold’s standard deviation," if sd else "any drop"
        )
        return Judged(
            "fail", f"At {labels[k]} the mean is {_n(means[k])}, gold’s {_n(gold)}: {worth} is excluded ({_between(levels[k])}).", published
        )  # fmt: skip
    stepped = holm([rise and rise.p for rise in rises])
    shown = [(rise.mean, k) for k, rise in enumerate(rises) if rise and (stepped[k] or 0.0) < ALPHA]
    if shown:
        _, k = max(shown)
        way = "rises" if higher_is_better else "falls"
        told = f"from {_n(means[k])} at {labels[k]} to {_n(means[k + 1])} at {labels[k + 1]} (p {_p(stepped[k])})"
        return Judged("fail", f"With more noise the mean {way} {told}, where it should not.", published)
    weakest = max(range(len(levels)), key=lambda k: (adjusted[k], -levels[k].mean))
    which = f"t {labels[weakest]} the mean is {_n(means[weakest])}, gold’s {_n(gold)}"
    figures = f"drop {_n(levels[weakest].mean)}, {_between(levels[weakest])}, p {_p(adjusted[weakest])}"
    if adjusted[weakest] >= ALPHA:
        return Judged("unclear", f"A{which}: no drop is shown, nor that there is none ({figures}).", published)
    return Judged("pass", f"A drop is shown at every level; least surely, a{which} ({figures}).", published)


def _n(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def _between(level: Estimate) -> str:
    return f"95 % interval {_n(level.low)} to {_n(level.high)}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"= {value:.3f}" if value >= 0.001 else "< 0.001"
