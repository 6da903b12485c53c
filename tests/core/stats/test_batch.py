import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.stats.correlation.batch import cells, evaluator
from core.stats.correlation.correlation import GROUPS, MEASURES
from core.stats.correlation.pairs import SMALL
from core.stats.significance.perm_both import agreement_with_ties

OUTPUTS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)),
    min_size=1,
    max_size=24,
)


@given(OUTPUTS)
def test_each_row_has_the_agreement_it_has_alone(outputs: list[tuple[int, int, int, int, int]]) -> None:
    first, second, human, segments, systems = (list(column) for column in zip(*outputs, strict=True))
    for measure in MEASURES:
        for group in GROUPS:
            value = evaluator(measure, np.array(human, dtype=float), group=group, segments=segments, systems=systems)
            found = value(np.array([first, second], dtype=float))
            for row, scores in zip(found, (first, second), strict=True):
                alone = agreement_with_ties(measure, scores, human, group=group, segments=segments, systems=systems)
                if alone.value is None:
                    assert np.isnan(row)
                else:
                    assert row == pytest.approx(alone.value, abs=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_large_groups_have_the_same_values_as_small_ones(measure: str) -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(0, 4, 3 * SMALL)
    scores = human + rng.normal(size=(2, len(human))).round(1)
    segments = [0] * (2 * SMALL) + [1] * SMALL
    found = evaluator(measure, human.astype(float), group="segment", segments=segments)(scores)  # type: ignore[arg-type]
    for row, one in zip(found, scores, strict=True):
        assert row == pytest.approx(agreement_with_ties(measure, one, human, group="segment", segments=segments).value)  # type: ignore[arg-type]


def test_a_constant_of_tenths_is_constant() -> None:
    # the mean of many 0.1 is not 0.1 exactly; what is left of it is no correlation
    human = np.arange(30.0)
    for measure in ("pearson", "spearman", "kendall"):
        assert np.isnan(evaluator(measure, human)(np.full((1, 30), 0.1)))[0]


def test_pairwise_measures_need_one_cell_per_pair() -> None:
    segments = [0, 0, 0, 1, 1, 2]  # 3 + 1 pairs
    assert cells("kendall", 6, "segment", segments) == 6
    assert cells("acc_eq", 6, "pooled") == 15
    assert cells("kendall", 2 * SMALL, "pooled") == 2 * SMALL
    assert cells("pearson", 1000, "pooled") == 1000


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(UserError, match="kendall, acc_eq"):
        evaluator("tau", np.ones(3))  # type: ignore[arg-type]
