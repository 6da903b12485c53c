"""Which texts are the good ones, what they are held against, and how they are called."""

import pytest

from core.data import Dataset, Output, Segment
from core.errors import UserError
from core.robustness.stress.gold import from_references, from_system, gold_of, left_out

DATA = Dataset(
    (
        Segment("a", "1", "s1", ("gold 1", "other 1", "third 1")),
        Segment("a", "2", None, ("gold 2",)),
        Segment("b", "1", "s3", ()),
        Segment("b", "3", "s4", ("  ", "other 4")),
    ),
    (Output("X", "a", "1", "x1"), Output("X", "b", "1", "x3"), Output("X", "b", "3", " "), Output("Y", "a", "2", "y2")),
)


def test_the_first_reference_is_gold_the_others_references() -> None:
    first, second = from_references(DATA)
    assert first.item == ("s1", "gold 1", ("other 1", "third 1"))
    assert second.item == (None, "gold 2", ())


def test_system_gold_keeps_all_references_without_blanks() -> None:
    assert [g.item for g in from_system(DATA, "X")] == [
        ("s1", "x1", ("gold 1", "other 1", "third 1")),
        ("s3", "x3", ()),
    ]


def test_shared_segment_ids_get_the_document_name() -> None:
    assert [g.id for g in from_system(DATA, "X")] == ["a:1", "b:1"]
    assert [g.id for g in from_references(DATA)] == ["1", "2"]


def test_gold_is_asked_for_by_name() -> None:
    assert gold_of(DATA, "reference") == from_references(DATA)
    assert gold_of(DATA, "Y") == from_system(DATA, "Y")
    with pytest.raises(UserError, match="Did you mean reference"):
        gold_of(DATA, "refrence")
    with pytest.raises(UserError, match="no segment has a reference"):
        gold_of(Dataset(DATA.segments[2:3], DATA.outputs), "reference")


def test_blank_and_missing_texts_are_counted() -> None:
    # references: none in b:1, a blank first one in b:3. X wrote nothing for a:2 and a blank for b:3; Y wrote for a:2 alone
    assert [left_out(DATA, which) for which in ("reference", "X", "Y")] == [2, 2, 3]
