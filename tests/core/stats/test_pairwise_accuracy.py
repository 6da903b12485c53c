from itertools import product

import numpy as np
import pytest
import scipy.stats

from core.stats.pairwise_accuracy import at_least, pairwise_accuracy, soft_pairwise_accuracy


def test_the_p_value_worked_out_in_the_code_of_the_paper() -> None:
    # google-research/mt-metrics-eval b3d5ea1, mt_metrics_eval/pairwise_paired_permutation_test.py, docstring: these ten
    # permutations of two systems of five segments give 1/10
    scores = np.array([[0.8, 0.9, 0.7, 1.0, 0.6], [0.2, 0.3, 0.1, 0.4, 0.0]])
    signs = np.array(
        [
            [1, 1, -1, -1, -1],
            [1, -1, 1, -1, 1],
            [1, -1, 1, 1, -1],
            [-1, 1, -1, -1, 1],
            [1, 1, 1, -1, 1],
            [-1, 1, -1, 1, -1],
            [1, 1, 1, 1, 1],
            [1, 1, -1, -1, 1],
            [1, -1, -1, 1, -1],
            [-1, 1, -1, -1, -1],
        ],
        dtype=float,
    )
    assert at_least(scores, signs)[0, 1] / 10 == pytest.approx(0.1)


@pytest.mark.parametrize("levels", [3, 10**6])
def test_all_permutations_give_the_exact_p_value_of_scipy(levels: int) -> None:
    rng = np.random.default_rng(levels)
    scores = rng.integers(0, levels, (3, 8)) / 10
    signs = np.array(list(product([1.0, -1.0], repeat=8)))
    found = at_least(scores, signs) / len(signs)
    for i, j in product(range(3), repeat=2):
        exact = scipy.stats.permutation_test(
            (scores[i], scores[j]),
            lambda a, b: float(np.sum(a - b)),
            permutation_type="samples",
            alternative="greater",
            n_resamples=10_000,
        )
        assert found[i, j] == pytest.approx(exact.pvalue)


def test_soft_accuracy_equals_the_exact_one_of_all_permutations() -> None:
    rng = np.random.default_rng(5)
    human = rng.normal(size=(5, 9)) + 0.5 * np.arange(5)[:, None]
    metric = human + rng.normal(size=human.shape)
    signs = np.array(list(product([1.0, -1.0], repeat=9)))
    p_human, p_metric = at_least(human, signs) / 512, at_least(metric, signs) / 512
    exact = 1 - np.mean([abs(p_human[i, j] - p_metric[i, j]) for i in range(5) for j in range(i + 1, 5)])
    found = soft_pairwise_accuracy(metric, human, seed=0, draws=20_000)
    assert found.value == pytest.approx(exact, abs=0.01)
    assert found.n == 5


def test_a_metric_like_people_has_all_and_the_opposite_has_nothing() -> None:
    human = np.arange(4.0)[:, None] + np.random.default_rng(0).normal(0, 0.1, (4, 40))
    for accuracy in (pairwise_accuracy, lambda m, h: soft_pairwise_accuracy(m, h, seed=1)):
        assert accuracy(3 * human - 7, human).value == 1
        assert accuracy(-human, human).value == pytest.approx(0, abs=0.002)


def test_it_sees_sure_and_unsure_differences_where_plain_accuracy_sees_order_only() -> None:
    # people cannot tell the systems apart (p ≈ ½); one metric leans a little, the other is certain
    rng = np.random.default_rng(2)
    noise = rng.normal(size=100)
    human = np.stack([noise - noise.mean() + 0.001, np.zeros(100)])
    leaning, certain = human + [[0.002], [0]], human + [[5.0], [0]]
    assert pairwise_accuracy(leaning, human).value == pairwise_accuracy(certain, human).value == 1
    assert (soft_pairwise_accuracy(leaning, human, seed=0).value or 0) > 0.95
    assert soft_pairwise_accuracy(certain, human, seed=0).value == pytest.approx(0.5, abs=0.05)


def test_pairwise_accuracy_counts_pairs_of_means() -> None:
    # means: people 1, 2, 3, 3; metric 1, 3, 2, 2: pairs 01, 02, 03 right, 12, 13 wrong, 23 tied on both
    human = np.repeat([[1.0], [2], [3], [3]], 2, axis=1)
    assert pairwise_accuracy([[1, 1], [2, 4], [2, 2], [1, 3]], human).value == pytest.approx(4 / 6)
    # google-research/mt-metrics-eval 0b82d96, stats_test.py, testAgreement: 5 of 10
    gold, metric = np.repeat([[1], [2], [3], [3], [4]], 2, axis=1), np.repeat([[1], [1], [2], [1], [2]], 2, axis=1)
    assert pairwise_accuracy(metric, gold).value == pytest.approx(0.5)


def test_the_seed_decides() -> None:
    rng = np.random.default_rng(0)
    human, metric = rng.normal(size=(2, 4, 30))
    values = [soft_pairwise_accuracy(metric, human, seed=s, draws=200).value for s in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


@pytest.mark.parametrize("shape", [(0, 5), (1, 5), (3, 0), (3, 1)])
def test_too_little_is_undefined_with_a_reason(shape: tuple[int, int]) -> None:
    for found in (
        pairwise_accuracy(np.ones(shape), np.ones(shape)),
        soft_pairwise_accuracy(np.ones(shape), np.ones(shape), seed=0),
    ):
        assert found.value is None
        assert "at least two" in found.reason


def test_systems_without_a_difference_agree() -> None:
    same = np.ones((3, 5))
    assert pairwise_accuracy(same, same).value == 1
    assert soft_pairwise_accuracy(same, same, seed=0).value == 1


def test_what_is_not_a_table_of_scores_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        soft_pairwise_accuracy([[1, float("nan")], [1.0, 2]], [[1, 2], [1, 2]], seed=0)
    with pytest.raises(ValueError, match="shape"):
        pairwise_accuracy([[1, 2], [1, 2]], [[1, 2]])
    with pytest.raises(ValueError, match="shape"):
        pairwise_accuracy([1, 2], [1, 2])
