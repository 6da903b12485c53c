"""Which texts one edit away are candidates, and which of them wins."""

import numpy as np
import pytest

from core.refine.result import EDITS
from core.refine.sentence_state import CandidatePool, EditCandidate, edit_candidates


def test_candidates_at_the_end_only_insert() -> None:
    near, logps = [(7, -1.0), (9, -2.0)], np.array([-0.5, -3.0, -0.25])
    assert {c.edit for c in edit_candidates([0, 9, 2], logps, 2, near, -9.0, EDITS)} == {"insert"}
    # position 1 holds token 9: two insertions, one deletion, and 7 for 9; 9 for 9 would change nothing
    found = edit_candidates([0, 9, 2], logps, 1, near, -9.0, EDITS)
    assert [c.ids for c in found] == [[0, 7, 9, 2], [0, 9, 9, 2], [0, 2], [0, 7, 2]]
    # known beforehand: −0.5 for the first token, and that of 7, 9, </s>, 7 in its place; the rest is at most 0
    assert [c.precision for c in found] == pytest.approx([-1.5 / 4, -2.5 / 4, -9.5 / 2, -1.5 / 3])


def test_of_equal_candidates_the_earlier_wins_even_if_it_is_scored_later() -> None:
    first, second = (EditCandidate("delete", None, [0, 2], 1, np.zeros(0), precision=-1.0) for _ in range(2))
    pool = CandidatePool([first, second], keep=-2.0, variant="precision", slack=1e-6)
    pool.settle(second)
    assert pool.can_win(first)
    assert pool.most_promising(5, lambda c: True) == [first]
    pool.settle(first)
    assert pool.winner is first
