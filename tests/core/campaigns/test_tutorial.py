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


@pytest.mark.parametrize(
    ("spans", "kinds", "credit", "remarks"),
    [
        ((CAT, AT), ["found", "found"], 4 / 4, []),
        ((CAT, span(19, 22)), ["found", "missed", "extra"], 2 / 5, ["You missed “at”.", "No error: “mat”."]),
        (
            (span(4, 7, "Minor"), AT), ["severity", "found"], 3 / 4,
            ["You found “cat”, but its severity is Major, not Minor."],
        ),
    ],
)  # fmt: skip
def test_the_mark_is_the_share_of_right_error_spans(
    spans: tuple[Span, ...], kinds: list[str], credit: float, remarks: list[str]
) -> None:
    result = tutorial_result(ITEM, answer(*spans))
    assert [f.kind for f in result.feedback] == kinds
    assert result.mark == pytest.approx(credit)
    assert [f.text for f in result.feedback if f.kind != "found"] == remarks


@pytest.mark.parametrize(("score", "mark"), [(40, 1.0), (60, 1.0), (70, 1 - 10 / 25), (35, 1 - 5 / 25), (100, 0.0)])
def test_a_score_outside_its_range_lowers_the_mark(score: float, mark: float) -> None:
    result = tutorial_result(ITEM, answer(score=score), asks=("score",))
    assert result.mark == pytest.approx(mark)
    assert result.right == (mark == 1)


def test_spans_and_score_count_alike() -> None:
    right, half = (tutorial_result(ITEM, answer(CAT, AT, score=score), asks=("spans", "score")) for score in (50, None))
    assert (right.mark, right.right, right.explanation) == (1.0, True, "Cats lie.")
    assert half.mark == pytest.approx((1 + 0) / 2)


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
