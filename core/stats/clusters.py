"""Ranks that say no more than the significance tests do: which systems, or metrics, stand apart from which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Rule = Literal["line", "first_loss"]
Wins = npt.NDArray[np.bool_]


def wins_of(
    n: int,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float | None],
    p_values: Sequence[float | None],
    alpha: float = 0.05,
) -> Wins:
    """`wins[i, j]`: i is better than j with p ≤ alpha. Pairs that could not be tested count as not different."""
    wins = np.zeros((n, n), dtype=bool)
    for (i, j), difference, p in zip(pairs, differences, p_values, strict=True):
        if difference and p is not None and p <= alpha:
            wins[(i, j) if difference > 0 else (j, i)] = True
    return wins


def rank_clusters(values: Sequence[float], wins: Wins, rule: Rule = "line") -> list[int]:
    """The cluster of each, in the order given; 1 is best. `values`: higher is better; `wins[i, j]`: i is significantly better.

    They are put in order of value, and cut. "line", as in the WMT news and general translation tasks: a cut stands where
    everything above it is significantly better than everything below it; within a cluster some may still differ.
    "first_loss", as mt-metrics-eval ranks metrics: a new cluster starts at the first that is significantly worse than any
    member of the current one; neighbours on the two sides of the cut need not differ. Equal values never part under "line".
    """
    n = len(values)
    if wins.shape != (n, n):
        raise ValueError(f"{n} values and a table of {wins.shape}")
    order = sorted(range(n), key=lambda i: -values[i])
    sorted_wins = wins[np.ix_(order, order)]
    clusters, current, start = [0] * n, 0, 0
    for place, i in enumerate(order):
        apart = sorted_wins[:place, place:].all() if rule == "line" else sorted_wins[start:place, place].any()
        if place == 0 or apart:
            current, start = current + 1, place
        clusters[i] = current
    return clusters
