"""Holm's correction, and ranks of systems after tests between all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.significance.system_comparison import Wins, holm, rank_ranges, wins_of


def rejected(p_values: list[float], alpha: float) -> set[int]:
    """Holm's procedure as he states it: from the smallest p on, stop at the first above alpha over those left."""
    out: set[int] = set()
    for i in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        if p_values[i] > alpha / (len(p_values) - len(out)):
            break
        out.add(i)
    return out


def test_holm_with_the_arithmetic_written_out() -> None:
    # .01·4 = .04, .02·3 = .06, .03·2 = .06, .04·1 = .04, not below the one before
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.6]) == pytest.approx([1, 1])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(0, 199))
def test_holm_rejects_what_the_procedure_rejects(places: list[int], alpha: int) -> None:
    p_values, level = [p / 40 for p in places], (alpha + 0.5) / 200
    found = holm(p_values)
    assert {i for i, p in enumerate(found) if p is not None and p <= level} == rejected(p_values, level)


def test_undefined_tests_stay_undefined_and_cost_nothing() -> None:
    assert holm([None, 0.01, None, 0.02]) == [None, pytest.approx(0.02), None, pytest.approx(0.02)]


def test_what_is_no_probability_is_refused() -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="must lie in"):
            holm([0.1, wrong])


def table(n: int, *pairs: tuple[int, int]) -> Wins:
    wins = np.zeros((n, n), dtype=bool)
    for pair in pairs:
        wins[pair] = True
    return wins


def test_a_system_ranks_below_those_that_beat_it_and_above_those_it_beats() -> None:
    # B beats A and C, which are not apart
    assert rank_ranges(table(3, (1, 0), (1, 2))) == [(2, 3), (1, 1), (2, 3)]
    # A beats C only: B may be anywhere
    assert rank_ranges(table(3, (0, 2))) == [(1, 2), (1, 3), (2, 3)]
    assert rank_ranges(table(3)) == [(1, 3)] * 3
    assert rank_ranges(table(0)) == []


@given(st.permutations(range(5)), st.data())
def test_the_order_of_the_means_lies_in_every_range(order: list[int], data: st.DataObject) -> None:
    """If only better means win, as is the case, the rank by mean is always possible."""
    wins = table(5)
    for a in range(5):
        for b in range(a + 1, 5):
            wins[order[a], order[b]] = data.draw(st.booleans())
    found = rank_ranges(wins)
    assert all(found[system][0] <= place <= found[system][1] for place, system in enumerate(order, 1))


def test_wins_have_the_sign_of_the_difference() -> None:
    pairs = [(0, 1), (0, 2), (1, 2)]
    wins = wins_of(3, pairs, [0.3, -0.2, None], [0.05, 0.04, None])
    assert wins.tolist() == [[False, True, False], [False, False, False], [True, False, False]]
    assert not wins_of(3, pairs, [0.3, -0.2, 0.1], [0.051, 0.06, 1.0]).any()
