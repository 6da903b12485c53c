"""Decide whether a metric passes a stress test, with one-sided bootstrap tests over noise levels.

The rule of He et al. (2023, sections 2 and 5.5.1) compares means: a metric fails if noised texts do not score below gold on average or,
in a graded test, if the mean does not fall from level to level. Means alone cannot separate a missed error from chance. The verdicts here:

- *pass*: the drop is significant at every level (p < .05, Holm over levels), and no step of a graded test rises significantly (Holm over steps);
- *fail*: at some level the drop is not significant and its 95 % CI lies at or below `NEGLIGIBLE` standard deviations of the gold scores;
  or a step of a graded test rises significantly;
- *inconclusive* (stored as "unclear"): neither;
- *no result* (stored as "untold"): fewer than `FEWEST` texts are compared, or the metric scored none of them.

The drop is the gold score minus the noised score, positive if the metric reacts correctly, averaged over seeds; texts are resampled.
Its p-value is the larger of two bootstrap p-values: the share of resampled means ≤ 0 (anti-conservative for few texts) and the
studentised bootstrap (Davison and Hinkley 1997, section 4.4; anti-conservative if few texts change). If there is no effect, at most
5 % of metrics pass; up to 10 % if one level is tested on ten texts or fewer with strongly skewed differences.
Levels that change no text are not tested, nor steps between levels with the same texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Value
from core.formatting import format_count
from core.formatting import format_figure as figure
from core.metrics.base import Metric
from core.robustness.stress.report import PARTS, LevelResult, Offender, StressTestResult, Verdict
from core.robustness.stress.texts import Gold, Noised
from core.stats.bootstrap import percentiles, resamples
from core.stats.correlation.pairs import Floats
from core.stats.significance.system_comparison import holm

FEWEST = 5
ALPHA = 0.05
NEGLIGIBLE = 0.1
"""The largest drop that counts as no meaningful drop, in standard deviations of the gold scores."""
_ZERO = 1e-12
"""Relative differences up to this size are rounding errors."""


class DropEstimate(NamedTuple):
    """A mean drop over texts, its 95 % percentile CI, and the one-sided p-value of a mean ≤ 0."""

    mean: float
    low: float
    high: float
    p: float


class VerdictResult(NamedTuple):
    """A verdict with its explanation. `published` is the result of the paper's rule, None if undefined."""

    verdict: Verdict
    why: str
    published: bool | None


def drops(gold: Floats, noised: Floats, *, higher_is_better: bool = True) -> Floats:
    """Return how much worse each text scores than gold, in the shape of `noised` (…, n_texts); rounding errors become 0."""
    worse = (gold - noised) * (1.0 if higher_is_better else -1.0)
    scale = np.maximum(1.0, np.maximum(np.abs(gold), np.abs(noised)))
    return np.where(np.abs(worse) <= _ZERO * scale, 0.0, worse)


def estimates(values: Floats, seed: int, draws: int) -> list[DropEstimate]:
    """Test each row of `values` (n_rows, n_texts) over texts, with the same resamples for all rows. Raises ValueError without texts."""
    rows, n = values.shape
    if not n:
        raise ValueError("there are no texts to resample")
    means, errors = _resampled(values, seed, draws)
    own = values.mean(1)
    own_error = _error(own, (values**2).mean(1), n)
    drop_estimates = []
    for k in range(rows):
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(_apart(means[:, k], own[k]) / errors[:, k], nan=0.0, posinf=np.inf, neginf=-np.inf)
            own_t = own[k] / own_error[k] if own_error[k] else np.inf if own[k] > 0 else -np.inf
        count = max(int(np.sum(means[:, k] <= 0)), int(np.sum(t >= own_t)))
        low, high = percentiles(means[:, k])
        drop_estimates.append(DropEstimate(float(own[k]), low, high, (1 + count) / (draws + 1)))
    return drop_estimates


def _apart(means: Floats, own: float) -> Floats:
    apart = means - own
    return np.where(np.abs(apart) <= _ZERO * abs(own), 0.0, apart)


def _resampled(values: Floats, seed: int, draws: int) -> tuple[Floats, Floats]:
    """Return means and standard errors of the resampled texts, each (draws, n_rows)."""
    rows, n = values.shape
    both = np.concatenate([values, values**2]).T
    out = []
    for drawn in resamples(n, seed, draws):
        own = drawn + n * np.arange(len(drawn))[:, None]
        out.append(np.bincount(own.ravel(), minlength=own.size).reshape(own.shape) @ both / n)
    moments = np.concatenate(out)
    return moments[:, :rows], _error(moments[:, :rows], moments[:, rows:], n)


def _error(mean: Floats, square: Floats, n: int) -> Floats:
    spread = square - mean**2
    spread = np.where(spread <= _ZERO * np.maximum(square, 1e-300), 0.0, spread)
    return np.asarray(np.sqrt(spread / max(1, n - 1)), dtype=np.float64)


def steps(falls: Floats) -> Floats:
    """Return how much the score rises from each level to the next, (n_levels − 1, n_texts); above 0 is wrong."""
    return falls[:-1] - falls[1:]


def judge(
    labels: Sequence[str],
    levels: Sequence[DropEstimate],
    rises: Sequence[DropEstimate | None],
    *,
    gold: float,
    sd: float,
    higher_is_better: bool,
    texts: int,
) -> VerdictResult:
    """Return the verdict over the levels that changed any text, in order.

    `rises` are the tests of `steps`, one per pair of neighbouring levels, None if both have the same texts; empty if the test is not
    graded. `gold` and `sd` are the mean and standard deviation of the gold scores.
    """
    if texts < FEWEST:
        why = f"{format_count(texts, 'text')} could be compared; at least {FEWEST} are needed."
        return VerdictResult("untold", why, None)
    if not levels:
        return VerdictResult("untold", "No text was changed.", None)
    published = all(level.mean > 0 for level in levels) and all(rise.mean < 0 for rise in rises if rise)
    means = [gold - level.mean * (1 if higher_is_better else -1) for level in levels]
    adjusted = [p or 0.0 for p in holm([level.p for level in levels])]
    blind = [k for k, level in enumerate(levels) if adjusted[k] >= ALPHA and level.high <= NEGLIGIBLE * sd]
    if blind:
        k = min(blind, key=lambda k: levels[k].mean)
        worth = (
            f"a drop of more than {figure(NEGLIGIBLE * sd)} (0.1 SD of the scores of the good texts)"
            if sd
            else "any drop"
        )
        return VerdictResult(
            "fail", f"At {labels[k]} the mean is {figure(means[k])} (good texts: {figure(gold)}): {worth} is excluded ({_between(levels[k])}).", published
        )  # fmt: skip
    stepped = holm([rise and rise.p for rise in rises])
    shown = [(rise.mean, k) for k, rise in enumerate(rises) if rise and (stepped[k] or 0.0) < ALPHA]
    if shown:
        _, k = max(shown)
        way = "rises" if higher_is_better else "falls"
        change = (
            f"from {figure(means[k])} at {labels[k]} to {figure(means[k + 1])} at {labels[k + 1]} (p {_p(stepped[k])})"
        )
        return VerdictResult("fail", f"With more noise the mean {way} {change}; it should not.", published)
    weakest = max(range(len(levels)), key=lambda k: (adjusted[k], -levels[k].mean))
    which = f"t {labels[weakest]} the mean is {figure(means[weakest])} (good texts: {figure(gold)})"
    figures = f"drop {figure(levels[weakest].mean)}, {_between(levels[weakest])}, p {_p(adjusted[weakest])}"
    if adjusted[weakest] >= ALPHA:
        why = f"A{which}: the drop is not significant, but a meaningful drop is not excluded ({figures})."
        return VerdictResult("unclear", why, published)
    why = f"The drop is significant at every level. Weakest level: a{which} ({figures})."
    return VerdictResult("pass", why, published)


def _between(level: DropEstimate) -> str:
    return f"95 % CI {figure(level.low)} to {figure(level.high)}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"= {value:.3f}" if value >= 0.001 else "< 0.001"


Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
WORST = 5


class KeyedTexts(NamedTuple):
    """The noised texts of a test and the content keys of `Noised.items`."""

    noised: Noised
    keys: Sequence[str]


def cell(
    table: KeyedTexts,
    golds: Sequence[Gold],
    metric: Metric,
    values: Mapping[str, Value],
    seed: int,
    draws: int,
) -> StressTestResult:
    """Return the result of a metric under a test from its values by content key. Texts with a missing score are left out of the comparison and counted."""
    test, spec = table.noised, metric.spec
    n, levels, seeds = len(test.compared), len(test.noise.levels), len(test.seeds)
    cell_values = [values[key] for key in table.keys]
    scores = np.array([np.nan if v.value is None else v.value for v in cell_values], dtype=np.float64)
    scores = scores.reshape(n, 1 + levels * seeds)
    whole: Bools = np.asarray(~np.isnan(scores).any(axis=1), dtype=np.bool_)
    texts = int(whole.sum())
    if not texts:
        reason = next((v.reason for v in cell_values if v.value is None), "")
        why = f"Every text has a missing score: {reason}." if reason else "No text could be changed."
        points = tuple(
            LevelResult(level.label, level.strength, ratio, None, None, None, None, None, None)
            for level, ratio in zip(test.noise.levels, test.ratios, strict=True)
        )
        return StressTestResult(test.noise.name, spec.name, 0, n, None, {}, points, "untold", why, None)
    gold = scores[whole, 0]
    noised = scores[whole, 1:].reshape(texts, levels, seeds).transpose(1, 2, 0)  # level, seed, text
    worse = drops(gold, noised, higher_is_better=spec.higher_is_better)
    parts = _parts(cell_values, whole, 1 + levels * seeds)
    rows = np.flatnonzero(whole)
    falls, rises, judged = _judged(test, golds, rows, gold, worse.mean(1), spec.higher_is_better, seed, draws)
    points = tuple(_point(test, k, noised[k], worse[k], falls.get(k), rises.get(k), parts) for k in range(levels))
    at = [place for place, complete in zip(test.compared, whole.tolist(), strict=True) if complete]
    worst = _worst(test, golds, at, rows, gold, noised, worse)
    own = {name: float(means[0]) for name, means in parts.items()}
    return StressTestResult(
        test.noise.name, spec.name, texts, n - texts, float(gold.mean()), own, points, judged.verdict, judged.why, judged.published, worst
    )  # fmt: skip


def _judged(
    test: Noised, golds: Sequence[Gold], rows: Rows, gold: Floats, worse: Floats, higher_is_better: bool, seed: int, draws: int
) -> tuple[dict[int, DropEstimate], dict[int, DropEstimate], VerdictResult]:  # fmt: skip
    """Return the tests of drops and rises by level, and the verdict, over the compared texts that have scores."""
    own = [golds[test.compared[row]].item.hypothesis for row in rows]
    made = [[[texts[row] for row in rows] for texts in level] for level in test.texts]
    changed = [k for k, level in enumerate(made) if any(texts != own for texts in level)]
    falls = worse[changed]
    down = estimates(falls, seed, draws) if len(rows) >= FEWEST and changed else []
    up: list[DropEstimate | None] = []
    if test.noise.graded and len(down) > 1:
        tested = estimates(steps(falls), seed, draws)
        up = [t if made[a] != made[b] else None for t, (a, b) in zip(tested, pairwise(changed), strict=True)]
    labels = [test.noise.levels[k].label for k in changed]
    sd = float(gold.std(ddof=1)) if len(rows) > 1 else 0.0
    verdict = judge(
        labels, down, up, gold=float(gold.mean()), sd=sd, higher_is_better=higher_is_better, texts=len(rows)
    )
    rises = {k: rise for k, rise in zip(changed[1:], up, strict=False) if rise}
    return dict(zip(changed, down, strict=False)), rises, verdict


def _point(
    test: Noised,
    k: int,
    noised: Floats,
    worse: Floats,
    fall: DropEstimate | None,
    rise: DropEstimate | None,
    parts: Mapping[str, Floats],
) -> LevelResult:
    level, by_seed = test.noise.levels[k], noised.mean(1)
    sd = float(by_seed.std(ddof=1)) if len(by_seed) > 1 else 0.0
    seeds = len(test.seeds)
    own = {name: float(means[1 + k * seeds : 1 + (k + 1) * seeds].mean()) for name, means in parts.items()}
    return LevelResult(
        level.label, level.strength, test.ratios[k], float(by_seed.mean()), sd, float(worse.mean()), fall and fall.low,
        fall and fall.high, fall and fall.p, rise and rise.p, own,
    )  # fmt: skip


def _parts(cell_values: Sequence[Value], whole: Bools, width: int) -> dict[str, Floats]:
    """Return the means of those `PARTS` that every compared value has: gold first, then by level and seed."""
    mine = [v for i, v in enumerate(cell_values) if whole[i // width]]
    names = [name for name in PARTS if all(name in v.parts for v in mine)]
    return {name: np.array([v.parts[name] for v in mine]).reshape(-1, width).mean(0) for name in names}


def _worst(
    test: Noised, golds: Sequence[Gold], at: Sequence[int], rows: Rows,
    gold: Floats, noised: Floats, worse: Floats,
) -> tuple[Offender, ...]:  # fmt: skip
    """Return the `WORST` texts whose score rose most, each with the level and seed of its largest rise."""
    rises = []
    for i, place in enumerate(at):
        k, s = np.unravel_index(int(worse[:, :, i].argmin()), worse.shape[:2])
        rise = -float(worse[k, s, i])
        if rise > 0:
            rises.append((rise, i, place, int(k), int(s)))
    rises.sort(key=lambda f: (-f[0], f[2]))
    out = []
    for rise, i, place, level, seed in rises[:WORST]:
        item = golds[place].item
        reference = item.references[0] if item.references else None
        text = test.texts[level][seed][int(rows[i])]
        out.append(
            Offender(
                golds[place].id, test.noise.levels[level].label, test.seeds[seed], item.source, reference, item.hypothesis, text,
                float(gold[i]), float(noised[level, seed, i]), rise,
            )
        )  # fmt: skip
    return tuple(out)
