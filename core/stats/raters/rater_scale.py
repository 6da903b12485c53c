"""Standardise direct assessments: z-scores per rater (Graham et al. 2013; the WMT practice)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from core.stats.correlation.correlation import group_ids, rows_by
from core.stats.correlation.pairs import Floats, vectors


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
