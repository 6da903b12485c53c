"""Offsets in UTF-16 units, with and without line breaks, and with tags that count as one."""

from hypothesis import given
from hypothesis import strategies as st

from core.formats.campaigns.span_json import BACKWARDS, HALF, OUTSIDE, Units
from tests.core.formats.campaigns.campaign_cases import SPOKEN


def test_a_unit_has_its_place_in_code_points_or_a_reason() -> None:
    for text, first, last, quote in (
        ("😀 ab", 3, 3, "a"), ("😀 ab", 0, 1, "😀"), ("a<br>b", 2, 2, "b"), ("a<br>b", 1, 1, "<br>"), ("a<BR />b", 2, 2, "b"),
        ("a</br>b", 0, 1, "a</br>"), ("e\u0301x", 2, 2, "x"), ("abc", 3, 2, ""), ("", 0, -1, ""),
    ):  # fmt: skip
        place = Units(text, tags=True).place(first, last)
        assert not isinstance(place, str)
        assert text[slice(*place)] == quote
    assert Units("a\nb", breaks=False).place(1, 1) == (2, 3)
    assert Units("a\nb").place(1, 1) == (1, 2)
    for first, last, why in ((0, 0, HALF), (1, 1, HALF), (0, 3, OUTSIDE), (-1, 0, OUTSIDE), (2, 0, BACKWARDS)):
        assert Units("😀b").place(first, last) == why


@given(SPOKEN, st.booleans(), st.data())
def test_whole_units_are_restored(text: str, breaks: bool, data: st.DataObject) -> None:
    units = Units(text, breaks=breaks, tags=True)
    first = data.draw(st.integers(0, units.count))
    last = data.draw(st.integers(first - 1, units.count - 1))
    found = units.place(first, last)
    if not isinstance(found, str) and (breaks or first <= last):
        assert units.back(*found) == (first, last)
