import pytest

from core.stats.table import complete_table


def test_segments_that_a_system_lacks_are_left_out() -> None:
    systems, segments = ["B", "A", "B", "A", "B"], [1, 1, 2, 3, 3]
    table = complete_table(systems, segments)
    assert (table.systems, table.rows.tolist()) == (("B", "A"), [[0, 4], [1, 3]])
    assert table.of([10, 20, 30, 40, 50]).tolist() == [[10, 50], [20, 40]]


def test_nothing_in_common_is_an_empty_table() -> None:
    table = complete_table(["A", "B"], [1, 2])
    assert table.of([1, 2]).shape == (2, 0)
    assert complete_table([], []).of([]).shape == (0, 0)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="two outputs for one segment"):
        complete_table(["A", "A", "B"], [1, 1, 1])
    with pytest.raises(ValueError, match="2 systems and 1 segments"):
        complete_table(["A", "B"], [1])
    with pytest.raises(ValueError, match="finite"):
        complete_table(["A", "B"], [1, 1]).of([1, float("nan")])
