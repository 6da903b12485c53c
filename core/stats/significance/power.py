"""The minimum detectable difference between two systems on given segments."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import nct
from scipy.stats import t as student

from core.stats.correlation.correlation import Statistic
from core.stats.correlation.pairs import vectors

POWER = 0.8


def minimum_detectable_difference(differences: npt.ArrayLike, *, alpha: float = 0.05) -> Statistic:
    """Return the true mean difference that a two-sided paired t-test at `alpha` detects with 80 % power (Bloom 1995).

    `differences` are the paired differences, shape (n_segments,); only their standard deviation s counts. The value is
    ncp·s/√n > 0, in the unit of the scores, with ncp the noncentrality at which the noncentral t distribution with n − 1
    degrees of freedom has that power; (1.960 + 0.842)·s/√n for large n. A
    smaller observed difference may be real, but the test had little power to detect it (Card et al. 2020).
    Undefined below two segments, and if all differences are equal.
    """
    (d,) = vectors(differences)
    if len(d) < 2:
        return Statistic(None, "at least two segments are needed", len(d))
    spread = float(d.std(ddof=1))
    if spread <= 1e-12 * float(np.abs(d).max()):
        return Statistic(None, "the two differ by the same on every segment", len(d))
    return Statistic(noncentrality(len(d), alpha) * spread / float(np.sqrt(len(d))), "", len(d))


@lru_cache(maxsize=4096)
def noncentrality(n: float, alpha: float) -> float:
    """Return the noncentrality at which a two-sided paired t-test of n > 1 differences at `alpha` has 80 % power."""
    critical = float(student.isf(alpha / 2, n - 1))

    def missing(ncp: float) -> float:
        # scipy's lower tail is NaN for some arguments where it is below 10⁻⁹, and adds nothing
        return float(nct.sf(critical, n - 1, ncp) + np.nan_to_num(nct.cdf(-critical, n - 1, ncp))) - POWER

    high = 1.0
    while missing(high) < 0:
        high *= 2
    return float(brentq(missing, 0.0, high, xtol=1e-10))
