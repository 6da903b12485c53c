"""Standardise direct assessments: z-scores per rater (Graham et al. 2013; the WMT practice)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.checks import vectors
from core.stats.correlation.correlation import group_ids, rows_by
from core.stats.correlation.pairs import Floats, ratio


class Standardised(NamedTuple):
    """`z` of each score, shape (n,), NaN where undefined; `undefined` maps raters to the reason."""

    z: Floats
    undefined: dict[str, str]


class StandardisedMean(NamedTuple):
    """The mean score and mean z of a system over its `segments`; `z` is None if none of its scores has one."""

    system: Hashable
    score: float
    z: float | None
    segments: int


def standardised(raters: Sequence[str], scores: npt.ArrayLike) -> Standardised:
    """Return z = (score − the rater's mean)/(the rater's standard deviation, with n − 1), over all the rater's scores.

    Unbounded, with the direction of the scores; mean 0 and standard deviation 1 for each rater. Undefined for raters with one
    score or constant scores.
    """
    (values,) = vectors(scores)
    if len(raters) != len(values):
        raise ValueError(f"{len(raters)} raters for {len(values)} scores")
    z, undefined = np.full(len(values), np.nan), {}
    for rows in rows_by(group_ids(raters)):
        own, name = values[rows], raters[rows[0]]
        if len(own) < 2:
            undefined[name] = "gave only one score"
        elif own.min() == own.max():
            undefined[name] = "gave the same score to all outputs"
        else:
            z[rows] = (own - own.mean()) / own.std(ddof=1)
    return Standardised(z, undefined)


def system_means(
    systems: Sequence[Hashable], segments: Sequence[Hashable], scores: npt.ArrayLike, z: Floats
) -> list[StandardisedMean]:
    """Average scores within each segment of a system, then over its segments; return systems best first, by z, then score.

    Scores without a z count in the mean score but not in the mean z.
    """
    (values,) = vectors(scores)
    cell = group_ids(list(zip(systems, segments, strict=True)))
    first = [rows[0] for rows in rows_by(cell)]
    by_cell = np.bincount(cell, values) / np.bincount(cell)
    there = ~np.isnan(z)
    sums = np.bincount(cell[there], z[there], minlength=len(first))
    z_by_cell = ratio(sums, np.bincount(cell[there], minlength=len(first)))
    found = []
    for rows in rows_by(group_ids([systems[i] for i in first])):
        known = z_by_cell[rows][~np.isnan(z_by_cell[rows])]
        mean_z = float(known.mean()) if len(known) else None
        found.append(StandardisedMean(systems[first[rows[0]]], float(by_cell[rows].mean()), mean_z, len(rows)))
    return sorted(found, key=lambda s: (s.z is None, -(s.z or 0.0), -s.score))
