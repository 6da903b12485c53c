"""What a planned campaign can detect, beside simulated campaigns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from core.stats.campaign.campaign_scores import NAMES, CampaignScore, CampaignVariances, variances_of_pilot
from core.stats.campaign.paired_differences import compare_campaign_systems
from core.stats.campaign.planned_power import (
    KAPPA,
    MQM_ASSUMED,
    TIES,
    mean_votes,
    planned_detectable,
    planned_preference,
    planned_share,
    share_of,
    spread_of,
    threshold_of,
)
from core.stats.correlation.pairs import Floats
from core.stats.significance.system_comparison import noncentrality
from tests.core.stats.campaign.simulated import Design, simulated

KNOWN = CampaignVariances(100.0, 49.0, 36.0, 64.0, 0, 0)


def test_the_formula_by_hand() -> None:
    # V = 2·(49 + (36 + 64)/2) = 198; 80 items: √(198/80) = 1.5732…; large-sample factor 2.80
    planned = planned_detectable(80, 3, raters_per_output=2, variances=KNOWN)
    assert planned.sd == pytest.approx(np.sqrt(198))
    assert planned.one_pair == pytest.approx(noncentrality(80, 0.05) * np.sqrt(198 / 80))
    assert planned.one_pair == pytest.approx(2.80 * np.sqrt(198 / 80), rel=0.02)
    assert planned.all_pairs == pytest.approx(noncentrality(80, 0.05 / 3) * np.sqrt(198 / 80))
    # V = 2·(49 + 64)
    assert planned_detectable(80, 2, same_raters=True, variances=KNOWN).sd == pytest.approx(np.sqrt(226))


@pytest.mark.parametrize(
    ("design", "shared"),
    [
        (Design(items=80, coverage=0.5, together=True, raters=40), 40),
        (Design(items=90, coverage=0.7, raters=40), 44),
        (Design(items=50, per_output=2, raters=40, assignment="item"), 50),
    ],
)
def test_the_planned_difference_is_found_four_times_in_five(design: Design, shared: int) -> None:
    same = design.assignment == "item"
    planned = planned_detectable(shared, 2, raters_per_output=design.per_output, same_raters=same, variances=KNOWN)
    rng, runs, found = np.random.default_rng(0), 100, 0
    for run in range(runs):
        (pair,) = compare_campaign_systems(simulated(rng, design, planned.one_pair), seed=run, draws=199)
        found += pair.test.p is not None and pair.test.p <= 0.05
    assert binom.ppf(0.0005, runs, 0.79) <= found <= binom.ppf(0.9995, runs, 0.81)


def test_plans_that_compare_nothing_are_undefined() -> None:
    assert planned_detectable(1, 2)[:2] == (None, None)
    assert planned_detectable(1, 2).reason == "fewer than two items would have scores of both systems"
    unknown = planned_detectable(50, 2, variances=CampaignVariances(None, None, None, None, 0, 0, "why"))
    assert unknown.reason == "why"


@pytest.mark.parametrize("coverage", [0.4, 1.0])
def test_the_variances_of_simulated_pilots_are_found(coverage: float) -> None:
    rng = np.random.default_rng(0)
    design = Design(items=60, systems=4, per_output=2, coverage=coverage, document_sd=0)
    found = [variances_of_pilot(simulated(rng, design)) for _ in range(60)]
    for name, true in zip(NAMES, (100, 49, 36, 64), strict=True):
        values = np.array([getattr(f, name) for f in found])
        assert abs(values.mean() - true) < 4 * values.std() / np.sqrt(60) + 1


def test_without_second_raters_the_residual_stays_in_the_outputs() -> None:
    rng = np.random.default_rng(1)
    found = [variances_of_pilot(simulated(rng, Design(items=80, systems=4, document_sd=0))) for _ in range(30)]
    assert all("no output was scored by two raters" in f.note and f.residual == 0 for f in found)
    assert np.mean([f.interaction for f in found if f.interaction is not None]) == pytest.approx(49 + 64, rel=0.06)
    assert np.mean([f.rater for f in found if f.rater is not None]) == pytest.approx(36, rel=0.25)


def test_balanced_pilots_agree_with_analysis_of_variance() -> None:
    # no rater and no system × item effect in the data: 4 raters × 60 items, two systems with the same true scores
    rng = np.random.default_rng(2)
    item = rng.normal(0, 5, 60)
    y = item[None, :, None] + rng.normal(0, 2, (2, 60, 4))
    scores = [
        CampaignScore(f"S{s}", i, f"r{r}", float(y[s, i, r])) for s in range(2) for i in range(60) for r in range(4)
    ]
    variances = variances_of_pilot(scores)
    centred = y - y.mean((1, 2), keepdims=True)
    between = centred.mean((0, 2)).var(ddof=1) * 8
    within = (centred - centred.mean((0, 2), keepdims=True)).var() * 480 / (480 - 60 - 1)
    assert variances.item == pytest.approx((between - within) / 8, rel=0.02)
    assert variances.residual == pytest.approx(within, rel=0.05)


def test_pilots_without_overlap_are_undefined() -> None:
    alone = variances_of_pilot([CampaignScore("A", i, "x", float(i)) for i in range(5)])
    assert alone.reason == "at least two raters are needed, there are 1"
    nested = [CampaignScore(s, i, f"{s}{i}", float(i)) for s in "AB" for i in range(5)]
    assert "overlap too little" in variances_of_pilot(nested).reason
    constant = [CampaignScore(s, i, r, 5.0) for s in "AB" for i in range(5) for r in "xy"]
    assert "equal" in variances_of_pilot(constant).reason
    assert variances_of_pilot([]).reason


@pytest.mark.parametrize(("items", "raters"), [(80, 1), (60, 2)])
def test_the_planned_difference_of_mqm_is_found_in_skewed_penalties(items: int, raters: int) -> None:
    planned = planned_detectable(items, 2, raters_per_output=raters, variances=MQM_ASSUMED).one_pair
    assert planned is not None
    rng, runs, found = np.random.default_rng(0), 100, 0
    quality, severity = MQM_ASSUMED.interaction or 0.0, MQM_ASSUMED.rater or 0.0
    for run in range(runs):
        penalty = rng.gamma(1.0, np.sqrt(quality), (2, items))  # many small ones and few large ones
        penalty[1] += planned
        effect = rng.normal(0, np.sqrt(severity), 400)
        first = rng.integers(0, 400, (2, items)).tolist()
        scores = [
            CampaignScore("AB"[s], i, f"r{r % 400}", -penalty[s, i] + effect[r % 400])
            for s in range(2) for i in range(items) for r in range(first[s][i], first[s][i] + raters)
        ]  # fmt: skip
        (pair,) = compare_campaign_systems(scores, seed=run, draws=199)
        found += pair.test.p is not None and pair.test.p <= 0.05
    assert binom.ppf(0.001, runs, 0.75) <= found <= binom.ppf(0.999, runs, 0.85)


def drawn_votes(rng: np.random.Generator, share: float, items: int, raters: int) -> Floats:
    """Return votes 1, 0 and −1 of shape (items, raters) for a system with this win share."""
    latent = brentq(lambda mean: share_of(mean, TIES, KAPPA) - share, -5, 5)
    values = latent + rng.normal(0, spread_of(KAPPA), (items, 1)) + rng.normal(0, 1, (items, raters))
    cut = threshold_of(TIES, KAPPA)
    return np.asarray((values > cut).astype(float) - (values < -cut))


def test_the_power_is_close_to_80_percent() -> None:
    rng, runs, items = np.random.default_rng(2), 4000, 80
    share = planned_share(items, 2)
    means = drawn_votes(rng, share, runs * items, 2).mean(1).reshape(runs, items)
    error = means.std(1, ddof=1) / math.sqrt(items)
    found = float(np.mean(means.mean(1) / error > 1.990))  # Student's t with 79 degrees of freedom, two-sided .05
    assert found == pytest.approx(0.8, abs=0.025)


def test_without_ties_and_with_independent_raters_it_is_the_binomial_one() -> None:
    """For proportions: power .8 at n = 100 and p = .64 (Cohen 1988, h ≈ .28)."""
    share = planned_share(100, 1, ties=0.0, kappa=0.0)
    assert share == pytest.approx(0.5 + 2.80 * 0.5 / 10 * 0.98, abs=0.01)


def test_ties_and_agreement_are_those_that_were_asked_for() -> None:
    rng = np.random.default_rng(3)
    votes = drawn_votes(rng, 0.5, 200_000, 2)
    assert (votes == 0).mean() == pytest.approx(TIES, abs=0.005)
    values = rng.normal(0, spread_of(KAPPA), (200_000, 1)) + rng.normal(0, 1, (200_000, 2))
    agreed = float(np.mean((values[:, 0] > 0) == (values[:, 1] > 0)))
    assert 2 * agreed - 1 == pytest.approx(KAPPA, abs=0.01)


def test_the_sums_of_votes_have_the_distribution_of_drawn_ones() -> None:
    assert mean_votes(0.0, 1, 0.2, 0.0) == pytest.approx([0.4, 0.2, 0.4])
    won, lost = norm.sf(0.3), norm.cdf(-1.1)
    cut = 0.7
    found = mean_votes(0.4, 1, float(2 * norm.cdf(cut) - 1), 0.0)
    assert found == pytest.approx([lost, 1 - won - lost, won], abs=1e-9)
    sums = drawn_votes(np.random.default_rng(4), share_of(0.4, TIES, KAPPA), 200_000, 3).sum(1)
    drawn = [float(np.mean(sums == s)) for s in range(-3, 4)]
    assert mean_votes(0.4, 3, TIES, KAPPA) == pytest.approx(drawn, abs=0.005)


def test_more_segments_and_raters_detect_less_and_more_pairs_need_more() -> None:
    base = planned_preference(60, 3)
    assert base.strength == pytest.approx(math.log(base.one_pair / (1 - base.one_pair)))
    assert base.one_pair < base.all_pairs
    assert (planned_share(120) or 1) < base.one_pair
    assert (planned_share(60, 3) or 1) < base.one_pair


def test_too_few_segments_have_a_reason() -> None:
    assert "fewer than 5 segments" in planned_preference(4, 2).reason
    assert planned_preference(5, 2).reason == "too few segments for any preference"
