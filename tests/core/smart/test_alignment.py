"""SMART-1, -2, -L, -X against loops, and what must hold of them for any matrix."""

import itertools
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.smart.alignment import Array, Variant, best_matches, smart, soft_lcs_path
from tests.core.smart.oracle import RECALLS, measured

SHAPES = st.tuples(st.integers(1, 7), st.integers(1, 7))
MATRICES = SHAPES.flatmap(lambda shape: arrays(np.float64, shape, elements=st.floats(0, 1, width=32)))
VARIANTS: tuple[Variant, ...] = get_args(Variant)


def scores(matrix: Array, variant: Variant) -> tuple[float, float, float]:
    p, r, f = smart([matrix], variant)[0]
    return float(p), float(r), float(f)


@given(st.lists(MATRICES, min_size=1, max_size=6))
def test_many_matrices_at_once_give_what_the_loops_give(matrices: list[Array]) -> None:
    for variant, recall in RECALLS.items():
        expected = [measured(recall, matrix.tolist()) for matrix in matrices]
        assert smart(matrices, variant) == pytest.approx(np.array(expected), abs=1e-12)  # type: ignore[arg-type]
    means = np.mean([smart(matrices, v) for v in ("1", "2", "L")], axis=0)
    assert smart(matrices, "X") == pytest.approx(means, abs=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
@given(matrix=MATRICES)
def test_transposing_a_matrix_swaps_precision_and_recall(variant: Variant, matrix: Array) -> None:
    p, r, f = scores(matrix, variant)
    assert 0 <= p <= 1
    assert 0 <= r <= 1
    if variant == "X":  # a mean of three F, which may leave the interval of the two means
        assert 0 <= f <= 1
    else:
        assert min(p, r) - 1e-12 <= f <= max(p, r) + 1e-12
    assert scores(matrix.T, variant) == (r, p, f)


@given(MATRICES, st.randoms(use_true_random=False))
def test_the_order_of_sentences_is_nothing_to_smart_1(matrix: Array, rng: np.random.Generator) -> None:
    rows, columns = list(range(matrix.shape[0])), list(range(matrix.shape[1]))
    rng.shuffle(rows)
    rng.shuffle(columns)
    assert scores(matrix[rows][:, columns], "1") == pytest.approx(scores(matrix, "1"), abs=1e-12)


@given(MATRICES)
def test_keeping_to_the_order_never_pays(matrix: Array) -> None:
    assert np.all(smart([matrix], "L") <= smart([matrix], "1") + 1e-12)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_text_against_itself(n: int) -> None:
    same = np.eye(n)
    assert scores(same, "1") == scores(same, "L") == (1, 1, 1)
    # n sentences make n + 1 bigrams with the blanks: n − 1 match wholly, the two at the ends by half (n = 1: two halves)
    assert scores(same, "2") == pytest.approx((n / (n + 1),) * 3)


def test_reversed_sentences_cost_smart_2_and_smart_l() -> None:
    turned = np.eye(3)[::-1]
    assert scores(turned, "1") == (1, 1, 1)
    # bigrams of a reversed text share one sentence at most: 4 halves of 4; soft-LCS keeps one of three sentences
    assert scores(turned, "2") == pytest.approx((0.5, 0.5, 0.5))
    assert scores(turned, "L") == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_smart_by_hand() -> None:
    m = np.array([[0.9, 0.1, 0.3], [0.2, 0.4, 0.8]])
    # rows: .9, .8; columns: .9, .4, .8
    assert scores(m, "1") == pytest.approx((2.1 / 3, 0.85, 2 * 0.7 * 0.85 / 1.55))
    # rows in order: .9 + .8; columns in order: .9 (row 0), .4 and .8 (row 1)
    assert scores(m, "L") == pytest.approx((2.1 / 3, 1.7 / 2, 2 * 0.7 * 0.85 / 1.55))


def test_nothing_matched_is_0_and_so_is_a_side_without_sentences() -> None:
    for variant in VARIANTS:
        empty = [np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((2, 0))]
        assert np.array_equal(smart(empty, variant), np.zeros((3, 3)))
        assert smart([], variant).shape == (0, 3)


def test_nan_in_a_matrix_does_not_affect_others() -> None:
    matrices = [np.array([[0.5, np.nan], [0.5, 0.5]]), np.full((2, 2), 0.5)]
    for variant in VARIANTS:
        scores = smart(matrices, variant)
        assert np.isnan(scores[0, 2])
        assert not np.isnan(scores[1]).any()


@given(MATRICES)
def test_the_path_never_decreases_and_sums_to_smart_l(matrix: Array) -> None:
    path = soft_lcs_path(matrix)
    assert len(path) == matrix.shape[0]
    assert all(a <= b for a, b in itertools.pairwise(path))
    assert sum(matrix[i, j] for i, j in enumerate(path)) / len(path) == pytest.approx(scores(matrix, "L")[1], abs=1e-12)


@given(MATRICES)
def test_best_matches_are_the_first_of_the_highest(matrix: Array) -> None:
    of_target, of_candidate = best_matches(matrix)
    for i, row in enumerate(matrix.tolist()):
        assert (of_target.at[i], of_target.score[i]) == (row.index(max(row)), max(row))
    for j, column in enumerate(matrix.T.tolist()):
        assert (of_candidate.at[j], of_candidate.score[j]) == (column.index(max(column)), max(column))
