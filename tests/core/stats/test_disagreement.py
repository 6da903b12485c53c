import pytest

from core.stats.raters.disagreement import Disagreement, disagreement
from core.stats.raters.span_agreement import SpanLabel


def major(start: int, end: int) -> SpanLabel:
    return SpanLabel(start, end, "Major", "Accuracy")


def test_the_value_with_the_arithmetic_written_out() -> None:
    # one Major apart: 5/(5 + 5) = ½; [0, 4) and [2, 4) share 2 of 4 + 2: F1 2/3, so 1/3; mean 5/12
    found = disagreement([-5, -10], [[major(0, 4)], [major(2, 4)]], 10)
    assert found.value == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found.spans == pytest.approx(1 / 3)
    assert (found.points, found.raters) == (5, 2)


def test_three_raters_are_taken_by_twos() -> None:
    # |0−1|, |0−5|, |1−5|: mean 10/3; of the pairs of marks two share nothing and one is nothing twice
    found = disagreement([0, -1, -5], [[], [], [major(0, 3)]], 5)
    assert found.points == pytest.approx(10 / 3)
    assert found.spans == pytest.approx(2 / 3)
    assert found.value == pytest.approx(((10 / 3) / (10 / 3 + 5) + 2 / 3) / 2)


def test_scores_alone_will_do() -> None:
    assert disagreement([0, -5]) == Disagreement(0.5, 5, None, 2)
    assert disagreement([0, -1], half=1).value == 0.5
    # marks without text only: no F1, so the scores decide
    assert disagreement([-5, -10], [[major(1, 1)], [major(2, 2)]], 5).value == 0.5


def test_agreement_is_0_and_the_worst_is_below_1() -> None:
    assert disagreement([-5, -5], [[major(0, 2)]] * 2, 4).value == 0
    assert disagreement([0, 0], [[], []], 4).value == 0
    assert 0.9 < (disagreement([0, -25 * 5], [[], [major(0, 4)]], 4).value or 0) < 1


def test_one_rater_cannot_disagree() -> None:
    assert disagreement([-5]).value is None
    assert disagreement([-5]).reason == "at least two raters are needed, there is 1"
    assert disagreement([]).reason == "it has not been rated"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="2 scores and the marks of 1"):
        disagreement([0, 1], [[]], 3)
    with pytest.raises(ValueError, match="finite"):
        disagreement([0, float("nan")])
