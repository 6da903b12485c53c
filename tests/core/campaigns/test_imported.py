"""The analysis of an imported campaign, on cases counted by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.campaigns.imported import (
    SAME_TEXT,
    attention,
    campaign_agreement,
    check_results,
    penalty_of,
    ranking,
    times,
)
from core.data import Dataset, Output, OutputKey, Segment, Span
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating

TEXT = "a red house"
SEGMENTS = tuple(Segment("d", str(n), "Haus") for n in range(3))
OUTPUTS = tuple(Output(system, *s.key, TEXT) for s in SEGMENTS for system in "AB")
DATASET = Dataset(SEGMENTS, OUTPUTS)
START = datetime(2026, 1, 1, tzinfo=UTC)


def key(system: str, segment: int) -> OutputKey:
    return OutputKey(system, "d", str(segment))


def span(start: int, end: int, severity: str = "Minor") -> Span:
    return Span("output", start, end, TEXT[start:end], severity, "Style")


def item(rater: str, system: str, segment: int, score: float | None, *errors: Span) -> CampaignRating:
    return CampaignRating(rater, key(system, segment), "item", errors, score)


def check(
    rater: str, of: OutputKey | None, score: float | None, *errors: Span, text: str = "a mouse"
) -> CampaignRating:
    return CampaignRating(rater, OutputKey("A", "d#bad1", "0"), "check", errors, score, text=text, of=of)


def file(*ratings: CampaignRating) -> CampaignFile:
    return CampaignFile(DATASET, ratings)


@pytest.mark.parametrize(
    ("score", "severity", "passed"),
    [
        (49.0, "Minor", True), (50.0, "Minor", False), (51.0, "Major", False),
        (None, "Major", True), (None, "Minor", False), (None, "undecided", False),
    ],
)  # fmt: skip
def test_a_check_is_passed_below_the_score_of_its_output_or_above_its_penalty(
    score: float | None, severity: str, passed: bool
) -> None:
    rated = item("x", "A", 0, None if score is None else 50.0, span(0, 1))
    of_check = check("x", key("A", 0), score, Span("output", 0, 1, "a", severity, "Style"))
    results = check_results(file(rated, item("y", "A", 0, 99.0), of_check))
    assert [r.passed for r in results] == [passed]


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        ([check("x", key("A", 0), 1.0)], "did not rate the output"),
        ([check("x", None, 1.0)], "is not known"),
        ([item("x", "A", 0, 50.0), check("x", key("A", 0), 1.0, text=TEXT)], SAME_TEXT),
        (
            [replace(item("x", "A", 0, 5.0), errors=None), check("x", key("A", 0), None)],
            "neither scores nor error spans",
        ),
    ],
)
def test_a_check_that_cannot_be_judged_has_a_reason(ratings: list[CampaignRating], why: str) -> None:
    (result,) = check_results(file(*ratings))
    assert result.passed is None
    assert why in result.reason
    (of_rater,) = attention(file(*ratings))
    assert (of_rater.passed.value, of_rater.passed.n, of_rater.unjudged) == (None, 0, 1)


def test_the_verdict_of_the_file_counts_once_per_page() -> None:
    def on_page(system: str, segment: str, passed: bool) -> CampaignRating:
        return CampaignRating("x", OutputKey(system, "random_0", segment), "check", (), 5.0, text="t", passed=passed)

    (of_rater,) = attention(
        file(
            on_page("1st", "0", True), on_page("2nd", "0", False), on_page("1st", "1", True), on_page("2nd", "1", True)
        )
    )
    assert (of_rater.passed.value, of_rater.passed.n) == (0.5, 2)
    assert of_rater.passed.low == pytest.approx(0.0945, abs=1e-4)


def test_systems_are_ranked_by_the_mean_over_outputs() -> None:
    rows = ranking(
        file(
            item("x", "A", 0, 50.0, span(0, 1)), item("y", "A", 0, 70.0), item("x", "A", 1, 90.0, span(0, 1, "Major")),
            item("x", "B", 0, 80.0), item("x", "B", 1, 80.0, span(0, 1, "critical"), span(0, 1, "undecided")),
        )
    )  # fmt: skip
    assert [(r.system, r.outputs, r.n_ratings, r.score.value, r.penalty.value) for r in rows] == [
        ("B", 2, 2, 80.0, 12.5), ("A", 2, 3, 75.0, 2.75),
    ]  # fmt: skip
    assert rows[1].score.low is not None


def test_without_scores_the_lowest_penalty_is_first() -> None:
    rows = ranking(file(item("x", "A", 0, None, span(0, 1)), item("x", "B", 0, None)))
    assert [(r.system, r.score.value, r.penalty.value) for r in rows] == [("B", None, 0.0), ("A", None, 1.0)]


def test_errors_that_are_not_all_known_have_no_penalty() -> None:
    assert penalty_of(replace(item("x", "A", 0, 5.0), errors=None)) is None
    assert penalty_of(item("x", "A", 0, 5.0, span(0, 1, "odd name"))) is None
    assert penalty_of(replace(item("x", "A", 0, 5.0), unread=1)) is None


def test_agreement_is_that_of_outputs_with_several_ratings() -> None:
    result = campaign_agreement(
        file(
            item("x", "A", 0, 10.0, span(0, 5)), item("y", "A", 0, 10.0, span(0, 5, "Major")),
            item("x", "B", 0, 90.0), item("y", "B", 0, 90.0), item("x", "A", 1, 5.0), item("z", "A", 2, 7.0),
        )
    )  # fmt: skip
    assert result.outputs == 2
    assert result.score_alpha.value == pytest.approx(1.0)
    assert result.spans.micro.value == 1.0
    assert [(p.first, p.second, p.tau.n) for p in result.pairs] == [("x", "y", 2)]


def test_agreement_without_shared_outputs_is_undefined() -> None:
    result = campaign_agreement(file(item("x", "A", 0, 10.0), item("y", "B", 0, 20.0)))
    assert (result.outputs, result.score_alpha.value, result.pairs) == (0, None, ())
    assert result.score_alpha.reason


def at(rating: CampaignRating, began: float | None, ended: float) -> CampaignRating:
    start = None if began is None else START + timedelta(seconds=began)
    return replace(rating, began=start, ended=START + timedelta(seconds=ended))


def test_seconds_count_from_the_end_of_the_previous_rating() -> None:
    seconds = times(
        file(
            at(item("x", "A", 0, 1.0, span(0, 1), span(2, 3)), 0, 10), at(item("x", "A", 1, 1.0), 12, 40),
            at(check("x", key("A", 0), 1.0), 41, 50), at(item("x", "A", 2, 1.0, span(0, 1)), None, 56), item("x", "B", 2, 1.0),
        )
    )  # fmt: skip
    assert (seconds.per_item, seconds.per_span) == (10.0, 5.5)
    assert (seconds.recorded, seconds.timed) == (19.0, 3)


def test_the_seconds_of_a_page_are_divided_by_its_ratings() -> None:
    seconds = times(file(*(at(item("x", system, 0, 1.0), 0, 30) for system in "AB")))
    assert (seconds.per_item, seconds.per_span) == (15.0, None)
    assert times(file(item("x", "A", 0, 1.0))).per_item is None
