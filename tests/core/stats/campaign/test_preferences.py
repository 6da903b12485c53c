from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from core.stats.campaign.preferences import PreferenceVote, bradley_terry, preference_strengths, wins_of_rankings
from core.stats.correlation.pairs import Floats


def test_two_systems_have_the_odds_of_their_votes() -> None:
    # A wins 5, B 1, two ties: 6 against 2 wins, strengths ±log(3)/2, rate .75
    winners = ["A"] * 5 + ["B"] + [None] * 2
    result = preference_strengths([PreferenceVote("A", "B", w, i, "x") for i, w in enumerate(winners)], seed=0)
    assert [s.strength.value for s in result.strengths] == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    (rate,) = result.rates
    assert (rate.wins, rate.losses, rate.ties, rate.rate.value, rate.rate.n) == (5, 1, 2, 0.75, 8)
    assert [s.votes for s in result.strengths] == [8, 8]


def test_the_undefined_share_is_that_of_one_sided_resamples() -> None:
    # 1 loss in 6 votes is absent from a share (5/6)⁶ = .335 of the resamples; without loss the strength is unbounded
    cast = [PreferenceVote("A", "B", "A" if i else "B", i, "x") for i in range(6)]
    result = preference_strengths(cast, seed=0, draws=400)
    assert result.undefined == pytest.approx((5 / 6) ** 6 + (1 / 6) ** 6, abs=4 * np.sqrt(0.335 * 0.665 / 400))
    assert result.strengths[0].strength.value == pytest.approx(np.log(5) / 2)
    assert result.strengths[0].strength.low is None
    assert "undefined in" in result.strengths[0].strength.reason
    assert result.rates[0].rate.low is not None


def test_votes_on_one_item_are_not_independent() -> None:
    rng = np.random.default_rng(0)
    winners = rng.random(40) < 0.5
    copies = [PreferenceVote("A", "B", "A" if w else "B", i, f"r{k}") for i, w in enumerate(winners) for k in range(9)]
    wide, narrow = (
        preference_strengths(cast, seed=0).rates[0].rate
        for cast in (copies, [v._replace(item=(v.item, v.rater)) for v in copies])
    )
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_a_system_that_never_lost_is_undefined() -> None:
    cast = [PreferenceVote("A", "B", "A", i, "x") for i in range(4)]
    result = preference_strengths(cast, seed=0, draws=50)
    assert result.undefined == 1
    assert result.strengths[0].strength.value is None
    assert "never lost" in result.strengths[0].strength.reason
    assert result.rates[0].rate.value == 1


def test_one_item_has_no_interval_and_no_votes_no_systems() -> None:
    cast = [PreferenceVote("A", "B", w, 1, r) for w, r in (("A", "x"), ("B", "y"))]
    result = preference_strengths(cast, seed=0)
    assert result.strengths[0].strength.value == 0
    assert result.strengths[0].strength.reason == result.rates[0].rate.reason == "an interval needs at least two items"
    assert preference_strengths([], seed=0) == ((), (), 0.0)


def test_impossible_votes_are_refused() -> None:
    with pytest.raises(ValueError, match="itself"):
        preference_strengths([PreferenceVote("A", "A", None, 1, "x")], seed=0)
    with pytest.raises(ValueError, match="winner"):
        preference_strengths([PreferenceVote("A", "B", "C", 1, "x")], seed=0)


def fitted(wins: Floats) -> Floats:
    """The maximum of the log-likelihood Σ w_ij·log P(i beats j), found by a general optimiser."""

    def loss(scores: Floats) -> float:
        gap = np.subtract.outer(scores, scores)
        return float((wins * np.logaddexp(0, -gap)).sum())

    found = minimize(loss, np.zeros(len(wins)), method="BFGS", options={"gtol": 1e-9}).x
    centred: Floats = found - found.mean()
    return centred


def test_the_american_league_of_1987() -> None:
    # the baseball example of Agresti, Categorical Data Analysis (1990), rows won against columns; log abilities against
    # Baltimore as fitted there, and by the R package BradleyTerry2 without home advantage (Turner and Firth 2012)
    wins = [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ]  # Milwaukee, Detroit, Toronto, New York, Boston, Cleveland, Baltimore
    scores = bradley_terry(wins).scores
    against = np.array(scores) - scores[6]
    assert against[:6] == pytest.approx([1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839], abs=5e-4)


@given(st.integers(2, 5), st.data())
def test_it_is_the_maximum_of_the_likelihood(n: int, data: st.DataObject) -> None:
    cells = data.draw(st.lists(st.integers(0, 6), min_size=n * n, max_size=n * n))
    wins = np.array(cells, dtype=float).reshape(n, n) / 2  # halves come from ties
    np.fill_diagonal(wins, 0)
    strengths = bradley_terry(wins)
    reach = np.linalg.matrix_power((wins > 0) + np.eye(n), n) > 0
    assert (strengths.scores is not None) == bool(reach.all())
    if strengths.scores is None:
        assert strengths.reason
        mutual = reach & reach.T
        for i, j in combinations(range(n), 2):
            assert (strengths.parts[i] == strengths.parts[j]) == bool(mutual[i, j])
        return
    assume(max(strengths.scores) - min(strengths.scores) < 8)
    assert strengths.scores == pytest.approx(fitted(wins), abs=1e-3)
    # at the maximum everybody has as many wins as expected
    expected = (wins + wins.T) / (1 + np.exp(-np.subtract.outer(strengths.scores, strengths.scores)))
    assert expected.sum(1) == pytest.approx(wins.sum(1), abs=1e-6)


def test_a_lead_without_bound_is_undefined_and_says_why() -> None:
    never_lost = bradley_terry([[0, 3, 2], [0, 0, 1], [0, 4, 0]])
    assert never_lost.scores is None
    assert "unbounded" in never_lost.reason
    assert never_lost.parts[1] == never_lost.parts[2] != never_lost.parts[0]
    apart = bradley_terry([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 1, 0]])
    assert apart.scores is None
    assert "never compared" in apart.reason
    assert bradley_terry([[0]]).reason == "at least two systems are needed, there are 1"
    assert bradley_terry(np.zeros((0, 0))).scores is None


def test_rankings_are_pairs_and_a_tie_is_half_a_win_each() -> None:
    rankings = [{"A": 1, "B": 2, "C": 2}, {"B": 1, "A": 3}, {"C": 5}, {}]
    wins = wins_of_rankings(rankings, ["A", "B", "C"])
    assert wins.tolist() == [[0, 1, 1], [1, 0, 0.5], [0, 0.5, 0]]


def test_what_is_no_table_of_wins_is_refused() -> None:
    for cell, corner in ((-1.0, 0.0), (float("nan"), 0.0), (1.0, 1.0)):
        with pytest.raises(ValueError, match="on the diagonal"):
            bradley_terry([[corner, cell], [1.0, 0.0]])
    with pytest.raises(ValueError, match="square"):
        bradley_terry([[0, 1, 2], [1, 0, 2]])
