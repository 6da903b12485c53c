import numpy as np
import pytest

from core.stats.campaign.agreement_windows import TimedRating, agreement_over_time
from core.stats.raters.rater_agreement import krippendorff_alpha, ratings


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


def test_a_fall_of_agreement_is_seen() -> None:
    rng = np.random.default_rng(0)
    timed = []
    for i in range(200):
        true, noise = rng.normal(50, 10), 3 if i < 100 else 20
        timed += [TimedRating(r, i, float(true + rng.normal(0, noise)), i + k) for k, r in enumerate("xy")]
    windows = agreement_over_time(timed, seed=0, draws=200)
    assert len(windows) == 4
    early, late = windows[0].alpha, windows[-1].alpha
    assert early.low is not None
    assert late.high is not None
    assert early.low > late.high


def test_segments_are_resampled_together() -> None:
    rng = np.random.default_rng(0)
    timed = [TimedRating(r, i, float(rng.normal()), i, i // 10) for i in range(40) for r in "xy"]
    (window,) = agreement_over_time(timed, seed=0, draws=50)
    assert window.alpha.n == 4
    assert window.outputs == 40


def test_the_order_of_the_rows_does_not_count() -> None:
    rng = np.random.default_rng(0)
    timed = [TimedRating(r, i, float(rng.normal()), i) for i in range(30) for r in "xyz"]
    plain = agreement_over_time(timed, seed=0, outputs_per_window=10, draws=20)
    mixed = agreement_over_time(
        [timed[i] for i in rng.permutation(len(timed))], seed=0, outputs_per_window=10, draws=20
    )
    assert [w.alpha.value for w in plain] == pytest.approx([w.alpha.value for w in mixed])


def test_ratings_that_cannot_be_used_are_refused() -> None:
    assert agreement_over_time([], seed=0) == []
    with pytest.raises(ValueError, match="twice"):
        agreement_over_time([TimedRating("x", "a", 1, 0), TimedRating("x", "a", 2, 1)], seed=0)
    with pytest.raises(ValueError, match="finite"):
        agreement_over_time([TimedRating("x", "a", float("nan"), 0)], seed=0)
    with pytest.raises(ValueError, match="at least two"):
        agreement_over_time([], seed=0, outputs_per_window=1)
