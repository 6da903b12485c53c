import numpy as np
import pytest

from core.stats.campaign.campaign_scores import CampaignScore, output_means, repeats_averaged, weighted_means


def test_raters_are_averaged_after_their_repeats() -> None:
    scores = [
        CampaignScore("A", 1, "x", 10),
        CampaignScore("A", 1, "x", 20),  # x: 15
        CampaignScore("A", 1, "y", 45),  # A on 1: (15 + 45)/2 = 30
        CampaignScore("B", 2, "x", 7),
    ]
    table = output_means(scores)
    assert table.systems == ("A", "B")
    assert np.array_equal(table.values, [[30, np.nan], [np.nan, 7]], equal_nan=True)
    assert table.n_scores == (3, 1)
    assert table.raters[0, 0] == {"x", "y"}
    assert [s.value for s in repeats_averaged(scores)] == [15, 45, 7]


def test_the_mean_is_weighted_by_the_design() -> None:
    # (1·10 + 4·20)/5 = 18
    scores = [CampaignScore("A", 1, "x", 10, 1), CampaignScore("A", 2, "x", 20, 4)]
    (mean,) = weighted_means(scores, seed=0)
    assert mean.mean.value == pytest.approx(18)
    assert (mean.mean.low, mean.mean.high) == pytest.approx((10, 20))


def test_the_interval_of_a_mean_covers_it() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for run in range(200):
        p = rng.uniform(0.2, 1, 60)
        drawn = np.flatnonzero(rng.random(60) < p)
        values = rng.normal(0, 1, 60)
        scores = [CampaignScore("A", int(i), "x", float(values[i]), float(1 / p[i])) for i in drawn]
        (mean,) = weighted_means(scores, seed=run, draws=200)
        covered += mean.mean.low <= 0 <= mean.mean.high
    assert 174 <= covered <= 198  # binomial(200, .93) within 3 standard deviations


def test_documents_are_resampled_whole() -> None:
    scores = [CampaignScore("A", (d, i), "x", 10.0 * d, 1, d) for d in range(8) for i in range(5)]
    by_item, by_document = (weighted_means(scores, seed=0, by=by)[0].mean for by in ("item", "document"))
    assert by_item.n == 40
    assert by_document.n == 8
    assert by_document.low < by_item.low


def test_one_item_has_a_mean_without_interval() -> None:
    (mean,) = weighted_means([CampaignScore("A", 1, "x", 3)], seed=0)
    assert mean.mean.value == 3
    assert mean.mean.low is None
    assert mean.mean.reason
    assert weighted_means([], seed=0) == []


def test_scores_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        output_means([CampaignScore("A", 1, "x", float("nan"))])
    for weight in (0.0, -1.0, float("inf")):
        with pytest.raises(ValueError, match="weights"):
            output_means([CampaignScore("A", 1, "x", 1, weight)])
    with pytest.raises(ValueError, match="two documents"):
        output_means([CampaignScore("A", 1, "x", 1, 1, "d"), CampaignScore("B", 1, "x", 1, 1, "e")])
    with pytest.raises(ValueError, match="no document"):
        weighted_means([CampaignScore("A", 1, "x", 1)], seed=0, by="document")
