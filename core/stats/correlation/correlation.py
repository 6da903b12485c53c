"""Agreement between metric and human scores: Kendall τ-b, acc_eq (Deutsch et al. 2023), Spearman, Pearson.

Higher is better, if higher scores are better on both sides. τ-b, Spearman and Pearson lie in [−1, 1], acc_eq in [0, 1].
Undefined values (constant scores, fewer than two outputs) are None, with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from core.errors import UserError
from core.stats.checks import vectors
from core.stats.correlation.pairs import SMALL, Floats, Ints, PairCounts, pair_counts, pair_counts_of, weighted_ranks
from core.stats.means import group_means

Measure = Literal["kendall", "acc_eq", "spearman", "pearson"]
Group = Literal["pooled", "segment", "system"]
MEASURES: tuple[Measure, ...] = ("kendall", "acc_eq", "spearman", "pearson")
GROUPS: tuple[Group, ...] = ("pooled", "segment", "system")


FEWEST_GROUPS = 20
"""A mean over fewer groups, or over less than half of all groups, is shown but not ranked or tested."""


def too_few_groups(defined: int, of: int) -> bool:
    """Return whether a statistic defined in `defined` of `of` groups (segments) has too few to be ranked."""
    return defined < FEWEST_GROUPS or 2 * defined < of


class Statistic(NamedTuple):
    """A `value` over `n` outputs; an average is over `groups` groups, and is not defined in `undefined` others.

    `by_group` are the averaged values in the order of the groups, None where undefined.
    """

    value: float | None
    reason: str = ""
    n: int = 0
    groups: int = 1
    undefined: int = 0
    by_group: tuple[float | None, ...] = ()

    @property
    def counted(self) -> str:
        """Return text such as "468 of 529" if the statistic is undefined in some groups, else ""."""
        return f"{self.groups} of {self.groups + self.undefined}" if self.undefined and self.groups else ""


def tau_b(counts: PairCounts) -> float | None:
    """Return τ-b = (C−D)/√((C+D+T_h)(C+D+T_m)); None if all pairs are tied on one side."""
    c, d, human, metric, _ = counts
    below = (c + d + human) * (c + d + metric)
    return (c - d) / float(np.sqrt(below)) if below > 0 else None


def kendall(metric: npt.ArrayLike, human: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Statistic:
    """Return Kendall τ-b with exact ties, in O(n log² n)."""
    return _checked(metric, human, weights, lambda m, h, w: tau_b(pair_counts(m, h, w)))


def acc_eq(metric: npt.ArrayLike, human: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Statistic:
    """Return acc_eq = (C + T_hm)/all pairs, where equal metric scores are a tie (ε = 0). Defined for constant scores too."""

    def value(m: Floats, h: Floats, w: Floats) -> float:
        counts = pair_counts(m, h, w)
        return (counts.concordant + counts.both) / counts.total

    return _checked(metric, human, weights, value, constant=True)


def spearman(metric: npt.ArrayLike, human: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Statistic:
    """Return Spearman's ρ: Pearson's r of the ranks, with mean ranks for ties."""
    return _checked(metric, human, weights, lambda m, h, w: _pearson(weighted_ranks(m, w), weighted_ranks(h, w), w))


def pearson(metric: npt.ArrayLike, human: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Statistic:
    return _checked(metric, human, weights, _pearson)


def _pearson(x: Floats, y: Floats, w: Floats) -> float | None:
    dx, dy = x - (w @ x) / w.sum(), y - (w @ y) / w.sum()
    below = float(np.sqrt((w @ (dx * dx)) * (w @ (dy * dy))))
    return float(np.clip((w @ (dx * dy)) / below, -1, 1)) if below > 0 else None


def _checked(
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    value: Callable[[Floats, Floats, Floats], float | None],
    *,
    constant: bool = False,
) -> Statistic:
    m, h = vectors(metric, human)
    w = np.ones(len(m))
    if weights is not None:
        m, h, w = vectors(m, h, weights)
        m, h, w = m[w > 0], h[w > 0], w[w > 0]
    if w.sum() < 2:
        return Statistic(None, f"at least two outputs are needed, there are {int(w.sum())}", len(m))
    if not constant and (reason := all_equal(m, h)):
        return Statistic(None, reason, len(m))
    found = value(m, h, w)
    return Statistic(found, "" if found is not None else "the scores do not vary enough to be compared", len(m))


FUNCTIONS: dict[Measure, Callable[..., Statistic]] = {
    "kendall": kendall,
    "acc_eq": acc_eq,
    "spearman": spearman,
    "pearson": pearson,
}


def agreement(
    measure: Measure,
    metric: Sequence[float] | Floats,
    human: Sequence[float] | Floats,
    *,
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
) -> Statistic:
    """Return the measure over all outputs, averaged over segments, or over systems' mean scores."""
    check_measure(measure, group)
    function = FUNCTIONS[measure]
    m, h = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if group == "system":
        of = group_ids(systems)
        return system_agreement(measure, group_means(m, of), group_means(h, of))
    if group == "pooled":
        return function(m, h)
    groups = rows_by(group_ids(segments))
    if measure == "kendall":
        return averaged(_kendall_of(m, h, groups), len(m))
    return averaged([function(m[rows], h[rows]) for rows in groups], len(m))


def _kendall_of(metric: Floats, human: Floats, groups: Sequence[Ints]) -> list[Statistic]:
    """Return `kendall` of each group; those of one size are computed together."""
    metric, human = vectors(metric, human)
    found, by_size = dict[int, Statistic](), dict[int, list[int]]()
    for i, rows in enumerate(groups):
        by_size.setdefault(len(rows), []).append(i)
    for size, which in by_size.items():
        if size <= SMALL:
            at = np.array([groups[i] for i in which])
            taus = map(tau_b, pair_counts_of(metric[at], human[at]))
            found |= {i: Statistic(tau, "", size) for i, tau in zip(which, taus, strict=True) if tau is not None}
    return [found.get(i) or kendall(metric[rows], human[rows]) for i, rows in enumerate(groups)]


def system_agreement(measure: Measure, metric: npt.ArrayLike, human: npt.ArrayLike) -> Statistic:
    """Return the measure of systems' means, both of shape (n_systems,).

    acc_eq becomes pairwise accuracy (Kocmi et al. 2021). Like the other measures, it is undefined if all means of a side are
    equal.
    """
    m, h = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if measure == "acc_eq" and len(m) > 1 and (reason := all_equal(m, h)):
        return Statistic(None, reason, len(m))
    return FUNCTIONS[measure](m, h)


def all_equal(metric: Floats, human: Floats) -> str:
    """Return a reason if the scores of a side are all equal, else ""."""
    sides = (("metric", metric), ("human", human))
    return next((f"all {name} scores are equal" for name, values in sides if values.min() == values.max()), "")


def averaged(parts: Sequence[Statistic], n: int) -> Statistic:
    """Return the mean over the groups where the statistic is defined."""
    by_group = tuple(p.value for p in parts)
    values = [v for v in by_group if v is not None]
    missing = len(parts) - len(values)
    if not values:
        why = parts[0].reason if parts else "there are no outputs"
        return Statistic(None, f"undefined in every segment ({why})", n, 0, missing, by_group)
    return Statistic(float(np.mean(values)), "", n, len(values), missing, by_group)


def check_measure(measure: str, group: str) -> None:
    """Raise `UserError` for an unknown measure or grouping."""
    for what, name, there in (("measure", measure, MEASURES), ("grouping", group, GROUPS)):
        if name not in there:
            raise UserError(f"there is no such {what}", got=repr(name), expected=", ".join(there))


def group_ids(names: Sequence[Hashable]) -> Ints:
    """Return ids 0, 1, 2, … for the names, in order of first appearance."""
    ids = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.fromiter(map(ids.__getitem__, names), dtype=np.int64, count=len(names))


def rows_by(ids: Ints) -> list[Ints]:
    """Return the positions of each group, in the order of the groups."""
    order = np.argsort(ids, kind="stable")
    return list(np.split(order, np.cumsum(np.bincount(ids))[:-1])) if len(ids) else []
