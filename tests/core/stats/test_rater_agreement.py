"""Agreement of raters, in all and over time, and their disagreement on single outputs."""

from __future__ import annotations

import re

import krippendorff
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from core.stats.raters.rater_agreement import (
    ALL_EQUAL,
    NOT_TWICE,
    Disagreement,
    TimedRating,
    agreement_over_time,
    disagreement,
    krippendorff_alpha,
    rater_pairs,
    ratings,
    standardised,
)
from core.stats.raters.span_agreement import SpanLabel
from tests.paths import ROOT

NAN = float("nan")


def test_alpha_with_the_arithmetic_written_out() -> None:
    # three outputs, two raters: (1, 1), (2, 2), (3, 4); n = 6 scores
    # D_o = [2·(3 − 4)²/(2 − 1)]/6 = 1/3
    # D_e = Σ over ordered pairs (c − k)²/(6·5) = 2·(6·Σv² − (Σv)²)/30 = 2·(6·35 − 13²)/30 = 82/30
    # α = 1 − (1/3)/(82/30) = 1 − 10/82
    alpha = krippendorff_alpha(np.array([[1.0, 2, 3], [1, 2, 4]]), seed=0)
    assert alpha.value == pytest.approx(1 - 10 / 82)
    assert alpha.n == 3


def test_the_order_of_outputs_changes_no_interval() -> None:
    rng = np.random.default_rng(1)
    scores, order = rng.integers(1, 6, (3, 30)).astype(float), rng.permutation(30)
    segments = [k // 2 for k in range(30)]
    one = krippendorff_alpha(scores, seed=0, segments=segments)
    other = krippendorff_alpha(scores[:, order], seed=0, segments=[segments[k] for k in order])
    assert one[:4] == pytest.approx(other[:4])


def test_the_published_examples() -> None:
    # Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, example D (four observers, twelve units): interval .849
    four = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
    assert krippendorff_alpha(np.array(four), seed=0).value == pytest.approx(0.849, abs=5e-4)
    assert krippendorff_alpha(np.array(four), seed=0).n == 11  # the last unit has one value only
    # the docstring of the package krippendorff 0.9.0, from Wikipedia: interval .810845
    three = [
        [NAN, NAN, NAN, NAN, NAN, 3, 4, 1, 2, 1, 1, 3, 3, NAN, 3],
        [1, NAN, 2, 1, 3, 3, 4, 3, NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, 2, 1, 3, 4, 4, NAN, 2, 1, 1, 3, 3, NAN, 4],
    ]
    assert krippendorff_alpha(np.array(three), seed=0).value == pytest.approx(0.810845, abs=5e-7)


@given(st.integers(2, 5), st.integers(2, 12), st.integers(0, 10**6))
def test_the_closed_form_gives_what_the_package_gives(n_raters: int, n_outputs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = 1000 - rng.integers(0, 6, (n_raters, n_outputs)) / 10
    scores[rng.random(scores.shape) < 0.3] = NAN
    twice = scores[:, (~np.isnan(scores)).sum(0) >= 2]
    alpha = krippendorff_alpha(scores, seed=0, draws=10)
    if twice.shape[1] < 2:
        assert alpha.reason == NOT_TWICE
    elif np.nanmin(twice) == np.nanmax(twice):
        assert alpha.reason == ALL_EQUAL
    else:
        package = krippendorff.alpha(scores, level_of_measurement="interval")
        assert alpha.value == pytest.approx(package, abs=1e-9)


def test_scores_far_from_zero_equal_the_package() -> None:
    scores = 1e5 + np.random.default_rng(0).normal(size=(2, 100))
    package = krippendorff.alpha(scores, level_of_measurement="interval")
    assert krippendorff_alpha(scores, seed=1, draws=10).value == pytest.approx(package, abs=1e-9)


def test_the_product_does_without_the_package() -> None:
    # krippendorff is under the GPL, Errorscope under the MIT licence: it serves as the oracle of these tests only
    assert "krippendorff" not in (ROOT / "requirements.txt").read_text(encoding="utf-8")
    for path in (path for folder in ("core", "pages", "db") for path in (ROOT / folder).rglob("*.py")):
        assert not re.search(r"^\s*(import|from) krippendorff\b", path.read_text(encoding="utf-8"), re.MULTILINE), path


def test_the_interval_is_that_of_the_resamples_of_the_package() -> None:
    rng = np.random.default_rng(0)
    truth = -rng.poisson(2, 25)
    scores = truth - rng.poisson(1, (3, 25)).astype(float)
    scores[0, :8] = NAN
    alpha = krippendorff_alpha(scores, seed=0, draws=4000)
    drawn = [
        krippendorff.alpha(scores[:, rng.integers(0, 25, 25)], level_of_measurement="interval") for _ in range(2000)
    ]
    assert [alpha.low, alpha.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.03)


def test_segments_are_drawn_with_all_their_outputs() -> None:
    # four copies of each output in its segment: as much is known as from one, so the interval is as wide
    rng = np.random.default_rng(1)
    scores = rng.normal(size=30) + rng.normal(size=(2, 30))
    once = krippendorff_alpha(scores, seed=2, draws=2000)
    copies = krippendorff_alpha(np.tile(scores, 4), seed=2, draws=2000, segments=list(range(30)) * 4)
    assert copies.n == 30
    assert (copies.high or 0) - (copies.low or 0) == pytest.approx((once.high or 0) - (once.low or 0), rel=0.1)
    alone = krippendorff_alpha(np.tile(scores, 4), seed=2, draws=2000)
    assert (alone.high or 0) - (alone.low or 0) < 0.6 * ((once.high or 0) - (once.low or 0))


def test_where_alpha_is_undefined_it_says_why() -> None:
    for scores in (np.zeros((2, 0)), np.array([[1.0], [2.0]]), np.array([[1, 2, NAN], [1, NAN, 3]]), np.ones((1, 5))):
        assert krippendorff_alpha(scores, seed=0)[0] is None
        assert krippendorff_alpha(scores, seed=0).reason == NOT_TWICE
    assert krippendorff_alpha(np.full((3, 4), 0.1), seed=0)[:5] == (None, None, None, 4, ALL_EQUAL)
    one_segment = krippendorff_alpha(np.array([[1.0, 2, 3], [1, 2, 4]]), seed=0, segments=["s"] * 3)
    assert one_segment.value == pytest.approx(1 - 10 / 82)
    assert (one_segment.low, one_segment.n) == (None, 1)
    with pytest.raises(ValueError, match="finite"):
        krippendorff_alpha(np.array([[1.0, np.inf], [1, 2]]), seed=0)


def test_resamples_without_any_spread_are_left_out_and_said() -> None:
    # (5/6)^6, a third, of the draws miss the last output, and with it all spread
    alpha = krippendorff_alpha(np.array([[1.0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 2]]), seed=0, draws=400)
    assert alpha.low is not None
    # two outputs, each with one value: half of the draws repeat one of them
    reasons = {krippendorff_alpha(np.array([[1.0, 2], [1, 2]]), seed=seed, draws=99).reason for seed in range(8)}
    assert "" in reasons
    assert any("of 99 resamples" in reason for reason in reasons)


def test_each_two_raters_have_their_tau_over_what_both_scored() -> None:
    table = ratings(
        [("a", 1, 1), ("a", 2, 2), ("a", 3, 3), ("b", 3, 1), ("b", 2, 2), ("b", 4, 0), ("c", 1, 5), ("b", 1, 1.5)]
    )
    assert (table.raters, table.outputs) == (("a", "b", "c"), (1, 2, 3, 4))
    pairs = {(p.first, p.second): p.tau for p in rater_pairs(table)}
    assert list(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs["a", "b"].value == pytest.approx(scipy.stats.kendalltau([1, 2, 3], [1.5, 2, 1])[0])
    assert pairs["a", "b"].n == 3
    assert pairs["a", "c"].value is None
    assert "at least two" in pairs["a", "c"].reason


def test_a_rater_who_never_varies_is_named() -> None:
    constant = ratings([("ann", 1, 0), ("ann", 2, 0), ("bob", 1, 3), ("bob", 2, 4)])
    assert rater_pairs(constant)[0].tau.reason == "all ann's scores are equal"
    assert rater_pairs(ratings([])) == []


def major(start: int, end: int) -> SpanLabel:
    return SpanLabel(start, end, "Major", "Accuracy")


def test_the_value_with_the_arithmetic_written_out() -> None:
    # one Major apart: 5/(5 + 5) = ½; [0, 4) and [2, 4) share 2 of 4 + 2: F1 2/3, so 1/3; mean 5/12
    difference = disagreement([-5, -10], [[major(0, 4)], [major(2, 4)]], 10)
    assert difference.value == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert difference.spans == pytest.approx(1 / 3)
    assert (difference.points, difference.raters) == (5, 2)

    # |0−1|, |0−5|, |1−5|: mean 10/3; of the pairs of marks two share nothing and one is nothing twice
    three = disagreement([0, -1, -5], [[], [], [major(0, 3)]], 5)
    assert three[:3] == pytest.approx((((10 / 3) / (10 / 3 + 5) + 2 / 3) / 2, 10 / 3, 2 / 3))


def test_scores_alone_will_do_and_agreement_is_0() -> None:
    assert disagreement([0, -5]) == Disagreement(0.5, 5, None, 2)
    assert disagreement([0, -1], half=1).value == 0.5
    # marks without text only: no F1, so the scores decide
    assert disagreement([-5, -10], [[major(1, 1)], [major(2, 2)]], 5).value == 0.5
    assert disagreement([-5, -5], [[major(0, 2)]] * 2, 4).value == 0
    assert disagreement([0, 0], [[], []], 4).value == 0
    assert 0.9 < disagreement([0, -25 * 5], [[], [major(0, 4)]], 4).value < 1
    assert disagreement([-5])[::4] == (None, "at least two raters are needed, there is 1")
    assert disagreement([]).reason == "it has not been rated"


def test_windows_are_consecutive_outputs_by_their_last_rating() -> None:
    timed = [
        TimedRating("x", "a", 1, 0),
        TimedRating("x", "b", 2, 10),
        TimedRating("y", "b", 2, 20),
        TimedRating("y", "a", 3, 90),  # a is completed last
        TimedRating("x", "c", 7, 30),
        TimedRating("y", "c", 8, 40),
        TimedRating("z", "c", 8, 35),
        TimedRating("x", "alone", 5, 1),
    ]
    first, second = agreement_over_time(timed, seed=0, outputs_per_window=2, draws=50)
    assert (first.start, first.end, first.outputs, first.ratings, first.raters) == (20, 40, 2, 5, 3)
    assert (second.start, second.outputs, second.ratings) == (90, 1, 2)
    oracle = ratings([("x", "b", 2), ("y", "b", 2), ("x", "c", 7), ("y", "c", 8), ("z", "c", 8)])
    assert first.alpha.value == pytest.approx(krippendorff_alpha(oracle.scores, seed=0).value or 0)
    assert second.alpha.value is None
    assert second.alpha.reason

    # segments are resampled together
    rng = np.random.default_rng(0)
    (window,) = agreement_over_time(
        [TimedRating(r, i, float(rng.normal()), i, i // 10) for i in range(40) for r in "xy"], seed=0, draws=50
    )
    assert (window.alpha.n, window.outputs) == (4, 40)
    assert agreement_over_time([], seed=0) == []


@pytest.mark.parametrize(
    ("value", "again", "message"), [(1, 0, "ann scored 1 twice"), (NAN, None, "finite")]
)  # fmt: skip
def test_what_is_no_rating_is_refused(value: float, again: float | None, message: str) -> None:
    rows = [("ann", 1, score) for score in (value, again) if score is not None]
    with pytest.raises(ValueError, match=message):
        ratings(rows)
    with pytest.raises(ValueError, match=message):
        agreement_over_time([TimedRating(*row, 0) for row in rows], seed=0)


def test_each_rater_is_put_on_the_own_scale() -> None:
    # strict: 10, 20, 30: mean 20, deviation √(200/2) = 10; kind: 80, 90: mean 85, deviation √50
    z = standardised(["strict", "kind", "strict", "kind", "strict"], [10, 80, 20, 90, 30])
    assert z == pytest.approx([-1, -5 / np.sqrt(50), 0, 5 / np.sqrt(50), 1])
    z = standardised(["a", "b", "b", "c", "c"], [50, 0.1, 0.1, 1, 3])  # without spread there is no z-score
    assert np.isnan(z).tolist() == [True, True, True, False, False]
    assert len(standardised([], [])) == 0
