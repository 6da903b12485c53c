"""Put raters' numbers on one scale: z-scores per rater, and Bradley–Terry strengths of rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from core.stats.correlation.correlation import group_ids, rows_by
from core.stats.correlation.pairs import Floats, vectors

ROUNDS = 100_000
TOLERANCE = 1e-12


class Strengths(NamedTuple):
    """`scores[i]` is log γ_i with mean 0, higher is better: exp(s_i − s_j) are the odds that i beats j.

    None, with a reason, if the likelihood has no maximum; `parts` then gives each item's group of comparable items.
    """

    scores: tuple[float, ...] | None
    reason: str = ""
    parts: tuple[int, ...] = ()


def wins_of_rankings(rankings: Iterable[Mapping[str, float]], names: Sequence[str]) -> Floats:
    """Return `wins[i, j]`, how often i was ranked before j, from rankings (name → rank, 1 is best), which may be partial.

    Equal ranks count as half a win for each side.
    """
    place = {name: i for i, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)))
    for ranking in rankings:
        for (a, rank_a), (b, rank_b) in combinations(ranking.items(), 2):
            share = 0.5 if rank_a == rank_b else float(rank_a < rank_b)
            wins[place[a], place[b]] += share
            wins[place[b], place[a]] += 1 - share
    return wins


def bradley_terry(wins: npt.ArrayLike) -> Strengths:
    """Return the maximum likelihood strengths for `wins` of shape (n, n): how often i beat j, ties as ½ and ½.

    γ_i ← W_i / Σ_j n_ij/(γ_i + γ_j) (Hunter 2004, equation 3), with W_i the wins of i and n_ij the comparisons, until no log γ
    changes by more than 10⁻¹². The maximum exists only if the graph "i beat j at least once" is strongly connected (assumption
    1). Otherwise some group never lost to the rest, its strength is unbounded, and the result is undefined.
    """
    w = np.asarray(wins, dtype=np.float64)
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ValueError(f"wins must be a square table, not {w.shape}")
    if not np.isfinite(w).all() or (w < 0).any() or np.diagonal(w).any():
        raise ValueError("wins must be finite and ≥ 0, with 0 on the diagonal")
    if len(w) < 2:
        return Strengths(None, f"at least two systems are needed, there are {len(w)}")
    n_parts, parts = connected_components(w > 0, directed=True, connection="strong")
    if n_parts > 1:
        return Strengths(None, _why(w), tuple(int(p) for p in parts))
    meetings, total = w + w.T, w.sum(1)
    strength = np.ones(len(w))
    for _ in range(ROUNDS):
        moved = total / (meetings / np.add.outer(strength, strength)).sum(1)
        moved /= np.exp(np.log(moved).mean())
        step = float(np.abs(np.log(moved / strength)).max())
        strength = moved
        if step < TOLERANCE:
            return Strengths(tuple(float(s) for s in np.log(strength)))
    return Strengths(None, f"the strengths did not converge in {ROUNDS:,} iterations")


def _why(wins: Floats) -> str:
    if connected_components(wins > 0, directed=True, connection="weak")[0] > 1:
        return "some systems were never compared with the others, directly or indirectly"
    return "some systems never lost to the others, directly or indirectly, so their strength is unbounded"


def standardised(raters: Sequence[str], scores: npt.ArrayLike) -> Floats:
    """Return z = (score − the rater's mean)/(the rater's standard deviation, with n − 1), over all the rater's scores; shape (n,).

    Unbounded, with the direction of the scores; mean 0 and standard deviation 1 for each rater. NaN for raters with one score or
    constant scores.
    """
    (values,) = vectors(scores)
    if len(raters) != len(values):
        raise ValueError(f"{len(raters)} raters for {len(values)} scores")
    z = np.full(len(values), np.nan)
    for rows in rows_by(group_ids(raters)):
        own = values[rows]
        if own.min() < own.max():
            z[rows] = (own - own.mean()) / own.std(ddof=1)
    return z
