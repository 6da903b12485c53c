"""Results of significance tests, Holm's correction for several, and the ranks that systems can have after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Wins = npt.NDArray[np.bool_]
ROUNDING = 1e-12
Ended = Literal["", "reached", "clear"]


class Comparison(NamedTuple):
    """The `difference` (first minus second) and its two-sided `p`; None, with a reason, if undefined.

    `n` counts the segments or outputs compared, `draws` the random draws used for `p`, and `ended` says why these are fewer than
    asked for: enough of them `reached` the observed difference, or it is so large that it is `clear` that none will.
    """

    difference: float | None
    p: float | None
    reason: str = ""
    n: int = 0
    draws: int = 0
    ended: Ended = ""


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's (1979) adjusted p-values, in the order given; rejecting those ≤ α keeps the family-wise error rate ≤ α.

    The i-th smallest of m becomes the maximum of min(1, (m − k + 1)·p_k) over k ≤ i. Undefined tests (None) stay None and
    are not counted in m.
    """
    known = [i for i, p in enumerate(p_values) if p is not None]
    values = np.array([p_values[i] for i in known], dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p-values must lie in [0, 1]")
    order = np.argsort(values, kind="stable")
    raised = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    adjusted: list[float | None] = [None] * len(p_values)
    for place, value in zip(order, np.maximum.accumulate(raised), strict=True):
        adjusted[known[int(place)]] = float(value)
    return adjusted


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
