import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.stats.significance.rank_ranges import Wins, rank_ranges, wins_of


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
