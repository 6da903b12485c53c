"""The minimum detectable difference of a planned campaign."""

from __future__ import annotations

import math
from typing import NamedTuple

from core.stats.campaign.paired_differences import Drawn
from core.stats.campaign.variance_components import CampaignVariances
from core.stats.significance.power import noncentrality

ASSUMED = CampaignVariances(None, 100.0, 50.0, 100.0, 0, 0)
"""Variances on a scale of 0 to 100 where there is no pilot: standard deviations 10 (output), 7 (rater) and 10 (residual)."""


MQM_ASSUMED = CampaignVariances(3.4, 8.4, 2.5, 0.0, 7935, 9)
"""Variances of MQM scores (Google's weights) where there is no pilot: estimated by `variances_of_pilot` from WMT21's TED talks zh-en (Freitag
et al. 2021), 7,935 outputs of 15 systems with one of 9 raters each. Output and residual cannot be told apart there."""


class PlannedDifference(NamedTuple):
    """True differences of two systems, > 0, in the unit of the scores, that are detected with 80 % power.

    `one_pair`: by a test at `alpha`. `all_pairs`: by a test at `alpha`/(number of pairs), the strictest step of Holm's correction.
    `shared` is the expected number of items with scores of both, `sd` the standard deviation of an item's difference.
    """

    one_pair: float | None
    all_pairs: float | None
    shared: float
    sd: float
    reason: str = ""


def planned_detectable(
    n_items: int,
    n_systems: int,
    *,
    raters_per_output: int = 1,
    coverage: float = 1.0,
    drawn: Drawn = "together",
    same_raters: bool = False,
    variances: CampaignVariances = ASSUMED,
    alpha: float = 0.05,
) -> PlannedDifference:
    """Return the difference that `compare_campaign_systems` by item detects with 80 % power: ncp·√(V/m) (Bloom 1995).

    V = 2·(interaction + (rater + residual)/k) is the variance of an item's difference, with k `raters_per_output`; without
    the rater variance if `same_raters` score all systems of an item. m, the expected number of shared items, is
    n_items·coverage if the outputs of an item are drawn `together`, n_items·coverage² if drawn `apart`. ncp as in
    `minimum_detectable_difference`, with m − 1 degrees of freedom.

    Assumes independent items: no effect of document × system. Undefined if fewer than two shared items are expected, and if the
    variances are undefined.
    """
    if n_items < 1 or n_systems < 2 or raters_per_output < 1 or not 0 < coverage <= 1 or not 0 < alpha < 1:
        raise ValueError("needed: n_items ≥ 1, n_systems ≥ 2, raters_per_output ≥ 1, 0 < coverage ≤ 1, 0 < alpha < 1")
    shared = n_items * (coverage if drawn == "together" else coverage**2)
    interaction, rater, residual = variances.interaction, variances.rater, variances.residual
    if interaction is None or rater is None or residual is None:
        return PlannedDifference(None, None, shared, math.nan, variances.reason or "the variances are not known")
    scoring = residual + (0.0 if same_raters else rater)
    sd = math.sqrt(2 * (interaction + scoring / raters_per_output))
    if shared < 2:
        return PlannedDifference(None, None, shared, sd, "fewer than two items would have scores of both systems")
    error = sd / math.sqrt(shared)
    pairs = math.comb(n_systems, 2)
    return PlannedDifference(
        noncentrality(shared, alpha) * error, noncentrality(shared, alpha / pairs) * error, shared, sd
    )
