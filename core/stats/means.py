"""Means without rounding differences: equal means are exactly equal, in any order of addition.

Means enter rank statistics only through this module. Means of numbers that people wrote are exact (`decimal_mean`); means of
computed numbers are equal if they differ by rounding only (`equalized`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from core.stats.correlation.pairs import Floats, Ints

SLACK = 1e-12
"""Means closer than this share of their largest score are equal. Sums of n scores in different orders differ by at most about
n · 1e-16 of it, decimals such as 0.1 + 0.2 and 0.3 by 1e-16."""


def decimal_mean(values: Sequence[float]) -> float:
    """Return the mean of finite numbers as they are written in decimals, correctly rounded: 0, 0, 0.3 and 0, 0.1, 0.2 both give 0.1."""
    if all(map(float.is_integer, values)):
        return math.fsum(values) / len(values)
    return float(sum(Fraction(Decimal(repr(value))) for value in values) / len(values))


def equal_decimal_means(groups: Sequence[Sequence[float]]) -> list[float]:
    """Return the `decimal_mean` of each group, with means that differ by rounding only exactly equal.

    The numbers may be computed ones, such as z-scores or shares, which differ by rounding although they are equal.
    """
    means = np.array([decimal_mean(group) for group in groups], dtype=np.float64)
    largest = np.array([max(map(abs, group)) for group in groups], dtype=np.float64)
    return [float(mean) for mean in equalized(means, largest)]


def group_means(values: Floats, ids: Ints) -> Floats:
    """Return the mean of each group of `values`, both of shape (n,), with equal means exactly equal; shape (n_groups,)."""
    groups: list[list[float]] = [[] for _ in range(int(ids.max(initial=-1)) + 1)]
    for group, value in zip(ids.tolist(), values.tolist(), strict=True):
        groups[group].append(value)
    means = np.array([math.fsum(g) / len(g) if g else math.nan for g in groups], dtype=np.float64)
    return equalized(means, np.array([max(map(abs, g), default=0.0) for g in groups]))


def row_means(table: Floats) -> Floats:
    """Return the mean of each row, with equal means exactly equal; shape (n_rows,)."""
    means = np.array([math.fsum(row) / len(row) for row in table.tolist()], dtype=np.float64)
    return equalized(means, np.abs(table).max(axis=1, initial=0.0))


def equalized(means: Floats, largest: Floats) -> Floats:
    """Return `means`, shape (…, n_groups), with values along the last axis made equal if they differ by rounding only.

    `largest`, of the same shape, is the largest magnitude averaged in each group. Each run of such values gets its lowest
    value; other means do not change.
    """
    if means.shape[-1] < 2:
        return means
    order = np.argsort(means, axis=-1, kind="stable")
    ascending, size = np.take_along_axis(means, order, -1), np.take_along_axis(largest, order, -1)
    slack = SLACK * np.maximum(size[..., 1:], size[..., :-1])
    first = np.ones(means.shape, dtype=bool)
    first[..., 1:] = ~(np.diff(ascending, axis=-1) <= slack)
    start = np.maximum.accumulate(np.where(first, np.arange(means.shape[-1]), 0), axis=-1)
    equal_means = np.empty_like(means)
    np.put_along_axis(equal_means, order, np.take_along_axis(ascending, start, -1), -1)
    return equal_means
