"""How often each test calls two equal things different: the share of null runs with p ≤ .05.

With 999 or 199 draws p = (1 + c)/(draws + 1) can be .05, so an exact test has a share of .05 and not a step less.

`python -m tests.core.stats.type_one_error` prints all of it (some ten minutes); the tests run the quick part.

The nulls. Systems: both have MQM-like or continuous scores of one law, given the segment's difficulty (so scores of a segment
are correlated, skewed, and, when MQM-like, full of ties). Correlations: three normal variables, the metrics equally good.
Metrics: people's scores have effects of system, segment and output; both metrics are these scores plus independent noise of
one law, output by output.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from core.stats.correlation.correlation import Group, Measure
from core.stats.correlation.pairs import Floats
from core.stats.significance.perm_both import williams
from core.stats.significance.system_comparison import approximate_randomization, paired_bootstrap
from tests.core.stats.two_metrics import perm_both, swapped_pairs

RUNS = 2000
PValue = Callable[[np.random.Generator, int], float | None]


def rate(p_value: PValue, runs: int = RUNS, seed: int = 0, level: float = 0.05) -> float:
    """The share of runs with p ≤ level; run k has its own data and the seed k."""
    rng = np.random.default_rng(seed)
    found = [p_value(rng, k) for k in range(runs)]
    return sum(p is not None and p <= level for p in found) / runs


def two_systems(rng: np.random.Generator, n: int, *, mqm: bool) -> Floats:
    difficulty = rng.gamma(1.0, 1.5, n)
    if mqm:
        return -rng.poisson(difficulty, (2, n)).astype(np.float64)
    scores: Floats = -rng.gamma(1.0 + difficulty, 1.0, (2, n))
    return scores


def randomization(rng: np.random.Generator, seed: int, *, n: int, mqm: bool = False) -> float | None:
    return approximate_randomization(two_systems(rng, n, mqm=mqm), seed=seed, draws=999)[0, 1].p


def bootstrap(rng: np.random.Generator, seed: int, *, n: int, mqm: bool = False) -> float | None:
    _, low, high, *_ = paired_bootstrap(two_systems(rng, n, mqm=mqm), seed=seed, draws=999)[0, 1]
    return 0.0 if low > 0 or high < 0 else 1.0  # an interval that excludes 0 is a difference


def correlations(rng: np.random.Generator, seed: int, *, n: int) -> float | None:
    mix = np.linalg.cholesky(np.array([[1, 0.5, 0.5], [0.5, 1, 0.6], [0.5, 0.6, 1]]))
    human, first, second = mix @ rng.normal(size=(3, n))
    return williams(first, second, human).p


def metrics(
    rng: np.random.Generator,
    seed: int,
    *,
    measure: Measure,
    group: Group,
    shape: tuple[int, int] = (6, 12),
    ties: bool = False,
    system_likings: float = 0.0,
    swap_pairs: bool = False,
    draws: int = 199,
) -> float | None:
    n_systems, n_segments = shape
    human = 0.5 * rng.normal(size=(n_systems, 1)) + rng.normal(size=(1, n_segments)) + rng.normal(size=shape)
    first, second = (
        human + 1.5 * rng.normal(size=shape) + system_likings * rng.normal(size=(n_systems, 1)) for _ in range(2)
    )
    if ties:
        human = -np.floor(0.7 * np.exp(-human))  # MQM-like: many clean outputs, few bad ones
    where = np.indices(shape).reshape(2, -1)
    if swap_pairs:
        return swapped_pairs(first.ravel(), second.ravel(), human.ravel(), where[1].tolist(), seed, draws)[1]
    return perm_both(
        measure,
        first.ravel(),
        second.ravel(),
        human.ravel(),
        group=group,
        systems=where[0].tolist(),
        segments=where[1].tolist(),
        seed=seed,
        draws=draws,
    ).p


def main() -> None:
    cases: list[tuple[str, PValue, int]] = []
    for n in (20, 50, 100, 200):
        for mqm in (False, True):
            kind = "MQM-like" if mqm else "continuous"
            cases.append(
                (f"approximate randomization, {n} segments, {kind}", partial(randomization, n=n, mqm=mqm), RUNS)
            )
            cases.append((f"paired bootstrap, {n} segments, {kind}", partial(bootstrap, n=n, mqm=mqm), RUNS))
    cases += [(f"Williams, {n} outputs", partial(correlations, n=n), RUNS) for n in (10, 50)]
    groups: tuple[Group, ...] = ("pooled", "segment", "system")
    measures: tuple[Measure, ...] = ("pearson", "spearman", "kendall", "acc_eq")
    for group in groups:
        for measure in measures:
            runs = 200 if (measure, group) == ("acc_eq", "pooled") else RUNS
            shape = (20, 6) if group == "system" else (6, 12)
            ties = measure == "acc_eq" and group != "system"
            test = partial(metrics, measure=measure, group=group, shape=shape, ties=ties)
            cases.append((f"PERM-BOTH, {measure}, {group}, {shape[0]} systems × {shape[1]} segments", test, runs))
    liking = partial(metrics, measure="pearson", group="system", system_likings=0.5)
    cases.append(("PERM-BOTH, pearson, system, with likings for systems", liking, RUNS))
    for shape in ((6, 12), (15, 40)):
        pairs = partial(metrics, measure="acc_eq", group="segment", shape=shape, ties=True, swap_pairs=True)
        cases.append((f"swapping pairs, acc_eq, segment, {shape[0]} systems × {shape[1]} segments", pairs, RUNS))
    for name, case, runs in cases:
        print(f"{rate(case, runs):6.2%}  {name} ({runs} runs)", flush=True)


if __name__ == "__main__":
    main()
