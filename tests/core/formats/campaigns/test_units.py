"""Offsets in UTF-16 units, with and without line breaks, and with tags that count as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.formats.campaigns.span_json import BACKWARDS, HALF, OUTSIDE, Units
from tests.core.formats.campaigns.campaign_cases import SPOKEN


@pytest.mark.parametrize(
    ("text", "first", "last", "quote"),
    [
        ("😀 ab", 3, 3, "a"),
        ("😀 ab", 0, 1, "😀"),
        ("a<br>b", 2, 2, "b"),
        ("a<br>b", 1, 1, "<br>"),
        ("a<BR />b", 2, 2, "b"),
        ("a</br>b", 0, 1, "a</br>"),
        ("e\u0301x", 2, 2, "x"),
        ("abc", 3, 2, ""),
        ("", 0, -1, ""),
    ],
)
def test_a_unit_has_its_place_in_code_points(text: str, first: int, last: int, quote: str) -> None:
    found = Units(text, tags=True).place(first, last)
    assert not isinstance(found, str)
    assert text[slice(*found)] == quote


def test_line_breaks_may_not_count() -> None:
    assert Units("a\nb", breaks=False).place(1, 1) == (2, 3)
    assert Units("a\nb").place(1, 1) == (1, 2)


@pytest.mark.parametrize(
    ("first", "last", "why"), [(0, 0, HALF), (1, 1, HALF), (0, 3, OUTSIDE), (-1, 0, OUTSIDE), (2, 0, BACKWARDS)]
)
def test_a_span_without_a_place_has_a_reason(first: int, last: int, why: str) -> None:
    assert Units("😀b").place(first, last) == why


@given(SPOKEN, st.booleans(), st.data())
def test_whole_units_are_restored(text: str, breaks: bool, data: st.DataObject) -> None:
    units = Units(text, breaks=breaks, tags=True)
    first = data.draw(st.integers(0, units.count))
    last = data.draw(st.integers(first - 1, units.count - 1))
    found = units.place(first, last)
    if not isinstance(found, str) and (breaks or first <= last):
        assert units.back(*found) == (first, last)
