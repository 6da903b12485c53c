import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.significance.holm import holm


def rejected(p_values: list[float], alpha: float) -> set[int]:
    """Holm's procedure as he states it: from the smallest p on, stop at the first above alpha over those left."""
    out: set[int] = set()
    for i in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        if p_values[i] > alpha / (len(p_values) - len(out)):
            break
        out.add(i)
    return out


def test_holm_with_the_arithmetic_written_out() -> None:
    # .01·4 = .04, .02·3 = .06, .03·2 = .06, .04·1 = .04, not below the one before
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.6]) == pytest.approx([1, 1])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(0, 199))
def test_holm_rejects_what_the_procedure_rejects(places: list[int], alpha: int) -> None:
    p_values, level = [p / 40 for p in places], (alpha + 0.5) / 200
    found = holm(p_values)
    assert {i for i, p in enumerate(found) if p is not None and p <= level} == rejected(p_values, level)


def test_undefined_tests_stay_undefined_and_cost_nothing() -> None:
    assert holm([None, 0.01, None, 0.02]) == [None, pytest.approx(0.02), None, pytest.approx(0.02)]


def test_what_is_no_probability_is_refused() -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="must lie in"):
            holm([0.1, wrong])
