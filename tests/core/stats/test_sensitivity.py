"""z and accuracy from scores (Lu et al. 2023, appendix D), against arithmetic written out and direct enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.stats.correlation.pairs import Floats
from core.stats.sensitivity import NO_SCORE, TOO_CLOSE, Sensitivity, ratios, sensitivities

NAN = float("nan")


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def one(good: Floats, perturbed: Floats, empty: Floats, **options: object) -> Sensitivity:
    (rows,) = sensitivities(["t"] * len(good), good, perturbed, empty, **options)  # type: ignore[arg-type]
    return rows


def test_z_is_the_share_of_the_way_to_the_empty_output() -> None:
    # (80 − 72) / (80 − 0) = 0.1; (60 − 60) / (60 − 0) = 0; (50 − 65) / (50 − 0) = −0.3; mean −0.2 / 3
    sensitivity = one(floats(80, 60, 50), floats(72, 60, 65), floats(0, 0, 0))
    assert sensitivity.z.value == pytest.approx(-0.2 / 3)
    assert sensitivity.accuracy.value == pytest.approx(1 / 3)  # a tie is not right
    assert (
        sensitivity.pairs,
        sensitivity.z.n,
        sensitivity.accuracy.n,
        sensitivity.undefined,
        sensitivity.empty_better,
    ) == (3, 3, 3, (), 0)


def test_lower_is_better_keeps_z_and_reverses_accuracy() -> None:
    # an error rate: (20 − 40) / (20 − 100) = 1/4, right; (50 − 30) / (50 − 100) = −0.4, wrong
    sensitivity = one(floats(20, 50), floats(40, 30), floats(100, 100), higher_is_better=False)
    assert sensitivity.z.value == pytest.approx((0.25 - 0.4) / 2)
    assert (sensitivity.accuracy.value, sensitivity.empty_better) == (0.5, 0)


def test_types_stand_in_the_order_they_first_appear() -> None:
    rows = sensitivities(["b", "a", "b"], floats(1, 1, 1), floats(0.5, 0.9, 0.7), floats(0, 0, 0))
    assert [(s.type, s.pairs) for s in rows] == [("b", 2), ("a", 1)]
    assert [s.z.value for s in rows] == [pytest.approx(0.4), pytest.approx(0.1)]


def test_a_denominator_near_0_is_undefined_and_said() -> None:
    # |good − empty|: 1, 1, 0.006, mean 0.6687, one hundredth of it 0.006687
    sensitivity = one(floats(1, 1, 0.006), floats(0.5, 0.5, 0.5), floats(0, 0, 0))
    assert (sensitivity.z.value, sensitivity.z.n) == (0.5, 2)
    assert sensitivity.undefined == ((TOO_CLOSE, 1),)
    assert sensitivity.accuracy.n == 3  # both scores are there
    assert one(floats(1, 1, 0.007), floats(0.5, 0.5, 0.0035), floats(0, 0, 0)).z.n == 3


def test_nearness_is_judged_over_all_types() -> None:
    rows = sensitivities(["a", "b"], floats(100, 0.5), floats(50, 0), floats(0, 0))
    assert [s.undefined for s in rows] == [(), ((TOO_CLOSE, 1),)]


def test_a_metric_that_ignores_the_output_has_no_z() -> None:
    noise = 1e-9 * np.random.default_rng(0).normal(size=(3, 50))
    sensitivity = one(*(-3.7 + noise))
    assert (sensitivity.z.value, sensitivity.z.n, sensitivity.undefined) == (None, 0, ((TOO_CLOSE, 50),))
    assert sensitivity.z.reason == "no pair has a value"
    assert one(floats(0, 0), floats(0, 0), floats(0, 0)).undefined == ((TOO_CLOSE, 2),)


def test_pairs_without_a_score_are_counted_with_their_reasons() -> None:
    good, perturbed, empty = floats(1, NAN, 1, 1, 1), floats(0.5, 0.5, NAN, 0.5, 0.8), floats(0, 0, 0, NAN, 0)
    sensitivity = one(good, perturbed, empty, missing=["", "no reference", "too long", "no reference", ""])
    assert (sensitivity.pairs, sensitivity.z.n) == (5, 2)
    assert sensitivity.z.value == pytest.approx(0.35)
    assert sensitivity.undefined == (("no reference", 2), ("too long", 1))
    assert (sensitivity.accuracy.n, sensitivity.accuracy.value) == (3, 1.0)  # the empty output has no part in it
    assert one(floats(1, NAN), floats(0.5, 0.5), floats(0, 0)).undefined == ((NO_SCORE, 1),)


def test_pairs_with_a_better_empty_output_are_kept_and_counted() -> None:
    # the second: (1 − 0.5) / (1 − 2) = −0.5 although the error is seen
    sensitivity = one(floats(1, 1), floats(0.5, 0.5), floats(0, 2))
    assert (sensitivity.empty_better, sensitivity.z.value, sensitivity.accuracy.value) == (1, 0.0, 1.0)


@given(
    st.lists(st.tuples(*[st.floats(-100, 100)] * 3), min_size=1, max_size=20),
    st.floats(0.01, 100),
    st.floats(-100, 100),
    st.sampled_from([1, -1]),
)
def test_z_does_not_depend_on_unit_zero_or_direction(
    triples: list[tuple[float, float, float]], unit: float, zero: float, sign: int
) -> None:
    good, perturbed, empty = np.array(triples).T
    gap = np.abs(good - empty)
    assume(gap.min() > 0.02 * gap.mean() and gap.min() > 0.1)
    moved = ratios(*(sign * unit * scores + zero for scores in (good, perturbed, empty)))
    assert moved.z == pytest.approx((good - perturbed) / (good - empty), rel=1e-6, abs=1e-6)


def test_the_interval_is_that_of_all_resamples() -> None:
    z = floats(0.02, 0.11, 0.35, 0.4, 0.93)
    right = floats(1, 1, 0, 1, 0)
    every = np.array([z[list(drawn)].mean() for drawn in product(range(5), repeat=5)])  # all 3125 of them
    sensitivity = one(np.ones(5), 1 - z, np.zeros(5), draws=40_000, seed=3)
    assert sensitivity.z.value == pytest.approx(z.mean())
    assert [sensitivity.z.low, sensitivity.z.high] == pytest.approx(np.quantile(every, [0.025, 0.975]), abs=0.01)
    wrong = one(np.ones(5), np.where(right > 0, 0.5, 1.5), np.zeros(5), draws=40_000, seed=3).accuracy
    shares = np.array([right[list(drawn)].mean() for drawn in product(range(5), repeat=5)])
    assert [wrong.low, wrong.high] == pytest.approx(np.quantile(shares, [0.025, 0.975]))


def test_one_pair_has_no_interval_and_says_so() -> None:
    sensitivity = one(floats(1), floats(0.5), floats(0))
    assert sensitivity.z[:5] == (0.5, None, None, 1, "an interval needs at least two pairs")
