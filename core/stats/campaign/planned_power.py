"""What a planned campaign can detect: the smallest difference of scores, and the smallest preference (found by simulation)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm
from scipy.stats import t as student

from core.stats.campaign.campaign_scores import CampaignVariances
from core.stats.correlation.pairs import Floats
from core.stats.significance.system_comparison import POWER, noncentrality

ALPHA = 0.05
TIES, KAPPA = 0.25, 1 / 3
"""Assumed for two systems of equal quality: the share of ties, and Cohen's κ of two raters of a pair on what is no tie."""
CAMPAIGNS = 4000
NODES = 61
HALVINGS = 8
FEWEST = 5
HIGHEST = 6.0
"""The largest latent preference that is tried, in standard deviations of a vote."""
ASSUMED = CampaignVariances(None, 100.0, 50.0, 100.0, 0, 0)
"""Variances on a scale of 0 to 100 where there is no pilot: standard deviations 10 (output), 7 (rater) and 10 (residual)."""


MQM_ASSUMED = CampaignVariances(3.4, 8.4, 2.5, 0.0, 7935, 9)
"""Variances of MQM scores (Google's weights) where there is no pilot: estimated by `variances_of_pilot` from WMT21's TED talks zh-en (Freitag
et al. 2021), 7,935 outputs of 15 systems with one of 9 raters each. Output and residual cannot be told apart there."""


class PlannedDifference(NamedTuple):
    """True differences of two systems, > 0, in the unit of the scores, that are detected with 80 % power.

    `one_pair`: by a test at .05. `all_pairs`: by a test at .05/(number of pairs), the strictest step of Holm's correction.
    `sd` is the standard deviation of an item's difference.
    """

    one_pair: float | None
    all_pairs: float | None
    sd: float
    reason: str = ""


def planned_detectable(
    n_items: int,
    n_systems: int,
    *,
    raters_per_output: int = 1,
    same_raters: bool = False,
    variances: CampaignVariances = ASSUMED,
) -> PlannedDifference:
    """Return the difference that `compare_campaign_systems` by item detects with 80 % power: ncp·√(V/n_items) (Bloom 1995).

    V = 2·(interaction + (rater + residual)/k) is the variance of an item's difference, with k `raters_per_output`; without
    the rater variance if `same_raters` score all systems of an item. `n_items` have scores of both systems. ncp as in
    `minimum_detectable_difference`, with n_items − 1 degrees of freedom.

    Assumes independent items: no effect of document × system. Undefined for fewer than two items, and if the variances are
    undefined.
    """
    if n_items < 1 or n_systems < 2 or raters_per_output < 1:
        raise ValueError("needed: n_items ≥ 1, n_systems ≥ 2, raters_per_output ≥ 1")
    interaction, rater, residual = variances.interaction, variances.rater, variances.residual
    if interaction is None or rater is None or residual is None:
        return PlannedDifference(None, None, math.nan, variances.reason or "the variances are not known")
    scoring = residual + (0.0 if same_raters else rater)
    sd = math.sqrt(2 * (interaction + scoring / raters_per_output))
    if n_items < 2:
        return PlannedDifference(None, None, sd, "fewer than two items would have scores of both systems")
    one, every = (noncentrality(n_items, ALPHA / n) * sd / math.sqrt(n_items) for n in (1, math.comb(n_systems, 2)))
    return PlannedDifference(one, every, sd)


class PlannedPreference(NamedTuple):
    """Smallest win shares > ½ (ties count half) of the better of two systems that are detected with 80 % power.

    `one_pair`: at .05. `all_pairs`: at .05/(number of pairs). `strength` is the difference of the Bradley–Terry strengths that
    `one_pair` stands for, in log odds.
    """

    one_pair: float | None
    all_pairs: float | None
    strength: float | None
    items: int
    reason: str = ""


def planned_preference(n_items: int, n_systems: int, *, raters_per_pair: int = 1) -> PlannedPreference:
    """Return the win share that a two-sided test of the mean preference per item detects with 80 % power.

    Each of the `n_items` has the votes of `raters_per_pair` on a pair. A vote is a win, tie or loss as a normal variable with mean μ, an
    effect of the item and noise of the rater lies above, between or below two thresholds; `TIES` and `KAPPA` set the thresholds and the
    variance of the effect. 4,000 campaigns are drawn for each μ, from the distribution of an item's votes, and μ is found by bisection. Other pairs of the same systems, which Bradley–Terry strengths use too, are left out: with many systems
    the true power is higher. Undefined for fewer than five items and if no preference reaches the power.
    """
    if n_items < 1 or n_systems < 2 or raters_per_pair < 1:
        raise ValueError("needed: n_items ≥ 1, n_systems ≥ 2, raters_per_pair ≥ 1")
    if n_items < FEWEST:
        return PlannedPreference(None, None, None, n_items, f"fewer than {FEWEST} segments have both outputs")
    one, every = (planned_share(n_items, raters_per_pair, alpha=ALPHA / n) for n in (1, math.comb(n_systems, 2)))
    if one is None:
        return PlannedPreference(None, None, None, n_items, "too few segments for any preference")
    return PlannedPreference(one, every, math.log(one / (1 - one)), n_items)


@lru_cache(maxsize=4096)
def planned_share(
    n_items: int, raters: int = 1, ties: float = TIES, kappa: float = KAPPA, alpha: float = ALPHA, seed: int = 0
) -> float | None:
    """Return the win share of `planned_preference` for one pair; None if no preference reaches the power."""

    def power(mean: float) -> float:
        return _power(n_items, mean_votes(mean, raters, ties, kappa), alpha, seed)

    low, high = 0.0, HIGHEST
    target_ratio = noncentrality(n_items, alpha) / math.sqrt(n_items)
    if _ratio(mean_votes(HIGHEST, raters, ties, kappa)) > target_ratio:  # a bracket from the normal approximation
        near = brentq(
            lambda mean: _ratio(mean_votes(mean, raters, ties, kappa)) - target_ratio, 0.0, HIGHEST, xtol=1e-6
        )
        low, high = 0.7 * near, min(HIGHEST, 1.5 * near)
    if power(high) < POWER:
        low, high = high, HIGHEST
        if power(high) < POWER:
            return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle) < POWER else (low, middle)
    return share_of((low + high) / 2, ties, kappa)


def _ratio(probabilities: Floats) -> float:
    """Return mean / standard deviation of an item's votes."""
    raters = (len(probabilities) - 1) // 2
    values = np.arange(-raters, raters + 1) / raters
    mean = float(probabilities @ values)
    return mean / math.sqrt(max(float(probabilities @ values**2) - mean**2, 1e-12))


def spread_of(kappa: float) -> float:
    """Return the standard deviation of the items' effect, for noise of standard deviation 1: κ = (2/π)·asin ρ."""
    rho = math.sin(math.pi * kappa / 2)
    return math.sqrt(rho / (1 - rho))


def threshold_of(ties: float, kappa: float) -> float:
    """Return the distance of both thresholds from 0: between them lie `ties` of the votes on two equal systems."""
    return float(math.hypot(1.0, spread_of(kappa)) * norm.ppf((1 + ties) / 2))


def share_of(mean: float, ties: float, kappa: float) -> float:
    """Return the win share, ties as ½, of a system with the latent preference `mean`."""
    cut, total = threshold_of(ties, kappa), math.hypot(1.0, spread_of(kappa))
    won, lost = norm.sf((cut - mean) / total), norm.cdf((-cut - mean) / total)
    return float(0.5 + (won - lost) / 2)


def mean_votes(mean: float, raters: int, ties: float, kappa: float) -> Floats:
    """Return the probabilities of the sum of an item's votes (1, 0, −1): −raters … raters, shape (2·raters + 1,)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    at, cut = mean + spread_of(kappa) * nodes, threshold_of(ties, kappa)
    won, lost = norm.sf(cut - at), norm.cdf(-cut - at)
    votes = np.stack([lost, np.clip(1 - won - lost, 0, 1), won], axis=1)
    sums = np.ones((NODES, 1))
    for _ in range(raters):
        wider = np.zeros((NODES, sums.shape[1] + 2))
        for step in range(3):
            wider[:, step : step + sums.shape[1]] += votes[:, step : step + 1] * sums
        sums = wider
    probabilities = (weights / weights.sum()) @ sums
    return np.asarray(probabilities / probabilities.sum())


def _power(n_items: int, probabilities: Floats, alpha: float, seed: int) -> float:
    """Return the share of drawn campaigns in which a t-test of the items' votes finds the better system."""
    counts = np.random.default_rng(seed).multinomial(n_items, probabilities, size=CAMPAIGNS)
    raters = (len(probabilities) - 1) // 2
    values = np.arange(-raters, raters + 1) / raters
    mean = counts @ values / n_items
    variance = (counts @ values**2 - n_items * mean**2) / (n_items - 1)
    critical = float(student.isf(alpha / 2, n_items - 1))
    significant = mean > critical * np.sqrt(np.maximum(variance, 0.0) / n_items)
    alike = variance <= 1e-12  # all items agree: the sign test decides
    return float(np.mean((mean > 0) & np.where(alike, 2 * 0.5**n_items <= alpha, significant)))
