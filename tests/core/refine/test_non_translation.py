"""The two tests of METHODS section 1, on numbers small enough to work out by hand."""

import numpy as np
import pytest

from core.refine.result import Options
from core.refine.sentence_state import token_overlap, why_not_a_translation


def test_overlap_is_shared_over_all_distinct_tokens() -> None:
    # {1,2,3,4} and {3,4,5,6}: two shared of six
    assert token_overlap([1, 2, 3, 4, 4], [3, 4, 5, 6]) == pytest.approx(2 / 6)


@pytest.mark.parametrize(("shared", "flagged"), [(3, True), (4, False)])
def test_ten_tokens_or_more_are_judged_by_overlap(shared: int, flagged: bool) -> None:
    # 10 + 10 − s distinct tokens: s = 3 gives 3/17 = .176 ≤ .2, s = 4 gives 4/16 = .25
    hypothesis, reference = list(range(10)), list(range(10 - shared, 20 - shared))
    why = why_not_a_translation(hypothesis, reference, np.full(10, -9.0), -9.0, -0.1)
    assert bool(why) == flagged


@pytest.mark.parametrize(("low", "flagged"), [(7, True), (6, False)])
def test_shorter_ones_by_the_share_of_improbable_tokens(low: int, flagged: bool) -> None:
    # threshold (−4 + −2) / 2 = −3; `low` of ten tokens lie below it; asked for without the overlap test
    logps = np.array([-5.0] * low + [-1.0] * (10 - low))
    why = why_not_a_translation(list(range(10)), [99], logps, -4.0, -2.0, Options(non_translation="probability"))
    assert bool(why) == flagged


def test_an_empty_output_is_no_translation() -> None:
    assert "empty" in why_not_a_translation([], [1, 2], np.empty(0), -5.0, -0.1)
