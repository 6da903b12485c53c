"""Williams's test for two Pearson correlations with a common variable (Williams 1959; Graham and Baldwin 2014)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from core.stats.correlation.correlation import agreement
from core.stats.correlation.pairs import vectors
from core.stats.significance.system_comparison import Comparison

NO_VARIANCE = "the two metrics are equal up to scale"
AT_LEAST = 4


class Williams(NamedTuple):
    """`t` with n − 3 degrees of freedom and its `p`; both None, with a reason, if undefined."""

    t: float | None
    p: float | None
    reason: str = ""


def williams_t(r12: float, r13: float, r23: float, n: int) -> Williams:
    """Return t = (r12−r13)√((n−1)(1+r23)) / √(2K(n−1)/(n−3) + ((r12+r13)/2)²(1−r23)³), K = 1−r12²−r13²−r23²+2·r12·r13·r23.

    1 is the human score, 2 and 3 are the metrics; t > 0 if metric 2 correlates better. `p` is two-sided.
    Undefined below four outputs and if the metrics are equal up to scale.
    """
    if n < AT_LEAST:
        return Williams(None, None, f"at least four outputs are needed, there are {n}")
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    below = 2 * k * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    if below <= 1e-14:
        return Williams(None, None, NO_VARIANCE)
    t = (r12 - r13) * np.sqrt((n - 1) * max(0.0, 1 + r23)) / np.sqrt(below)
    return Williams(float(t), float(2 * student.sf(abs(t), n - 3)))


def williams(first: npt.ArrayLike, second: npt.ArrayLike, human: npt.ArrayLike) -> Comparison:
    """Test whether two metrics' Pearson correlations with human scores differ, over outputs or systems.

    The test assumes independent outputs, but outputs of the same segment are not independent.
    """
    x, y, h = vectors(first, second, human)
    of_first, of_second, between = (agreement("pearson", *pair) for pair in ((x, h), (y, h), (x, y)))
    if of_first.value is None or of_second.value is None or between.value is None:
        reason = of_first.reason or of_second.reason or between.reason
        return Comparison(None, None, reason, len(h))
    test = williams_t(of_first.value, of_second.value, between.value, len(h))
    return Comparison(of_first.value - of_second.value, test.p, test.reason, len(h))
