"""Agreement at every λ that matters, by exact fractions and one evaluation each: slow, and independent of the sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import scipy.stats


def lambdas(exp: Sequence[int], imp: Sequence[int], groups: Sequence[Sequence[int]]) -> list[Fraction | None]:
    """0, a λ inside each interval, each breakpoint, and ∞ (None), ascending."""
    breaks = sorted(
        {
            b
            for g in groups
            for i, j in combinations(g, 2)
            if exp[i] != exp[j] and (b := Fraction(imp[j] - imp[i], exp[i] - exp[j])) > 0
        }
    )
    found: list[Fraction | None] = [Fraction(0)]
    before = Fraction(0)
    for b in breaks:
        found += [(before + b) / 2, b]
        before = b
    return [*found, before + 1, None]


def ranks(values: list[Any]) -> list[int]:
    rank = {v: k for k, v in enumerate(sorted(set(values)))}
    return [rank[v] for v in values]


def statistic(measure: str, metric: list[Any], human: list[Any]) -> float | None:
    a, b = ranks(metric), ranks(human)
    if measure == "acc_eq":
        pairs = list(combinations(range(len(a)), 2))
        return float(np.mean([np.sign(a[i] - a[j]) == np.sign(b[i] - b[j]) for i, j in pairs])) if pairs else None
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return float((scipy.stats.kendalltau if measure == "kendall" else scipy.stats.spearmanr)(a, b)[0])


def curve(
    measure: str, group: str, exp: Any, imp: Any, human: Any, segments: Sequence[int], systems: Sequence[int]
) -> tuple[list[float], np.ndarray[Any, Any]]:
    """The breakpoints, and the agreement in the cells {0}, (0, b₁), {b₁}, …, {∞}; NaN where it is undefined."""
    e, i, h = ([Fraction(str(v)) for v in x] for x in (exp, imp, human))
    if group == "system":
        names = list(dict.fromkeys(systems))
        rows = [[k for k, s in enumerate(systems) if s == name] for name in names]
        e, i, h = ([sum((x[k] for k in r), Fraction(0)) / len(r) for r in rows] for x in (e, i, h))
    unit = math.lcm(*(v.denominator for v in (*e, *i)))
    exact_exp, exact_imp = ([int(v * unit) for v in x] for x in (e, i))
    ids = segments if group == "segment" else [0] * len(e)
    groups = [[k for k in range(len(e)) if ids[k] == g] for g in dict.fromkeys(ids)]
    places = lambdas(exact_exp, exact_imp, groups)
    cells = []
    for lam in places:
        a, b = (1, 0) if lam is None else (lam.numerator, lam.denominator)
        score = [-(a * x + b * y) for x, y in zip(exact_exp, exact_imp, strict=True)]
        values = [statistic(measure, [score[k] for k in g], [h[k] for k in g]) for g in groups]
        defined = [v for v in values if v is not None]
        cells.append(float(np.mean(defined)) if defined else np.nan)
    return [float(b) for b in places[2:-2:2] if b is not None], np.array(cells)
