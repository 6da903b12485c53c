from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from core.stats.campaign.campaign_scores import CampaignScore
from core.stats.campaign.paired_differences import compare_campaign_systems
from core.stats.significance.system_comparison import minimum_detectable_difference
from tests.bench.type_one import ours
from tests.core.stats.campaign.simulated import Design, simulated


def two(differences: list[float], weights: list[float] | None = None) -> list[CampaignScore]:
    found = []
    for i, d in enumerate(differences):
        w = weights[i] if weights else 1.0
        found += [CampaignScore("A", i, f"r{i % 2}", 50 + d, w), CampaignScore("B", i, f"r{i % 2}", 50, w)]
    return found


def test_the_difference_is_weighted_and_unshared_items_count() -> None:
    # shared items 0 and 1: differences 4 and −1, weights 1 and 3: (4 − 3)/4 = 0.25
    scores = [*two([4, -1], [1, 3]), CampaignScore("A", 7, "x", 90), CampaignScore("C", 8, "y", 10)]
    pairs = {(p.first, p.second): p for p in compare_campaign_systems(scores, seed=0, draws=199)}
    ab, ac = pairs["A", "B"], pairs["A", "C"]
    assert ab.test.difference == pytest.approx(0.25)
    assert (ab.shared, ac.shared) == (2, 0)
    assert ac.test.p is ac.adjusted is ac.test.difference is ac.detectable is None
    assert ac.test.reason
    assert ac.detectable_reason


def test_different_weights_have_their_geometric_mean() -> None:
    # differences 4 and −1, weights √(2·8) = 4 and 1
    weights = [("A", 0, 4, 2), ("B", 0, 0, 8), ("A", 1, 0, 1), ("B", 1, 1, 1)]
    scores = [CampaignScore(system, item, "x", value, weight) for system, item, value, weight in weights]
    assert compare_campaign_systems(scores, seed=0, draws=99)[0].test.difference == pytest.approx((16 - 1) / 5)


def test_p_is_the_share_of_all_sign_changes() -> None:
    differences, weights = [3.0, -1.0, 4.0, 1.5, 2.0, 6.0, -0.5, 2.5], [1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0]
    weighted = np.array(differences) * weights
    all_sums = [abs(np.dot(signs, weighted)) for signs in product((-1, 1), repeat=8)]
    exact = np.mean(np.array(all_sums) >= abs(weighted.sum()) - 1e-9)
    (pair,) = compare_campaign_systems(two(differences, weights), seed=0)
    assert pair.test.p == pytest.approx(exact)
    assert pair.test.draws == 256


def test_the_interval_is_the_inverted_test() -> None:
    rng = np.random.default_rng(5)
    for n in (7, 12, 40):
        differences, weights = rng.normal(1, 2, n), rng.uniform(1, 4, n)
        (pair,) = compare_campaign_systems(two(differences.tolist(), weights.tolist()), seed=2, draws=999)
        low, high = pair.interval.low, pair.interval.high
        for delta, rejected in ((low - 1e-6, True), (low + 1e-6, False), (high - 1e-6, False), (high + 1e-6, True)):
            (moved,) = compare_campaign_systems(
                two((differences - delta).tolist(), weights.tolist()), seed=2, draws=999
            )
            assert (moved.test.p <= 0.05) == rejected


def test_the_detectable_difference_is_that_of_the_paired_test() -> None:
    differences = np.random.default_rng(0).normal(0, 3, 30)
    (pair,) = compare_campaign_systems(two(differences.tolist()), seed=0, draws=99)
    assert pair.detectable == pytest.approx(minimum_detectable_difference(differences).value)
    # equal weights of any size change nothing
    (heavy,) = compare_campaign_systems(two(differences.tolist(), [7.0] * 30), seed=0, draws=99)
    assert heavy.detectable == pytest.approx(pair.detectable)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(-20, 20), min_size=2, max_size=12),
    st.data(),
    st.floats(0.1, 50),
    st.floats(-30, 30),
)
def test_swapping_scaling_and_shifting(values: list[int], data: st.DataObject, scale: float, shift: float) -> None:
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values)))
    scores = two([float(v) for v in values], [float(w) for w in weights])
    (pair,) = compare_campaign_systems(scores, seed=0, draws=199)
    order = {"A": 1, "B": 0}
    (swapped,) = compare_campaign_systems(sorted(scores, key=lambda s: (s.item, order[s.system])), seed=0, draws=199)
    (moved,) = compare_campaign_systems(
        [s._replace(value=s.value * scale + shift, weight=s.weight * scale) for s in scores], seed=0, draws=199
    )
    assert swapped.test.difference == pytest.approx(-pair.test.difference, abs=1e-9)
    assert moved.test.difference == pytest.approx(scale * pair.test.difference, abs=1e-6)
    assert pair.test.p == swapped.test.p == moved.test.p
    if pair.interval.low is not None:
        assert swapped.interval.high == pytest.approx(-pair.interval.low, abs=1e-9)


def test_holm_is_over_all_pairs() -> None:
    scores = simulated(np.random.default_rng(0), Design(items=60, systems=4), gain=4)
    pairs = compare_campaign_systems(scores, seed=0, draws=999)
    ps = sorted(p.test.p for p in pairs if p.test.p is not None)
    adjusted = sorted(p.adjusted for p in pairs if p.adjusted is not None)
    assert len(ps) == 6
    assert adjusted[0] == pytest.approx(min(1, 6 * ps[0]))


def test_raters_of_one_system_only_are_a_caution() -> None:
    scores = [CampaignScore(s, i, f"only {s}", 50.0 + i) for s in "AB" for i in range(8)]
    (pair,) = compare_campaign_systems(scores, seed=0, draws=99)
    assert "no rater" in pair.caution
    assert not compare_campaign_systems(two([1, 2, 3]), seed=0, draws=99)[0].caution


def test_few_items_have_no_interval_and_say_why() -> None:
    (pair,) = compare_campaign_systems(two([1, 2, 3, 4, 5]), seed=0, draws=999)
    assert pair.test.p == 2 / 32
    assert pair.interval.low is None
    assert "six" in pair.interval.reason
    (alone,) = compare_campaign_systems(two([1]), seed=0, draws=99)
    assert alone.test.difference == 1
    assert alone.test.p is None
    assert compare_campaign_systems([], seed=0) == []


def test_documents_are_swapped_whole() -> None:
    scores = [s._replace(document=int(str(s.item)) // 4) for s in two([float(i // 4 + 1) for i in range(24)])]
    (pair,) = compare_campaign_systems(scores, seed=0, by="document", draws=9999)
    assert pair.test.n == 6
    assert pair.shared == 24
    assert pair.test.p == 2 / 64


@pytest.mark.parametrize(("coverage", "items"), [(0.3, 180), (0.5, 80), (1.0, 30)])
def test_the_type_one_error_is_five_per_cent(coverage: float, items: int) -> None:
    rng, runs = np.random.default_rng(7), 120
    design = Design(items=items, coverage=coverage)
    count = sum(ours(simulated(rng, design), run, "item", draws=199) for run in range(runs))
    assert binom.ppf(0.0005, runs, 0.05) <= count <= binom.ppf(0.9995, runs, 0.05)
