"""The result of one metric under one test: its curve over levels, the verdict, and the noised texts that score better than gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Value
from core.metrics.base import Metric
from core.robustness.stress.gold import Gold
from core.robustness.stress.noised import Noised
from core.robustness.stress.report import PARTS, LevelResult, Offender, StressTestResult
from core.robustness.stress.verdict import FEWEST, DropEstimate, VerdictResult, drops, estimates, judge, steps
from core.stats.correlation.pairs import Floats

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
    found = [values[key] for key in table.keys]
    scores = np.array([np.nan if v.value is None else v.value for v in found], dtype=np.float64)
    scores = scores.reshape(n, 1 + levels * seeds)
    whole: Bools = np.asarray(~np.isnan(scores).any(axis=1), dtype=np.bool_)
    texts = int(whole.sum())
    if not texts:
        why = next((v.reason for v in found if v.value is None), "")
        said = f"Every text has a missing score: {why}." if why else "No text could be changed."
        points = tuple(
            LevelResult(level.label, level.strength, ratio, None, None, None, None, None, None)
            for level, ratio in zip(test.noise.levels, test.ratios, strict=True)
        )
        return StressTestResult(test.noise.name, spec.name, 0, n, None, {}, points, "untold", said, None)
    gold = scores[whole, 0]
    noised = scores[whole, 1:].reshape(texts, levels, seeds).transpose(1, 2, 0)  # level, seed, text
    worse = drops(gold, noised, higher_is_better=spec.higher_is_better)
    parts = _parts(found, whole, 1 + levels * seeds)
    rows = np.flatnonzero(whole)
    falls, rises, judged = _judged(test, golds, rows, gold, worse.mean(1), spec.higher_is_better, seed, draws)
    points = tuple(_point(test, k, noised[k], worse[k], falls.get(k), rises.get(k), parts) for k in range(levels))
    at = [place for place, there in zip(test.compared, whole.tolist(), strict=True) if there]
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


def _parts(found: Sequence[Value], whole: Bools, width: int) -> dict[str, Floats]:
    """Return the means of those `PARTS` that every compared value has: gold first, then by level and seed."""
    mine = [v for i, v in enumerate(found) if whole[i // width]]
    names = [name for name in PARTS if all(name in v.parts for v in mine)]
    return {name: np.array([v.parts[name] for v in mine]).reshape(-1, width).mean(0) for name in names}


def _worst(
    test: Noised, golds: Sequence[Gold], at: Sequence[int], rows: Rows,
    gold: Floats, noised: Floats, worse: Floats,
) -> tuple[Offender, ...]:  # fmt: skip
    """Return the `WORST` texts whose score rose most, each with the level and seed of its largest rise."""
    found = []
    for i, place in enumerate(at):
        k, s = np.unravel_index(int(worse[:, :, i].argmin()), worse.shape[:2])
        rise = -float(worse[k, s, i])
        if rise > 0:
            found.append((rise, i, place, int(k), int(s)))
    found.sort(key=lambda f: (-f[0], f[2]))
    out = []
    for rise, i, place, level, seed in found[:WORST]:
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
