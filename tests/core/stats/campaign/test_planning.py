import numpy as np
import pytest
from scipy.stats import binom

from core.stats.campaign.campaign_scores import CampaignScore
from core.stats.campaign.paired_differences import compare_campaign_systems
from core.stats.campaign.planned_difference import MQM_ASSUMED, planned_detectable
from core.stats.campaign.variance_components import NAMES, CampaignVariances, variances_of_pilot
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
