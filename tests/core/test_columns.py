"""Stored columns of scores stay the same, and columns without reasons take no memory for them."""

from __future__ import annotations

import numpy as np
import pytest

from core.columns import ColumnDraft, ProjectIndex, ScoreColumn
from core.data import OutputKey, SegmentKey, Value

INDEX = ProjectIndex(
    tuple(SegmentKey("d", str(i)) for i in range(500)), ("A", "B"), np.ones((500, 2), dtype=np.int32), "1:1"
)


def filled(*values: tuple[int, Value]) -> ScoreColumn:
    draft = ColumnDraft(ScoreColumn.empty(INDEX))
    for at, value in values:
        draft.put([at], [(value.value, value.status, value.reason, value.parts)])
    return draft.column()


@pytest.mark.parametrize("reason", ["", "no source"])
def test_a_stored_column_is_the_same_and_can_be_filled_further(reason: str) -> None:
    first = Value(None, "needs", reason) if reason else Value(0.1, parts={"dist_exp": 1.0})
    column = filled((0, first), (3, Value(-2.5)))
    again = ScoreColumn.from_bytes(INDEX, column.to_bytes())
    assert dict(again) == dict(column) == {OutputKey("A", "d", "0"): first, OutputKey("B", "d", "1"): Value(-2.5)}
    draft = ColumnDraft(again)
    draft.put([1], [(None, "undefined", "empty", None)])
    assert draft.column().at(0, 1) == Value(None, "undefined", "empty")
    assert dict(again) == dict(column)


def test_columns_without_reasons_take_no_memory_for_them() -> None:
    without, having = filled((0, Value(1.0))), filled((0, Value(None, "undefined", "empty")))
    assert having.nbytes - without.nbytes == 4 * 1000
    assert ScoreColumn.from_bytes(INDEX, without.to_bytes()).nbytes == without.nbytes
