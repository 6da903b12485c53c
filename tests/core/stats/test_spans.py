from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.stats.correlation.correlation import Statistic
from core.stats.raters.span_agreement import (
    NO_CHARACTERS,
    NOTHING,
    By,
    SpanLabel,
    SpanMatch,
    match_spans,
    severity_confusion,
    span_agreement,
)

LENGTH = 12
MARKS = st.lists(
    st.builds(
        lambda a, b, s, c: SpanLabel(min(a, b), max(a, b), s, c),
        st.integers(0, LENGTH),
        st.integers(0, LENGTH),
        st.sampled_from(["Major", "Minor", "Neutral"]),
        st.sampled_from(["Accuracy", "Fluency"]),
    ),
    max_size=4,
)


def major(start: int, end: int, category: str = "Accuracy", severity: str = "Major") -> SpanLabel:
    return SpanLabel(start, end, severity, category)


minor = partial(major, severity="Minor")


def test_f1_with_the_arithmetic_written_out() -> None:
    # [0, 4) and [2, 8): shared 2 characters, 4 + 6 marked: 2·2/10
    assert match_spans([major(0, 4)], [minor(2, 8)], 10).f1.value == pytest.approx(0.4)
    assert match_spans([major(0, 4)], [minor(2, 8)], 10, ["severity"]).f1.value == 0
    # Major [0, 4) + Minor [6, 8) and Major [2, 8): severities agree on 2, 3; 2·2/(6 + 6)
    match = match_spans([major(0, 4), minor(6, 8)], [major(2, 8)], 10, ["severity"])
    assert match == SpanMatch(6, 6, 2, "both")
    assert match.f1.value == pytest.approx(1 / 3)
    assert match_spans([major(0, 4, "Fluency")], [major(0, 4)], 9, ["severity"]).f1.value == 1
    assert match_spans([major(0, 4, "Fluency")], [major(0, 4)], 9, ["severity", "category"]).f1.value == 0


@given(MARKS, MARKS, st.sampled_from([(), ("severity",), ("category",), ("severity", "category")]))
def test_it_counts_labelled_characters(first: list[SpanLabel], second: list[SpanLabel], by: tuple[By, ...]) -> None:
    def characters(marks: list[SpanLabel]) -> set[tuple[object, ...]]:
        return {(i, *(getattr(m, name) for name in by)) for m in marks for i in range(m.start, m.end)}

    a, b = characters(first), characters(second)
    match = match_spans(first, second, LENGTH, by)
    assert match[:3] == (len(a), len(b), len(a & b))
    assert match_spans(second, first, LENGTH, by).f1 == match.f1
    if first and second and (a or b):
        assert match.f1.value == pytest.approx(2 * len(a & b) / (len(a) + len(b)))


def test_nothing_found_is_counted_apart_and_by_one_alone_is_0() -> None:
    assert match_spans([], [], 5).f1 == Statistic(None, NOTHING)
    assert match_spans([major(0, 1)], [], 5).f1.value == 0
    assert match_spans([], [major(3, 3)], 5).f1.value == 0  # a place without text is something found
    assert match_spans([major(3, 3)], [major(3, 3)], 5).f1.reason == NO_CHARACTERS
    assert match_spans([major(3, 3)], [major(3, 4)], 5).f1.value == 0
    assert match_spans([], [], 0).f1.reason == NOTHING


def test_texts_are_summed_and_averaged() -> None:
    # f1: 2·2/(2 + 4) = 2/3; 0 (one found 10 characters, the other nothing); undefined; 2·0/(1 + 1) = 0
    matches = [
        SpanMatch(2, 4, 2, "both"),
        SpanMatch(10, 0, 0, "one_empty"),
        SpanMatch(0, 0, 0, "both_empty"),
        SpanMatch(1, 1, 0, "both"),
    ]
    result = span_agreement(matches)
    assert result.micro.value == pytest.approx(2 * 2 / 18)
    assert result.macro.value == pytest.approx((2 / 3 + 0 + 0) / 3)
    counts = (result.texts, result.both_empty, result.one_empty, result.macro.groups, result.macro.undefined)
    assert counts == (4, 1, 1, 3, 1)


def test_where_no_text_has_an_f1_it_says_why() -> None:
    clean = span_agreement([match_spans([], [], 5)] * 3)
    assert (clean.micro.value, clean.micro.reason, clean.macro.reason, clean.both_empty) == (None, NOTHING, NOTHING, 3)
    assert span_agreement([]).micro.reason == "there are no texts"
    places = span_agreement([match_spans([major(1, 1)], [major(1, 1)], 5), match_spans([], [], 5)])
    assert (places.macro.value, places.macro.reason) == (None, NO_CHARACTERS)
    # one found a place without text, the other nothing: no character to sum, but a 0 to average
    one = span_agreement([match_spans([major(1, 1)], [], 5)])
    assert (one.micro.value, one.macro.value) == (None, 0)


def test_severities_are_crossed_where_both_marked() -> None:
    first = [major(0, 4), minor(6, 9)]
    second = [minor(2, 7), SpanLabel(8, 12, "Neutral", "Fluency")]
    # 2, 3: Major/Minor; 6: Minor/Minor; 8: Minor/Neutral
    assert severity_confusion(first, second, 12).tolist() == [[0, 2, 0], [0, 1, 1], [0, 0, 0]]
    assert severity_confusion(second, first, 12).tolist() == np.transpose([[0, 2, 0], [0, 1, 1], [0, 0, 0]]).tolist()
    assert severity_confusion([], first, 12).sum() == 0


@given(MARKS, MARKS)
def test_the_worst_severity_of_a_character_counts(first: list[SpanLabel], second: list[SpanLabel]) -> None:
    order = ["Major", "Minor", "Neutral"]
    expected = np.zeros((3, 3), dtype=int)
    for i in range(LENGTH):
        ranks = [[order.index(m.severity) for m in marks if m.start <= i < m.end] for marks in (first, second)]
        if all(ranks):
            expected[min(ranks[0]), min(ranks[1])] += 1
    assert severity_confusion(first, second, LENGTH).tolist() == expected.tolist()


def test_what_does_not_fit_is_refused() -> None:
    for wrong in (major(3, 2), major(-1, 2), major(0, 6)):
        with pytest.raises(ValueError, match="does not lie in a text of 5"):
            match_spans([wrong], [], 5)
    with pytest.raises(UserError, match="Critical"):
        severity_confusion([SpanLabel(0, 1, "Critical", "x")], [], 5)
