"""A share of yes among cases, and how sure it is."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from core.stats.bootstrap import Interval


def wilson(yes: int, n: int, level: float = 0.95) -> Interval:
    """The share yes/n in [0, 1] with Wilson's score interval (1927, p. 209), which has a width at 0 and 1 too.

    None, with the reason, where there are no cases.
    """
    if n == 0:
        return Interval(None, None, None, 0, "there are no cases")
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    share = yes / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half), n)
