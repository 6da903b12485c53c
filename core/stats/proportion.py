"""A proportion with its confidence interval."""

from __future__ import annotations

from scipy.stats import binomtest

from core.stats.bootstrap import LEVEL, Interval


def wilson(yes: int, n: int) -> Interval:
    """Return the share yes/n in [0, 1] with Wilson's score interval (1927, p. 209), which is not degenerate at 0 and 1.

    All values are None, with a reason, if n is 0.
    """
    if n == 0:
        return Interval(None, None, None, 0, "there are no cases")
    interval = binomtest(yes, n).proportion_ci(LEVEL, method="wilson")
    return Interval(yes / n, float(interval.low), float(interval.high), n)
