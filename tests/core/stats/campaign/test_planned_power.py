"""What a planned campaign can detect, beside simulated campaigns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from core.stats.campaign.campaign_scores import CampaignScore
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
from core.stats.campaign.preferences import PreferenceVote, preference_strengths
from core.stats.campaign.variance_components import NAMES, CampaignVariances, variances_of_pilot
from core.stats.correlation.pairs import Floats
from core.stats.significance.power import noncentrality
from tests.core.stats.campaign.simulated import Design, simulated

KNOWN = CampaignVariances(100.0, 49.0, 36.0, 64.0, 0, 0)


def test_the_formula_by_hand() -> None:
    # V = 2·(49 + (36 + 64)/2) = 198; 100 items at 80 %: √(198/80) = 1.5732…; large-sample factor 2.80
    planned = planned_detectable(100, 3, raters_per_output=2, coverage=0.8, variances=KNOWN)
    assert planned.sd == pytest.approx(np.sqrt(198))
    assert planned.shared == pytest.approx(80)
    assert planned.one_pair == pytest.approx(noncentrality(80, 0.05) * np.sqrt(198 / 80))
    assert planned.one_pair == pytest.approx(2.80 * np.sqrt(198 / 80), rel=0.02)
    assert planned.all_pairs == pytest.approx(noncentrality(80, 0.05 / 3) * np.sqrt(198 / 80))


def test_drawing_apart_shares_fewer_items() -> None:
    planned = planned_detectable(100, 2, coverage=0.5, drawn="apart", variances=KNOWN)
    assert planned.shared == 25
    assert planned.one_pair == planned.all_pairs


def test_more_of_anything_detects_smaller_differences() -> None:
    base = planned_detectable(100, 4, coverage=0.5, variances=KNOWN)
    better = [
        planned_detectable(200, 4, coverage=0.5, variances=KNOWN),
        planned_detectable(100, 4, coverage=1, variances=KNOWN),
        planned_detectable(100, 4, coverage=0.5, raters_per_output=3, variances=KNOWN),
        planned_detectable(100, 4, coverage=0.5, same_raters=True, variances=KNOWN),
    ]
    assert base.one_pair is not None
    assert base.all_pairs is not None
    assert base.one_pair < base.all_pairs
    assert all(b.one_pair is not None and b.one_pair < base.one_pair for b in better)


@pytest.mark.parametrize(
    ("design", "same"),
    [
        (Design(items=80, coverage=0.5, together=True, raters=40), False),
        (Design(items=90, coverage=0.7, raters=40), False),
        (Design(items=50, per_output=2, raters=40, assignment="item"), True),
    ],
)
def test_the_planned_difference_is_found_four_times_in_five(design: Design, same: bool) -> None:
    planned = planned_detectable(
        design.items,
        design.systems,
        raters_per_output=design.per_output,
        coverage=design.coverage,
        drawn="together" if design.together else "apart",
        same_raters=same,
        variances=KNOWN,
    )
    assert planned.one_pair is not None
    rng, runs, found = np.random.default_rng(0), 100, 0
    for run in range(runs):
        (pair,) = compare_campaign_systems(simulated(rng, design, planned.one_pair), seed=run, draws=199)
        found += pair.test.p is not None and pair.test.p <= 0.05
    assert binom.ppf(0.0005, runs, 0.79) <= found <= binom.ppf(0.9995, runs, 0.81)


def test_plans_that_compare_nothing_are_undefined() -> None:
    planned = planned_detectable(5, 2, coverage=0.3)
    assert planned.one_pair is None
    assert planned.reason
    unknown = planned_detectable(50, 2, variances=CampaignVariances(None, None, None, None, 0, 0, "why"))
    assert unknown.reason == "why"
    for arguments in ((0, 2), (5, 1)):
        with pytest.raises(ValueError, match="needed"):
            planned_detectable(*arguments)
    with pytest.raises(ValueError, match="needed"):
        planned_detectable(5, 2, coverage=1.5)


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
    found = variances_of_pilot(scores)
    centred = y - y.mean((1, 2), keepdims=True)
    between = centred.mean((0, 2)).var(ddof=1) * 8
    within = (centred - centred.mean((0, 2), keepdims=True)).var() * 480 / (480 - 60 - 1)
    assert found.item == pytest.approx((between - within) / 8, rel=0.02)
    assert found.residual == pytest.approx(within, rel=0.05)


def test_scaling_scores_scales_variances_by_its_square() -> None:
    scores = simulated(np.random.default_rng(0), Design(items=30, systems=3, per_output=2))
    plain = variances_of_pilot(scores)
    scaled = variances_of_pilot([s._replace(value=3 * s.value - 40) for s in reversed(scores)])
    assert scaled[:4] == pytest.approx([9 * v for v in plain[:4] if v is not None])


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


@pytest.mark.extended
@pytest.mark.parametrize(("items", "raters"), [(30, 1), (50, 2)])
def test_the_planned_share_is_found_four_times_in_five(items: int, raters: int) -> None:
    share = planned_share(items, raters)
    assert share is not None
    rng, runs, found = np.random.default_rng(1), 60, 0
    for run in range(runs):
        votes = drawn_votes(rng, share, items, raters)
        names = {1.0: "A", -1.0: "B", 0.0: None}
        given = [
            PreferenceVote("A", "B", names[float(v)], i, f"r{j}")
            for i, row in enumerate(votes)
            for j, v in enumerate(row)
        ]
        (rate,) = preference_strengths(given, seed=run, draws=100).rates
        found += rate.rate.low is not None and rate.rate.low > 0.5
    assert binom.ppf(0.001, runs, 0.75) <= found <= binom.ppf(0.999, runs, 0.85)


def test_the_power_is_close_to_80_percent() -> None:
    rng, runs, items = np.random.default_rng(2), 4000, 80
    share = planned_share(items, 2)
    assert share is not None
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
    assert base.one_pair is not None
    assert base.all_pairs is not None
    assert base.strength == pytest.approx(math.log(base.one_pair / (1 - base.one_pair)))
    assert base.one_pair < base.all_pairs
    assert (planned_share(120) or 1) < base.one_pair
    assert (planned_share(60, 3) or 1) < base.one_pair


def test_too_few_segments_have_a_reason() -> None:
    assert "fewer than 5 segments" in planned_preference(4, 2).reason
    assert planned_preference(5, 2, alpha=0.001).reason == "too few segments for any preference"
    with pytest.raises(ValueError, match="needed"):
        planned_preference(5, 1)
