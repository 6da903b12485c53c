"""The ranks that systems can have, given significance tests between all pairs."""

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


def rank_ranges(wins: Wins) -> list[tuple[int, int]]:
    """Return the smallest and the largest rank that each item can have, 1 is best; `wins[i, j]`: i is significantly better than j.

    An item ranks below those that beat it and above those that it beats (as in the WMT general translation task, Kocmi et al. 2023).
    """
    n = len(wins)
    return [(1 + int(wins[:, i].sum()), n - int(wins[i].sum())) for i in range(n)]
