"""Rank clusters of systems or metrics from significance tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Wins = npt.NDArray[np.bool_]


def wins_of(
    n: int,
    pairs: Sequence[tuple[int, int]],
    differences: Sequence[float | None],
    p_values: Sequence[float | None],
    alpha: float = 0.05,
) -> Wins:
    """Return `wins[i, j]`: i is better than j with p ≤ alpha. Untested pairs count as not different."""
    wins = np.zeros((n, n), dtype=bool)
    for (i, j), difference, p in zip(pairs, differences, p_values, strict=True):
        if difference and p is not None and p <= alpha:
            wins[(i, j) if difference > 0 else (j, i)] = True
    return wins


def rank_clusters(values: Sequence[float], wins: Wins) -> list[int]:
    """Return the cluster of each item, in the order given; 1 is best. `values`: higher is better; `wins[i, j]`: i beats j.

    Items are sorted by value and cut where everything above is significantly better than everything below, as in the WMT news
    and general translation tasks; items within a cluster may still differ. Equal values are never separated.
    """
    n = len(values)
    if wins.shape != (n, n):
        raise ValueError(f"{n} values and a table of {wins.shape}")
    order = sorted(range(n), key=lambda i: -values[i])
    sorted_wins = wins[np.ix_(order, order)]
    clusters, current = [0] * n, 0
    for place, i in enumerate(order):
        current += bool(sorted_wins[:place, place:].all())  # also for the first item, which has none above
        clusters[i] = current
    return clusters
