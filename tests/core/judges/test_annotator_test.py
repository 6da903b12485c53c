"""The alternative annotator test: worked examples, a plain computation with loops, and its error rates."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp, wilcoxon

from core.judges import annotator_test as alt
from core.judges.annotator_test import Wins, annotator_test, clustered_means, constant_wins, t_test, thresholds, wins


def differences(worse: int, better: int, n: int = 40) -> np.ndarray:
    """W_h − W_f of n items: −1 where the judge wins, +1 where the annotator wins."""
    return np.repeat([-1.0, 1.0, 0.0], [worse, better, n - worse - better])


def wins_of(*rows: np.ndarray) -> Wins:
    d = np.stack(rows)
    return Wins(np.where(d > 0, 0.0, 1.0), np.where(d < 0, 0.0, 1.0), d, d)


def test_worked_example_rejects_two_of_three_annotators() -> None:
    # 40 items, eight −1 and four +1: mean −4/40; sd² = (12 − 40·.01)/39 = .2974; t = (−.10 − .15)/(.5454/√40) = −2.899
    means = clustered_means(differences(8, 4))
    t, p = t_test(means, 0.15)
    assert (float(means.mean), float(means.sd)) == (pytest.approx(-0.10), pytest.approx(0.545, abs=5e-4))
    assert (float(t), float(p)) == (pytest.approx(-2.90, abs=5e-3), pytest.approx(0.0031, abs=5e-5))
    # three tests: 1 + 1/2 + 1/3 = 1.8333, so .05/(3·1.8333) = .00909 and its multiples
    assert thresholds(3) == pytest.approx([0.0091, 0.0182, 0.0273], abs=5e-5)
    # seven −1, five +1: t = (−.05 − .15)/(.5524/√40) = −2.29, p = .0138 ≤ .0182; six and six: t = −.15/.0877 = −1.71, p = .0476 > .0273
    result = annotator_test(wins_of(differences(7, 5), differences(6, 6), differences(8, 4)), "ABC", 0.15)
    assert [r.p for r in result.rows] == pytest.approx([0.0138, 0.0476, 0.0031], abs=5e-5)
    assert [r.threshold for r in result.rows] == pytest.approx([0.0182, 0.0273, 0.0091], abs=5e-5)
    assert [r.rejected for r in result.rows] == [True, False, True]
    assert (result.omega, result.passes) == (pytest.approx(2 / 3), True)
    assert result.rho == pytest.approx((35 / 40 + 34 / 40 + 36 / 40) / 3)


def test_score_is_the_mean_match_with_each_remaining_annotator() -> None:
    # Item 0: the judge says 1, annotators 1, 0, 1. Against A (others 0, 1): S = ½ and ½, a tie. Against B (others 1, 1): S = 1 and 0.
    # Item 1: C is missing; A 0, B 1, judge 1. Against A: S = 1 and 0; against B (other 0): S = 0 and 0, a tie.
    # Item 2: only A has labelled it. Item 3: the judge has no answer and loses against all.
    nan = math.nan
    human = np.array([[1, 0, 1, 0], [0, 1, nan, 0], [1, nan, nan, 0.0]])
    compared = wins(np.array([1, 1, 1, nan]), human, "classes")
    np.testing.assert_array_equal(compared.judge, [[1, 1, nan, 0], [1, 1, nan, 0], [1, nan, nan, 0]])
    np.testing.assert_array_equal(compared.human, [[1, 0, nan, 1], [0, 1, nan, 1], [1, nan, nan, 1]])
    # Scores: judge 80, annotators 70, 90, 85. Against A (others 90, 85): −√((10² + 5²)/2) = −7.91 and −√((20² + 15²)/2) = −17.68
    compared = wins(np.array([80.0]), np.array([[70.0], [90.0], [85.0]]), "scores")
    assert compared.judge_score[0, 0] == pytest.approx(-math.sqrt(62.5))
    assert compared.human_score[0, 0] == pytest.approx(-math.sqrt(312.5))
    # C: the others gave 70 and 90, so √((10² + 10²)/2) = 10 for the judge and √((15² + 5²)/2) = 11.18 for C
    assert (compared.judge_score[2, 0], compared.human_score[2, 0]) == pytest.approx((-10, -math.sqrt(125)))
    assert (compared.judge[:, 0].tolist(), compared.human[:, 0].tolist()) == ([1, 1, 1], [0, 0, 0])


def test_results_equal_a_computation_with_loops() -> None:
    rng = np.random.default_rng(3)
    for labels, values in (("classes", 3), ("scores", 101)):
        for n in (60, 25):
            human = rng.integers(0, values, (4, n)).astype(float)
            human[rng.random(human.shape) < 0.2] = math.nan
            judge = np.where(rng.random(n) < 0.6, np.nan_to_num(human[0]), rng.integers(0, values, n))
            result = annotator_test(wins(judge, human, labels), "ABCD", 0.2)
            p_values = []
            for j, row in enumerate(result.rows):
                d = []
                for i in range(n):
                    others = [human[k, i] for k in range(4) if k != j and not math.isnan(human[k, i])]
                    if math.isnan(human[j, i]) or not others:
                        continue
                    both = []
                    for own in (judge[i], human[j, i]):
                        if labels == "classes":
                            both.append(sum(own == o for o in others) / len(others))
                        else:
                            both.append(-math.sqrt(sum((own - o) ** 2 for o in others) / len(others)))
                    d.append(float(both[1] >= both[0]) - float(both[0] >= both[1]))
                if len(d) < 30:
                    p = wilcoxon(np.array(d) - 0.2, alternative="less", method="asymptotic").pvalue
                    assert row.test == "Wilcoxon"
                else:
                    p = ttest_1samp(d, 0.2, alternative="less").pvalue
                assert (row.items, row.p) == (len(d), pytest.approx(p, abs=1e-12))
                p_values.append(p)
            order = sorted(p_values)
            last = max((k for k in range(4) if order[k] <= thresholds(4)[k]), default=-1)
            assert result.omega == sum(p <= order[last] for p in p_values) / 4 if last >= 0 else result.omega == 0


def test_a_judge_that_always_says_clean_passes_on_clean_texts() -> None:
    # 95 of 100 outputs have no error by any annotator, three by none of them, two by one annotator only.
    human = np.zeros((3, 100))
    human[:, :3], human[0, 3], human[1, 4] = 1, 1, 1
    answer, compared = constant_wins(human, "classes")
    result = annotator_test(compared, "ABC", 0.1)
    assert (answer, result.omega) == (0, 1)
    assert result.rho == pytest.approx(0.97)  # it loses on the three outputs, and not where one annotator is alone
    clustered = annotator_test(compared, "ABC", 0.1, documents=[i // 10 for i in range(100)])
    # All three losses lie in one document of ten: the clustered standard error is √(10/9·(2.7² + 9·.3²))/100, t = −.07/.03 = −2.33 with 9 df.
    assert clustered.rows[2].statistic == pytest.approx(
        (0.03 - 0.1) / (math.sqrt(10 / 9 * (2.7**2 + 9 * 0.3**2)) / 100)
    )
    assert alt.curve(compared, "ABC")[:2] == [0, 0]
    assert alt.curve(compared, "ABC")[-1] == 1


def test_what_the_test_assumes_is_checked() -> None:
    human = np.zeros((2, 20))
    human[0, :9] = 1
    compared = wins(human[0], human, "classes")
    result = annotator_test(compared, "AB", 0.2, domains=["x"] * 19 + ["y"])
    assert [(r.annotator, r.domain, r.items, r.test) for r in result.rows] == [
        ("A", "x", 19, "Wilcoxon"), ("B", "x", 19, "Wilcoxon"), ("A", "y", 1, "Wilcoxon"), ("B", "y", 1, "Wilcoxon"),
    ]  # fmt: skip
    assert result.rows[2].p is None
    assert "2 are needed" in result.rows[2].reason
    problems = alt.assumptions(result, 4)
    assert [p[:12] for p in problems] == ["0 of at leas", "Fewer than 3", "The outputs "]
    one = annotator_test(compared, "AB", 0.2, documents=["d"] * 20)
    assert one.omega is None
    assert "one document" in one.rows[0].reason


@pytest.mark.extended
def test_error_rates_hold_on_both_sides_of_the_threshold() -> None:
    """2,000 runs each. Three annotators are right with probability a, the judge with f, independently: E(W_h − W_f) = (2a − 1)(a − f).

    The judge and an annotator differ only if one is right. The others decide: both right (a²), both wrong ((1 − a)²), or a tie.
    """
    rng = np.random.default_rng(0)
    runs, n, a, epsilon = 2000, 90, 0.85, 0.2
    on_threshold = a - epsilon / (2 * a - 1)  # .564

    def rejected(f: float, per_document: int = 1, clustered: bool = False) -> tuple[float, float, float]:
        truth = rng.random((runs, n)) < 0.3
        human = np.where(rng.random((runs, 3, n)) < a, truth[:, None], ~truth[:, None]).astype(float)
        right = np.repeat(rng.random((runs, n // per_document)) < f, per_document, axis=1)
        compared = wins(np.where(right, truth, ~truth).astype(float), human, "classes")
        d = compared.human - compared.judge
        assert float(d.mean()) == pytest.approx((2 * a - 1) * (a - f), abs=0.01)
        p = t_test(clustered_means(d, np.arange(n) // per_document if clustered else None), epsilon)[1]
        ordered = np.sort(p, axis=1)
        n_rejected = (np.cumsum((ordered <= thresholds(3))[:, ::-1], axis=1)[:, ::-1] > 0).sum(1)
        return float((p <= 0.05).mean()), float((n_rejected > 0).mean()), float((n_rejected >= 2).mean())

    single, any_one, passes = rejected(on_threshold)
    assert 0.04 < single < 0.06  # 6,000 tests: ± 2 SE = ± .006 if they were independent
    assert any_one <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)
    assert passes < any_one
    assert rejected(on_threshold - 0.1)[1] < 0.01  # a worse judge
    assert rejected(a)[2] > 0.9  # as good as an annotator
    # Whole documents of six are judged rightly or wrongly: the test clustered by document holds its level, the plain one does not.
    assert rejected(on_threshold, 6)[0] > 0.1
    assert rejected(on_threshold, 6, clustered=True)[0] < 0.08
