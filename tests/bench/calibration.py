"""`make bench`: λ for 10,000 pooled outputs and its 1,000 bootstrap fits, beside a grid of λ with scipy's Kendall τ-b.

Distances as BARTScore++ has them: a fifth of the explicit ones 0, implicit ones around .8; people's penalties in whole
numbers with many ties, as MQM has them. Ten systems on every segment. All in one process, one after the other.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy.stats import kendalltau

from core.calibration.lambda_search import curve_of
from core.calibration.resampling import resampled
from core.stats.correlation.correlation import Group, Measure
from core.stats.correlation.pairs import Floats

Result = TypeVar("Result")
SYSTEMS = 10


def outputs(n: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Explicit and implicit distances and human scores of n outputs, people's λ being 1.7 but for much noise."""
    rng = np.random.default_rng(seed)
    exp, imp = np.where(rng.random(n) < 0.2, 0, rng.exponential(0.4, n)), rng.normal(0.8, 0.4, n)
    penalty = np.round(np.maximum(0, 1.5 * (1.7 * exp + imp) + rng.normal(0, 2, n)))
    return exp, imp, -np.where(rng.random(n) < 0.3, 0.0, penalty)


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def best_of_grid(exp: Floats, imp: Floats, human: Floats) -> tuple[float, float]:
    """The best of λ = 0, 0.05, …, 5, and its τ-b."""
    found = [(float(kendalltau(-(lam * exp + imp), human).statistic), float(lam)) for lam in np.arange(101) / 20]
    value, lam = max(found)
    return lam, value


def against_grid(n: int) -> None:
    exp, imp, human = outputs(n, seed=1)
    times = []
    for _ in range(3):
        best, exact = timed(lambda: curve_of(exp, imp, human)(np.ones(n)).best())
        (lam, value), grid = timed(lambda: best_of_grid(exp, imp, human))
        times.append((exact, grid))
    exact, grid = min(times)
    assert best is not None
    assert best.agreement >= value
    print(
        f"{n:,} outputs pooled   exact {exact:6.2f} s   grid of 101 {grid:6.2f} s   exact/grid {exact / grid:5.2f}"
        f"   exact λ {best.lam:.6f} τ {best.agreement:.8f}   grid λ {lam:.2f} τ {value:.8f}   (best of 3, load {os.getloadavg()[0]:.1f})",
        flush=True,
    )


def fits(n: int, draws: int, measure: Measure, group: Group) -> None:
    exp, imp, human = outputs(n, seed=1)
    segments, systems = np.arange(n) // SYSTEMS, np.arange(n) % SYSTEMS
    sweep, before = timed(
        lambda: curve_of(
            exp, imp, human, measure=measure, group=group, segments=segments.tolist(), systems=systems.tolist()
        )
    )
    best, once = timed(lambda: sweep(np.ones(n)).best())
    assert best is not None
    found, seconds = timed(lambda: resampled(sweep, segments, best.lam, 0, draws))
    interval = "none" if found.ci is None else f"[{found.ci[0]:.3f}, {found.ci[1]:.3f}]"
    print(
        f"{n:,} outputs {group:8}{measure:9} one fit {before + once:6.2f} s   {draws:,} bootstrap fits {seconds:6.2f} s"
        f"   λ {best.lam:.3f} {interval}   (load {os.getloadavg()[0]:.1f})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, default=10_000)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--all", action="store_true", help="every measure and grouping, not Kendall alone")
    args, _ = parser.parse_known_args()
    against_grid(args.outputs)
    measures: tuple[Measure, ...] = ("kendall", "acc_eq", "spearman", "pearson") if args.all else ("kendall",)
    groups: tuple[Group, ...] = ("pooled", "segment", "system") if args.all else ("pooled", "segment")
    for group in groups:
        for measure in measures:
            fits(args.outputs, args.draws, measure, group)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
