"""The win share that a planned campaign of preferences detects, against simulated campaigns and against cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from core.stats.campaign.planned_preference import (
    KAPPA,
    TIES,
    mean_votes,
    planned_preference,
    planned_share,
    share_of,
    spread_of,
    threshold_of,
)
from core.stats.campaign.preferences import PreferenceVote, preference_strengths
from core.stats.correlation.pairs import Floats


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
