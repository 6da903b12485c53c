"""Weights of rated units, and coverage."""

import numpy as np
import pytest

from core.campaigns.design import CampaignDesign
from core.campaigns.weights import inclusion_probabilities, inclusion_weights
from tests.bench.assignment import Setting, bias, simulated
from tests.core.campaigns.examples import outline, stored


@pytest.mark.parametrize("n", [0, 1, 5, 9, 10])
def test_probabilities_sum_to_the_number_drawn(n: int) -> None:
    for weights in (np.ones(10), np.geomspace(1, 50, 10)):
        found = inclusion_probabilities(weights, n)
        assert found.sum() == pytest.approx(n, abs=1e-9)
        assert (np.diff(found) >= 0).all()
        assert found.max(initial=0) <= 1


def test_equal_importance_gives_n_of_n() -> None:
    design = CampaignDesign(block_size=2)
    units = stored(outline(5, 2, 1), design)
    weights = inclusion_weights(units, [units[0].id, units[1].id, units[4].id], design)
    assert weights == {i: pytest.approx(5 / 2) for i in (units[0].id, units[1].id, units[4].id)}


def test_full_coverage_gives_weights_of_one() -> None:
    design = CampaignDesign(importance={"d0": 5.0})
    units = stored(outline(4, 1, 2), design)
    assert set(inclusion_weights(units, [u.id for u in units], design).values()) == {1.0}


def test_important_documents_weigh_less() -> None:
    design = CampaignDesign(importance={"d0": 4.0})
    units = stored(outline(10, 1, 1), design)
    weights = inclusion_weights(units, [units[0].id, units[1].id], design)
    assert weights[units[0].id] < 5 < weights[units[1].id]


def test_weights_are_of_each_system() -> None:
    design = CampaignDesign()
    units = stored(outline(4, 1, 2), design)
    of = {s: [u.id for u in units if u.systems == (s,)] for s in "AB"}
    weights = inclusion_weights(units, [*of["A"], of["B"][0]], design)
    assert [weights[i] for i in of["A"]] == [1.0] * 4
    assert weights[of["B"][0]] == pytest.approx(4.0)


def test_retired_blocks_count_only_if_rated() -> None:
    design = CampaignDesign()
    units = stored(outline(4, 1, 1), design)
    some = [units[0], units[1]._replace(retired=True), *units[2:]]
    assert inclusion_weights(some, [1], design)[1] == pytest.approx(3.0)
    assert inclusion_weights(some, [1, 2], design)[2] == pytest.approx(2.0)
    everything = [unit._replace(retired=True) for unit in units]
    assert inclusion_weights(everything, [1], design)[1] == pytest.approx(4.0)


def test_weighted_means_of_dynamic_campaigns_are_unbiased() -> None:
    found = simulated(Setting(documents=24), campaigns=150)
    unweighted, error = bias(found.plain)
    assert unweighted > 5 * error
    weighted, error = bias(found.weighted)
    assert abs(weighted) < 3 * error
