"""Tutorials: the mark of an answer and what is said about it."""

import json

import pytest

from core.campaigns.design import TutorialItem
from core.campaigns.tutorial import (
    TutorialResult,
    tutorial_from_json,
    tutorial_mark,
    tutorial_result,
    tutorial_to_json,
)
from core.data import OutputKey, Span
from core.ports.labels import ErrorSpan, OutputLabels

TEXT = "The cat sat at the mat."


def span(start: int, end: int, severity: str = "Major") -> Span:
    return Span("output", start, end, TEXT[start:end], severity, "Accuracy/Mistranslation")


CAT, AT = span(4, 7), span(12, 14, "Minor")
ITEM = TutorialItem(OutputKey("A", "d", "1"), (CAT, AT), (40.0, 60.0), "Cats lie.")


def answer(*spans: Span, score: float | None = None) -> OutputLabels:
    return OutputLabels(tuple(ErrorSpan(str(i), s) for i, s in enumerate(spans)), None, score)


def test_the_right_answer_gets_full_marks() -> None:
    found = tutorial_result(ITEM, answer(CAT, AT, score=50), asks=("spans", "score"))
    assert (found.mark, found.right, found.explanation) == (1.0, True, "Cats lie.")
    assert [f.kind for f in found.feedback] == ["found", "found"]


def test_a_missed_and_an_extra_span_lower_the_mark() -> None:
    found = tutorial_result(ITEM, answer(CAT, span(19, 22)))
    assert [f.kind for f in found.feedback] == ["found", "missed", "extra"]
    assert found.mark == pytest.approx(2 * 1 / (2 + 2 + 1))
    assert found.feedback[1].text == "You missed “at”."
    assert found.feedback[2].text == "No error: “mat”."


def test_a_wrong_severity_counts_half() -> None:
    found = tutorial_result(ITEM, answer(span(4, 7, "Minor"), AT))
    assert [f.kind for f in found.feedback] == ["severity", "found"]
    assert found.mark == pytest.approx(2 * 1.5 / 4)
    assert found.feedback[0].text == "You found “cat”, but its severity is Major, not Minor."


@pytest.mark.parametrize(("score", "mark"), [(40, 1.0), (60, 1.0), (70, 1 - 10 / 25), (35, 1 - 5 / 25), (100, 0.0)])
def test_a_score_outside_its_range_lowers_the_mark(score: float, mark: float) -> None:
    found = tutorial_result(ITEM, answer(score=score), asks=("score",))
    assert found.mark == pytest.approx(mark)
    assert found.right == (mark == 1)


def test_spans_and_score_count_alike() -> None:
    found = tutorial_result(ITEM, answer(CAT, AT, score=None), asks=("spans", "score"))
    assert found.mark == pytest.approx((1 + 0) / 2)


def test_an_output_without_errors_needs_no_spans() -> None:
    item = TutorialItem(OutputKey("A", "d", "1"))
    assert tutorial_result(item, answer()).mark == 1
    assert tutorial_result(item, answer(CAT)).mark == 0
    assert tutorial_result(item, answer(span(0, 3, "Neutral"))).mark == 1


def test_the_mean_mark_decides() -> None:
    results = [TutorialResult((), 1.0, True), TutorialResult((), 0.5, False)]
    assert tutorial_mark(results) == 0.75
    assert tutorial_mark([]) == 1


def test_the_details_of_a_unit_keep_the_right_answer() -> None:
    stored = json.loads(json.dumps(tutorial_to_json(ITEM)))
    assert tutorial_from_json(stored, "d", "1") == ITEM
