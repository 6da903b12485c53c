"""Agreement between metric and human scores, over all outputs, averaged over segments, or over systems' means.

The statistics are those of `core.stats.correlation.kernel`. Undefined values (constant scores, fewer than two outputs) are
None, with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from core.errors import UserError
from core.stats.correlation.kernel import acc_eq, constant, kendall, pearson, spearman
from core.stats.correlation.pairs import SMALL, Floats, Ints, ratio, vectors
from core.stats.means import equalized, group_means

Measure = Literal["kendall", "acc_eq", "spearman", "pearson"]
Group = Literal["pooled", "segment", "system"]
MEASURES: tuple[Measure, ...] = ("kendall", "acc_eq", "spearman", "pearson")
GROUPS: tuple[Group, ...] = ("pooled", "segment", "system")
_FUNCTIONS = {"kendall": kendall, "acc_eq": acc_eq, "spearman": spearman, "pearson": pearson}

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


Many = Callable[[Floats], Floats]
"""Scores of shape (n_vectors, n_outputs) in, values of shape (n_vectors,) out."""


def agreement_values(
    measure: Measure, metric: npt.NDArray[Any], human: npt.NDArray[Any], weights: Floats | None = None
) -> Floats:
    """Return the measure of rows of scores, with shapes as in `core.stats.correlation.kernel`; acc_eq has exact ties (ε = 0).

    NaN below two outputs (a total weight of 2), and if one side is constant, except for acc_eq.
    """
    if metric.shape[-1] < 2:
        shape = np.broadcast_shapes(metric.shape, human.shape, metric.shape if weights is None else weights.shape)
        return np.full(shape[:-1], np.nan)
    values = _FUNCTIONS[measure](metric, human, weights)
    return values if weights is None else np.where(weights.sum(-1) >= 2, values, np.nan)


def agreement_by_group(
    measure: Measure,
    metric: npt.NDArray[Any],
    human: npt.NDArray[Any],
    groups: Sequence[Ints],
    weights: Floats | None = None,
) -> Floats:
    """Return the measure in each of the `groups` of rows, shape (n_groups,); the other arguments have the shape (n,).

    Without weights, groups of one size are computed together.
    """
    values, by_size = np.full(len(groups), np.nan), dict[int, list[int]]()
    if weights is not None or len(groups) == 1:
        for place, rows in enumerate(groups):
            of_rows = None if weights is None else weights[rows]
            values[place] = agreement_values(measure, metric[rows], human[rows], of_rows)
        return values
    for place, rows in enumerate(groups):
        by_size.setdefault(len(rows), []).append(place)
    for places in by_size.values():
        block = np.stack([groups[place] for place in places])
        values[places] = agreement_values(measure, metric[block], human[block])
    return values


def agreement_of_systems(measure: Measure, metric: Floats, human: Floats) -> Floats:
    """Return the measure of rows of system scores, shapes (…, n_systems), NaN if all scores of a side are equal.

    acc_eq is the pairwise accuracy (Kocmi et al. 2021).
    """
    values = agreement_values(measure, metric, human)
    return np.where(constant(metric) | constant(human), np.nan, values) if measure == "acc_eq" else values


def agreement(
    measure: Measure,
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
) -> Statistic:
    """Return the measure over all outputs, averaged over segments, or over systems' mean scores. acc_eq has exact ties (ε = 0)."""
    check_measure(measure, group)
    m, h = vectors(metric, human)
    if group == "system":
        of = group_ids(systems)
        return system_agreement(measure, group_means(m, of), group_means(h, of))
    if group == "pooled":
        return _described(float(agreement_values(measure, m, h)), m, h)
    groups = rows_by(group_ids(segments))
    values = agreement_by_group(measure, m, h, groups)
    if not len(groups) or not np.isnan(values).all():
        return averaged(values, len(m))
    first = _described(math.nan, m[groups[0]], h[groups[0]])
    return averaged(values, len(m), first.reason)


def system_agreement(measure: Measure, metric: npt.ArrayLike, human: npt.ArrayLike) -> Statistic:
    """Return the measure of systems' means, both of shape (n_systems,), undefined if all means of a side are equal.

    acc_eq becomes pairwise accuracy (Kocmi et al. 2021).
    """
    m, h = vectors(metric, human)
    return _described(float(agreement_of_systems(measure, m, h)), m, h)


def _described(value: float, metric: Floats, human: Floats) -> Statistic:
    """Return the value as a statistic, with a reason if it is NaN."""
    n = len(metric)
    if not math.isnan(value):
        return Statistic(value, "", n)
    if n < 2:
        return Statistic(None, f"at least two outputs are needed, there are {n}", n)
    return Statistic(None, all_equal(metric, human) or "the scores do not vary enough to be compared", n)


def all_equal(metric: Floats, human: Floats) -> str:
    """Return a reason if the scores of a side are all equal, else ""."""
    sides = (("metric", metric), ("human", human))
    return next((f"all {name} scores are equal" for name, values in sides if values.min() == values.max()), "")


def averaged(values: Floats, n: int, reason: str = "there are no outputs") -> Statistic:
    """Return the mean over the groups where the statistic is defined; if it is in none, `reason` says why in the first."""
    by_group = tuple(None if math.isnan(value) else value for value in values.tolist())
    defined = values[~np.isnan(values)]
    missing = len(values) - len(defined)
    if not len(defined):
        return Statistic(None, f"undefined in every segment ({reason})", n, 0, missing, by_group)
    return Statistic(float(np.mean(defined)), "", n, len(defined), missing, by_group)


def evaluator(
    measure: Measure,
    human: Floats,
    *,
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
) -> Many:
    """Return the function that computes the `agreement` of many score vectors with `human`, shape (n_outputs,), NaN where undefined."""
    check_measure(measure, group)
    if group == "system":
        ids = group_ids(systems)
        means = group_means(human, ids)
        return lambda scores: agreement_of_systems(measure, _means(scores, ids), means)
    blocks = blocks_by_size(segments if group == "segment" else (), len(human))

    def many(scores: Floats) -> Floats:
        total, defined = np.zeros(len(scores)), np.zeros(len(scores))
        for rows in blocks:
            values = agreement_values(measure, scores[:, rows], human[rows])
            total += np.nansum(values, axis=1)
            defined += np.count_nonzero(~np.isnan(values), axis=1)
        return ratio(total, defined)

    return many


def _means(scores: Floats, ids: Ints) -> Floats:
    order = np.argsort(ids, kind="stable")
    size = np.bincount(ids)
    ordered, starts = scores[:, order], np.cumsum(size) - size
    means: Floats = np.add.reduceat(ordered, starts, axis=1) / size
    return equalized(means, np.maximum.reduceat(np.abs(ordered), starts, axis=1))


def cells(measure: Measure, n: int, group: Group, segments: Sequence[Hashable] = ()) -> int:
    """Return how many numbers a score vector of n outputs needs: its pairs, if the measure is computed from pairs."""
    if measure in ("pearson", "spearman") or group == "system":
        return n
    blocks = blocks_by_size(segments if group == "segment" else (), n)
    through = [b for b in blocks if measure == "acc_eq" or b.shape[1] <= SMALL]
    pairs: int = sum(int(b.size) * (b.shape[1] - 1) // 2 for b in through)
    return max(n, pairs)


def check_measure(measure: str, group: str) -> None:
    """Raise `UserError` for an unknown measure or grouping."""
    for what, name, known in (("measure", measure, MEASURES), ("grouping", group, GROUPS)):
        if name not in known:
            raise UserError(f"there is no such {what}", got=repr(name), expected=", ".join(known))


def group_ids(names: Sequence[Hashable]) -> Ints:
    """Return ids 0, 1, 2, … for the names, in order of first appearance."""
    ids = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.fromiter(map(ids.__getitem__, names), dtype=np.int64, count=len(names))


def rows_by(ids: Ints) -> list[Ints]:
    """Return the positions of each group, in the order of the groups."""
    order = np.argsort(ids, kind="stable")
    return list(np.split(order, np.cumsum(np.bincount(ids))[:-1])) if len(ids) else []


def blocks_by_size(groups: Sequence[Hashable], n: int) -> list[Ints]:
    """Return the positions of each group's outputs, stacked by group size: arrays of shape (n_groups, size), size ≥ 2."""
    if not len(groups):
        return [np.arange(n).reshape(1, -1)] if n > 1 else []
    if len(groups) != n:
        raise ValueError(f"{len(groups)} groups for {n} outputs")
    by_size: dict[int, list[Ints]] = {}
    for rows in rows_by(group_ids(groups)):
        by_size.setdefault(len(rows), []).append(rows)
    return [np.stack(rows) for size, rows in by_size.items() if size > 1]
