"""Agreement, ceiling, stability and preferences of a judge: worked examples and known effects."""

import math

import numpy as np
import pytest

from core.judges.annotator_test import wins
from core.judges.card_statistics import (
    ceiling,
    class_agreement,
    cohens_kappa,
    flip_rate,
    icc,
    kappa,
    length_preference,
    majority,
    own_preference,
    position,
    reliability,
    score_agreement,
    stability,
)
from core.stats.bootstrap import wilson

NAN = math.nan


def classes(both: int, first_only: int, second_only: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    """Two lists of classes by their counts of 1 · 1, 1 · 0, 0 · 1 and 0 · 0."""
    sizes = [both, first_only, second_only, neither]
    return np.repeat([1.0, 1.0, 0.0, 0.0], sizes), np.repeat([1.0, 0.0, 1.0, 0.0], sizes)


def test_kappa_falls_with_the_base_rate_at_equal_agreement() -> None:
    # Agreement .90 with both at base rate .5: p_e = .5, κ = .40/.50. At .9: p_e = .81 + .01, κ = .08/.18.
    assert kappa(*classes(45, 5, 5, 45), 2).value == pytest.approx(0.80)
    assert kappa(*classes(85, 5, 5, 5), 2).value == pytest.approx(0.44, abs=5e-3)
    assert kappa(np.ones(9), np.ones(9), 2).reason == "both give only one and the same class"
    assert np.isnan(cohens_kappa(np.zeros((2, 2))))
    assert kappa(np.array([NAN]), np.ones(1), 2).n == 0


def test_class_agreement_shows_what_a_constant_answer_reaches() -> None:
    judge, reference = classes(
        4, 3, 6, 87
    )  # 10 of 100 outputs have an error; the judge sees 4 of them and reports 3 more
    of = class_agreement(judge, reference, 2, list(range(100)), seed=0)
    assert of is not None
    assert of.outputs == 100
    assert (of.share.value, of.constant, of.constant_class) == (0.91, 0.9, 0)
    assert of.base_rates == (0.9, 0.1)
    assert of.recalls == (wilson(87, 90), wilson(4, 10))  # TNR and TPR
    # p_e = .07·.10 + .93·.90 = .844, κ = (.91 − .844)/.156
    assert of.kappa.value == pytest.approx(0.066 / 0.156)
    assert of.kappa.low < of.kappa.value < of.kappa.high
    same_document = class_agreement(judge, reference, 2, ["d"] * 100, seed=0)
    assert same_document.kappa.low is None
    assert "two documents" in same_document.kappa.reason
    assert majority(np.array([[0, 1, NAN], [1, 1, NAN], [NAN, 0, NAN]]), 2).tolist()[1:2] == [1.0]
    assert np.isnan(majority(np.array([[0, NAN], [1, NAN]]), 2)).all()
    assert class_agreement(np.full(2, NAN), np.ones(2), 2, [0, 1], 0) is None


def test_judge_and_annotators_meet_the_same_remaining_annotators() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    human = np.stack([np.where(rng.random(400) < 0.9, truth, 1 - truth) for _ in range(3)]).astype(float)
    judge = np.where(rng.random(400) < 0.7, truth, 1 - truth).astype(float)
    human[2, :200] = NAN
    result = ceiling(judge, human, wins(judge, human, "classes"), "ABC", "classes", 2, list(range(400)), seed=0)
    assert [r.outputs for r in result.rows] == [400, 400, 200]
    first = result.rows[0]
    pairs = [(a, b) for k in (1, 2) for a, b in zip(judge, human[k], strict=True) if not math.isnan(b)]
    assert first.judge.value == kappa(*map(np.array, zip(*pairs, strict=True)), 2).value
    # A right with .9 meets others right with .9: .82; the judge with .7: .66. κ = 2p − 1 at base rate ½.
    assert first.human.value == pytest.approx(0.64, abs=0.06)
    assert first.judge.value == pytest.approx(0.32, abs=0.08)
    assert result.difference.high < 0
    assert result.difference.value == pytest.approx(-0.16, abs=0.05)
    scores = human * 10 + rng.normal(size=human.shape)
    by_score = ceiling(judge, scores, wins(judge, scores, "scores"), "ABC", "scores", 0, list(range(400)), seed=0)
    assert by_score.rows[0].human.value > by_score.rows[0].judge.value
    assert score_agreement(judge, scores, list(range(400)), 0).low > 0


def test_reliability_of_repeated_calls() -> None:
    # r = .6: 3·.6/(1 + 2·.6) = 1.8/2.2 and 10·.6/(1 + 9·.6) = 6/6.4
    assert [reliability(0.6, m) for m in (3, 10)] == pytest.approx([0.82, 0.94], abs=3e-3)
    assert reliability(-0.1, 3) is None
    # Outputs (1, 3), (5, 7), (9, 11): means 2, 6, 10; MS_b = 2·(16 + 0 + 16)/2 = 32, MS_w = 6·1/3 = 2; r = 30/34
    assert icc(np.array([[1, 3], [5, 7], [9, 11.0]])).value == pytest.approx(30 / 34)
    rng = np.random.default_rng(1)
    repeats = rng.normal(0, math.sqrt(0.6), (3000, 1)) + rng.normal(0, math.sqrt(0.4), (3000, 4))
    repeats[rng.random(repeats.shape) < 0.2] = NAN
    assert icc(repeats).value == pytest.approx(0.6, abs=0.03)
    # Shares of the most frequent class: 3/3, 2/3, 1/2; the last output was judged once.
    calls = np.array([[1, 1, 1], [1, 0, 1], [0, 1, NAN], [1, NAN, NAN]])
    assert flip_rate(calls).value == pytest.approx((0 + 1 / 3 + 1 / 2) / 3)
    result = stability(calls, calls, 2)
    assert (result.outputs, result.calls, result.enough) == (3, 3, True)
    # κ of calls 1 and 2: 1·1, 1·0, 0·1 gives (1/3 − 5/9)/(4/9) = −.5; 1 and 3: (1·1, 1·1) has one class; 2 and 3: 1·1, 0·1 gives 0
    assert (result.kappa.value, result.kappa.groups, result.kappa.undefined) == (pytest.approx(-0.25), 2, 1)
    assert icc(np.zeros((3, 2))).value is None
    assert stability(np.zeros((2, 1)), np.zeros((2, 1)), 2).icc.value is None


def test_known_preferences_are_recovered() -> None:
    rng = np.random.default_rng(2)
    n, systems = 300, 4
    segments = np.repeat(np.arange(n), systems)
    documents, own = segments // 6, np.tile([True, False, False, False], n)
    quality, lengths = rng.normal(size=n * systems), np.exp2(rng.uniform(4, 8, n * systems))
    human = quality + rng.normal(0, 0.3, n * systems)
    fair = quality + rng.normal(0, 0.3, n * systems)
    for preference in (0.0, 0.4):
        judge = fair + preference * np.log2(lengths)
        measured = length_preference(
            judge, human, lengths, segments.tolist(), documents.tolist(), 0, judge < 0, human < 0
        )
        assert measured.slope.low <= preference / judge.std() <= measured.slope.high
        assert (measured.slope.low > 0) == (preference > 0)
        own_bias = own_preference(
            fair + preference * own, human, own.tolist(), segments.tolist(), documents.tolist(), 0
        )
        assert (own_bias.difference.low > 0) == (preference > 0)
    # Errors at lengths 10 and 30 for the judge (the rest: 20, 40) and 30, 40 for the annotators: 20 − 30 = −10 and 35 − 15 = 20.
    measured = length_preference(
        np.zeros(4), np.zeros(4), np.array([10, 20, 30, 40.0]), [0] * 4, [0] * 4, 0, np.array([1, 0, 1, 0.0]), np.array([0, 0, 1, 1.0])
    )  # fmt: skip
    assert (measured.by_judge, measured.by_human, measured.longer_errors) == (-10, 20, -30)
    assert measured.slope.reason == "the scores of one side are all equal"
    # Two segments: humans prefer the own output in the first and the other one in the second; the judge always picks its own.
    biased = own_preference(
        np.array([2, 1, 2, 1.0]), np.array([2, 1, 1, 2.0]), [True, False] * 2, [0, 0, 1, 1], [0, 0, 1, 1], 0
    )
    assert (biased.own_picked, biased.other_picked, biased.difference.value) == (1, 0, 1)
    order = position(12, 100, first_wins=70, decided=100)
    assert (order.order_dependent.value, order.bias) == (0.12, pytest.approx(0.2))
    assert position(0, 0).order_dependent.value is None
    assert position(0, 5).bias is None
