"""Pairwise preferences of raters: Bradley–Terry strengths and win rates, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from core.data import grouped
from core.stats.bootstrap import Interval, content_order, draws_of, percentiles
from core.stats.correlation.pairs import Floats

MOST_UNDEFINED = 0.05
TOO_FEW = "an interval needs at least two items"


class PreferenceVote(NamedTuple):
    """Vote of `rater` on `item`: `winner` is `first`, `second` or None for a tie."""

    first: str
    second: str
    winner: str | None
    item: Hashable
    rater: str


class SystemStrength(NamedTuple):
    """Strength of `system` in `votes` votes: log γ, with mean 0 over the systems, higher is better; `strength.n` counts items."""

    system: str
    strength: Interval
    votes: int


class WinRate(NamedTuple):
    """Share of votes for `first` against `second`, ties as ½, in [0, 1]; `rate.n` counts items."""

    first: str
    second: str
    rate: Interval
    wins: int
    losses: int
    ties: int


class PreferenceResult(NamedTuple):
    """Strengths of the systems and win rates of the pairs that were compared.

    `undefined` is the share in [0, 1] of the resamples in which strengths are undefined: a system that never lost there has
    unbounded strength.
    """

    strengths: tuple[SystemStrength, ...]
    rates: tuple[WinRate, ...]
    undefined: float


def preference_strengths(votes: Iterable[PreferenceVote], *, seed: int, draws: int = 500) -> PreferenceResult:
    """Return Bradley–Terry strengths (`bradley_terry`, ties as ½) and win rates, with percentile intervals over items.

    Items are resampled with all their votes, so several raters of one item do not count as independent. Strengths are undefined
    where the likelihood has no maximum. Their intervals use the resamples in which they are defined; if these are less than 95 %,
    there is no interval, since it would leave out the unbounded ones. A rate of 0 or 1 has an interval of width 0.

    Raises `ValueError` for a vote on one system, and for a winner that is neither of the two.
    """
    all_votes = list(votes)
    for vote in all_votes:
        if vote.first == vote.second:
            raise ValueError(f"{vote.first} is compared with itself")
        if vote.winner not in (None, vote.first, vote.second):
            raise ValueError(f"the winner must be {vote.first}, {vote.second} or None, not {vote.winner}")
    names = sorted({name for vote in all_votes for name in (vote.first, vote.second)})
    by_item = _wins_by_item(all_votes, names)
    n_items = len(by_item)
    samples = [np.tensordot(counts, by_item, 1) for counts in draws_of(n_items, seed, draws)] if n_items > 1 else []
    strengths, undefined = _strengths(by_item.sum(0), samples, n_items)
    voted = Counter(name for vote in all_votes for name in (vote.first, vote.second))
    rows = zip(names, strengths, strict=True)
    return PreferenceResult(
        tuple(SystemStrength(name, interval, voted[name]) for name, interval in rows),
        tuple(_rates(all_votes, names, samples)),
        undefined,
    )


def _wins_by_item(votes: list[PreferenceVote], names: list[str]) -> Floats:
    """Return `wins[item, i, j]`, how often i beat j. Each vote is a ranking of two systems."""
    rankings = grouped((v.item, {name: 2.0 - (name == v.winner) for name in (v.first, v.second)}) for v in votes)
    wins = np.array([wins_of_rankings(of, names) for of in rankings.values()]).reshape(
        len(rankings), len(names), len(names)
    )
    return wins[content_order(*wins.reshape(len(wins), len(names) ** 2).T)] if names else wins


def _strengths(wins: Floats, samples: list[Floats], n_items: int) -> tuple[list[Interval], float]:
    fitted = bradley_terry(wins)
    drawn = [scores for sample in samples if (scores := bradley_terry(sample).scores) is not None]
    undefined = 1 - len(drawn) / len(samples) if samples else 0.0
    if fitted.scores is None:
        return [Interval(None, None, None, n_items, fitted.reason) for _ in range(len(wins))], undefined
    if not samples:
        return [Interval(score, None, None, n_items, TOO_FEW) for score in fitted.scores], undefined
    if undefined > MOST_UNDEFINED:
        reason = f"strengths are undefined in {undefined:.1%} of the resamples"
        return [Interval(score, None, None, n_items, reason) for score in fitted.scores], undefined
    columns = np.array(drawn).T
    intervals = [Interval(s, *percentiles(column), n_items) for s, column in zip(fitted.scores, columns, strict=True)]
    return intervals, undefined


def _rates(votes: list[PreferenceVote], names: list[str], samples: list[Floats]) -> list[WinRate]:
    results: Counter[tuple[str, str, str | None]] = Counter()
    items: dict[tuple[str, str], set[Hashable]] = {}
    for vote in votes:
        first, second = sorted((vote.first, vote.second))
        results[first, second, vote.winner] += 1
        items.setdefault((first, second), set()).add(vote.item)
    rates = []
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        wins, losses, ties = results[a, b, a], results[a, b, b], results[a, b, None]
        if not (n := wins + losses + ties):
            continue
        rate, n_items = (wins + ties / 2) / n, len(items[a, b])
        drawn = [s[i, j] / total for s in samples if (total := s[i, j] + s[j, i]) > 0]
        enough = n_items > 1 and bool(drawn)
        low, high = percentiles(drawn) if enough else (None, None)
        interval = Interval(rate, low, high, n_items, "" if enough else TOO_FEW)
        rates.append(WinRate(a, b, interval, wins, losses, ties))
    return rates


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
