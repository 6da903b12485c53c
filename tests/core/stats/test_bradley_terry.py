from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from core.stats.correlation.pairs import Floats
from core.stats.raters.rater_scale import bradley_terry, wins_of_rankings


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
    assert scores is not None
    against = np.array(scores) - scores[6]
    assert against[:6] == pytest.approx([1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839], abs=5e-4)


def test_two_have_the_odds_of_their_wins() -> None:
    scores = bradley_terry([[0, 6], [2, 0]]).scores
    assert scores == pytest.approx((np.log(3) / 2, -np.log(3) / 2))
    assert bradley_terry([[0, 4], [4, 0]]).scores == pytest.approx((0, 0))


@given(st.integers(2, 5), st.data())
def test_it_is_the_maximum_of_the_likelihood(n: int, data: st.DataObject) -> None:
    cells = data.draw(st.lists(st.integers(0, 6), min_size=n * n, max_size=n * n))
    wins = np.array(cells, dtype=float).reshape(n, n) / 2  # halves come from ties
    np.fill_diagonal(wins, 0)
    found = bradley_terry(wins)
    reach = np.linalg.matrix_power((wins > 0) + np.eye(n), n) > 0
    assert (found.scores is not None) == bool(reach.all())
    if found.scores is None:
        assert found.reason
        mutual = reach & reach.T
        for i, j in combinations(range(n), 2):
            assert (found.parts[i] == found.parts[j]) == bool(mutual[i, j])
        return
    assume(max(found.scores) - min(found.scores) < 8)
    assert found.scores == pytest.approx(fitted(wins), abs=1e-3)
    # at the maximum everybody has as many wins as expected
    expected = (wins + wins.T) / (1 + np.exp(-np.subtract.outer(found.scores, found.scores)))
    assert expected.sum(1) == pytest.approx(wins.sum(1), abs=1e-6)


def test_it_finds_the_strengths_that_made_the_wins() -> None:
    rng = np.random.default_rng(0)
    true = np.array([1.0, 0.3, 0.0, -0.4, -0.9])
    wins = np.zeros((5, 5))
    for i, j in combinations(range(5), 2):
        wins[i, j] = rng.binomial(4000, 1 / (1 + np.exp(true[j] - true[i])))
        wins[j, i] = 4000 - wins[i, j]
    assert bradley_terry(wins).scores == pytest.approx(true, abs=0.05)


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
