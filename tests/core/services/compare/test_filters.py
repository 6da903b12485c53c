"""The filter of the Compare page, and the worst outputs that match it."""

import pytest

from core.errors import UserError
from core.services.compare.compare import (
    FieldTerm,
    OutputFilter,
    Query,
    ScoreTerm,
    matching,
    ordered,
    parse_filter,
    worst_outputs,
)
from core.services.compare.segment import MQM, with_mqm
from core.services.projects.view import View
from tests.core.services.compare.test_compare import make_view
from tests.core.services.compare.test_labels import RATED, marks


@pytest.fixture(scope="module")
def view() -> View:
    return with_mqm(make_view(), marks(*RATED))


def cells(view: View, text: str) -> list[str]:
    """Return the matching outputs as system, document and segment."""
    keep = matching(view, parse_filter(text), 1.0)
    return [
        f"{system} {segment.doc_id}/{segment.segment_id}"
        for i, segment in enumerate(view.segments)
        for j, system in enumerate(view.systems)
        if keep[i, j] and view.present[i, j]
    ]


def test_a_filter_has_scores_fields_and_a_phrase() -> None:
    assert parse_filter('mqm<-5 two system:A  "with: quotes" -category:"Fluency/Grammar" words "my score" >= \u22120.5') == OutputFilter(
        "two with: quotes words",
        (ScoreTerm("mqm", "<", -5.0), ScoreTerm("my score", ">=", -0.5)),
        (FieldTerm("system", "a", False), FieldTerm("category", "fluency/grammar", True)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("", ""),
        ("  ", ""),
        ("12:30", "12:30"),
        ("=1+1", "=1+1"),
        ("Note: x", "note: x"),
        ('a "b', 'a "b'),
        ('"a<b" "c:d"', "a<b c:d"),
    ],
)
def test_other_words_are_searched_as_they_are(text: str, phrase: str) -> None:
    assert parse_filter(text) == OutputFilter(phrase)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("river", ["a d1/1", "b d1/1"]),
        ("mqm<-5", ["a d1/1"]),
        ("MQM = 0", ["b d1/1"]),
        ("mqm<=0", ["a d1/1", "b d1/1", "a d1/2"]),
        ("chrf>=80", ["a d1/2", "b d1/2"]),
        ("CHRF>=80 ter<30", ["a d1/2"]),
        ("adequacy>3", ["a d1/1"]),
        ("system:b", ["b d1/1", "b d1/2"]),
        ("-system:b segment:1", ["a d1/1", "a d2/1"]),
        ("doc:d2", ["a d2/1"]),
        ("category:fluency", ["a d1/1", "a d1/2"]),
        ("category:accuracy severity:minor", []),  # of one error
        ("severity:major", ["a d1/1"]),
        ("-severity:minor system:a", ["a d2/1"]),
        ("annotator:bob", ["a d1/1"]),
        ("annotator:ann category:fluency", ["a d1/2"]),
        ("annotator:ann", ["a d1/1", "b d1/1", "a d1/2"]),
    ],
)
def test_all_parts_must_hold_for_an_output(view: View, text: str, expected: list[str]) -> None:
    assert cells(view, text) == expected


@pytest.mark.parametrize(
    ("text", "what", "named"),
    [
        ("comet<3", "unknown score", "MQM, CHRF, TER, BARTSCORE++, adequacy"),
        ("mqm<low", "not a number", "mqm<-5"),
        ("mqm<", "not a number", "mqm<-5"),
        ("sistem:A", "unknown field", "system, doc, segment, category, severity, annotator"),
        ("severity:bad", "unknown severity", "major, minor, neutral"),
        ("system:c", "unknown system", ""),
        ("doc:d9", "unknown document", ""),
    ],
)
def test_a_wrong_filter_is_one_clear_message(view: View, text: str, what: str, named: str) -> None:
    with pytest.raises(UserError, match=what) as error:
        matching(view, parse_filter(text), 1.0)
    assert named in error.value.expected


def test_segments_match_if_one_of_their_outputs_does(view: View) -> None:
    assert list(ordered(view, Query("chrf>85"), 1.0)) == [1]
    assert list(ordered(view, Query("chrf>85", systems=("a",)), 1.0)) == []
    assert list(ordered(view, Query("morning"), 1.0)) == [2]


def test_worst_outputs_follow_the_direction_of_the_score(view: View) -> None:
    def worst(name: str, **given: object) -> tuple[list[tuple[int, int]], int]:
        return worst_outputs(view, Query(), 1.0, name, **given)

    assert worst(MQM) == ([(0, 0), (1, 0), (0, 1)], 3)
    assert worst("ter") == ([(1, 1), (0, 1), (1, 0), (0, 0)], 4)
    assert worst("ter", best=True, limit=2) == ([(0, 0), (1, 0)], 4)
    assert worst_outputs(view, Query("system:b"), 1.0, "chrf") == ([(0, 1), (1, 1)], 2)
