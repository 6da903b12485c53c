import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats.significance.clusters import Wins, rank_clusters, wins_of


def table(n: int, *pairs: tuple[int, int]) -> Wins:
    wins = np.zeros((n, n), dtype=bool)
    for pair in pairs:
        wins[pair] = True
    return wins


def test_a_line_stands_where_all_above_beat_all_below() -> None:
    # B > A and B > C, but A and C are not apart: one line, below B
    assert rank_clusters([2.0, 3.0, 1.0], table(3, (1, 0), (1, 2))) == [2, 1, 2]
    # A > C only: B stands between and is apart from neither
    assert rank_clusters([3.0, 2.0, 1.0], table(3, (0, 2))) == [1, 1, 1]
    assert rank_clusters([3.0, 2.0, 1.0], table(3, (0, 1), (0, 2), (1, 2))) == [1, 2, 3]


@settings(deadline=None)
@given(st.integers(1, 6), st.data())
def test_the_lines_are_all_the_cuts_there_are(n: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    wins = np.array([[values[i] > values[j] and data.draw(st.booleans()) for j in range(n)] for i in range(n)])
    found = rank_clusters([float(v) for v in values], wins.reshape(n, n))
    order = sorted(range(n), key=lambda i: -values[i])
    cuts = [k for k in range(1, n) if all(wins[a, b] for a in order[:k] for b in order[k:])]
    assert [found[i] for i in order] == [1 + sum(k <= place for k in cuts) for place in range(n)]
    for i in range(n):
        for j in range(n):
            assert values[i] != values[j] or found[i] == found[j]


def test_wins_have_the_sign_of_the_difference() -> None:
    pairs = [(0, 1), (0, 2), (1, 2)]
    wins = wins_of(3, pairs, [0.3, -0.2, None], [0.05, 0.04, None])
    assert wins.tolist() == [[False, True, False], [False, False, False], [True, False, False]]
    assert not wins_of(3, pairs, [0.3, -0.2, 0.1], [0.051, 0.06, 1.0]).any()


def test_nobody_and_one_alone() -> None:
    assert rank_clusters([], table(0)) == []
    assert rank_clusters([1.0], table(1)) == [1]
    with pytest.raises(ValueError, match="2 values"):
        rank_clusters([1.0, 2.0], table(3))
