"""Williams's test for two correlations with one variable in common (Williams 1959; Graham and Baldwin 2014): Pearson only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from core.stats.checks import vectors
from core.stats.correlation import pearson
from core.stats.significance import Alternative, Comparison

NO_VARIANCE = "the two metrics are the same up to their scale"
AT_LEAST = 4


class Williams(NamedTuple):
    """`t` with n − 3 degrees of freedom and its `p`; both None where undefined, with the reason."""

    t: float | None
    p: float | None
    reason: str = ""


def williams_t(r12: float, r13: float, r23: float, n: int, alternative: Alternative = "two-sided") -> Williams:
    """t = (r12−r13)√((n−1)(1+r23)) / √(2K(n−1)/(n−3) + ((r12+r13)/2)²(1−r23)³), K = 1−r12²−r13²−r23²+2·r12·r13·r23.

    1 is people, 2 and 3 are the metrics; positive when metric 2 correlates better. "greater" asks for that side only.
    Undefined below four outputs and where the metrics are the same.
    """
    if n < AT_LEAST:
        return Williams(None, None, f"at least four outputs are needed, there are {n}")
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    below = 2 * k * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    if below <= 1e-14:
        return Williams(None, None, NO_VARIANCE)
    t = (r12 - r13) * np.sqrt((n - 1) * max(0.0, 1 + r23)) / np.sqrt(below)
    p = student.sf(t, n - 3) if alternative == "greater" else 2 * student.sf(abs(t), n - 3)
    return Williams(float(t), float(p))


def williams(
    first: npt.ArrayLike, second: npt.ArrayLike, human: npt.ArrayLike, alternative: Alternative = "two-sided"
) -> Comparison:
    """Whether the first metric's Pearson correlation with people differs from the second's, over outputs or systems.

    It takes the outputs for independent, which several outputs of one segment are not.
    """
    x, y, h = vectors(first, second, human)
    with_people = pearson(x, h), pearson(y, h)
    between = pearson(x, y)
    for r in (*with_people, between):
        if r.value is None:
            return Comparison(None, None, r.reason, len(h))
    values = [float(r.value) for r in (*with_people, between) if r.value is not None]
    found = williams_t(values[0], values[1], values[2], len(h), alternative)
    return Comparison(values[0] - values[1], found.p, found.reason, len(h))
