"""Agreement between annotators, with the arithmetic written out on a project small enough to count by hand."""

from datetime import UTC, datetime, timedelta

import krippendorff
import numpy as np
import pytest
import scipy.stats

from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, SegmentKey, Span
from core.errors import UserError
from core.mqm.actions import label_actions
from core.ports.labels import Action
from core.ports.store import Store
from core.services.labels import agreement as service
from core.services.labels.agreement import UNMARKED, Agreement, MarkedPiece, reading, stretches
from core.stats.bootstrap import Interval
from core.stats.raters.span_agreement import NOTHING
from tests.labels import submitted
from tests.stores import new_store

TEXT, SOURCE = "a bad house", "ein Haus"
SYSTEMS = ("A", "B")


def dataset(n: int = 4) -> Dataset:
    return Dataset(
        tuple(Segment("d", str(i), SOURCE) for i in range(n)),
        tuple(Output(system, "d", str(i), TEXT) for i in range(n) for system in SYSTEMS),
    )


def error(
    start: int, end: int, severity: str = "Major", category: str = "Accuracy/Mistranslation", side: str = "output"
) -> Span:
    text = TEXT if side == "output" else SOURCE
    return Span(side, start, end, text[start:end], severity, category)  # type: ignore[arg-type]


WHOLE = Span("output", 0, len(TEXT), TEXT, "Major", "Non-translation!")
RATED: dict[str, list[list[Span]]] = {
    # by rater, the errors in A0, B0, A1, B1, …; scores under google in the comments
    "ann": [
        [error(2, 5)],  # −5
        [],  # 0
        [error(2, 5), error(6, 11, "Minor")],  # −6
        [error(0, 3, side="source", category="Accuracy/Omission")],  # −5
        [WHOLE],  # −25
        [],  # 0
    ],
    "bob": [
        [error(2, 5, "Minor")],  # −1
        [],  # 0
        [error(2, 8)],  # −5
        [],  # 0
        [WHOLE],  # −25
        [error(0, 1, "Minor", "Fluency/Punctuation")],  # −0.1
    ],
    "cid": [[], [error(2, 5)]],
}


def filled(rated: dict[str, list[list[Span]]] = RATED) -> tuple[Store, int]:
    store, data = new_store(), dataset()
    project = store.projects.create("p").id
    rows = [
        RatedOutput(o.key, rater, tuple(errors))
        for rater, of in rated.items()
        for o, errors in zip(data.outputs, of, strict=False)
    ]
    batches = [(rater, segment, actions) for (rater, segment), actions in label_actions(rows).actions.items()]
    store.projects.add(project, data)
    for rater, segment, actions in batches:
        store.labels.append(project, rater, segment, actions)
    return store, project


def agreement(store: Store, project: int, scheme: str = "google", *, draws: int = 1000) -> Agreement:
    return service.agreement(store, project, submitted(store, project), scheme, draws=draws)


def test_alpha_is_that_of_the_package_on_the_scores_written_out() -> None:
    found = agreement(*filled(), draws=20)
    scores = [[-5, 0, -6, -5, -25, 0], [-1, 0, -5, 0, -25, -0.1], [0, -5] + [np.nan] * 4]
    expected = krippendorff.alpha(np.array(scores), level_of_measurement="interval")
    assert found.alpha.value == pytest.approx(expected)
    assert (found.alpha.n, found.outputs, found.twice) == (3, 6, 6)
    assert found.signature == "alpha|level:interval|draws:20|seed:0|mqm|scheme:google|v:2"


def test_tau_of_each_two_raters_is_over_what_both_rated() -> None:
    found = agreement(*filled(), draws=5)
    assert [(p.first, p.second, p.outputs) for p in found.pairs] == [
        ("ann", "bob", 6),
        ("ann", "cid", 2),
        ("bob", "cid", 2),
    ]
    expected = scipy.stats.kendalltau([-5, 0, -6, -5, -25, 0], [-1, 0, -5, 0, -25, -0.1]).statistic
    assert found.pairs[0].tau.value == pytest.approx(expected)
    assert found.between("cid", "ann").tau.value == -1


def test_errors_match_by_place_severity_and_category() -> None:
    spans = agreement(*filled(), draws=5).between("ann", "bob").spans
    # characters marked: A0 3/3 shared 3; B0 both nothing; A1 ann 3 + 5, bob 6, shared 2–5 and 6–8: 5;
    # B1 ann 3 in the source, bob nothing; A2 the whole text of 11 twice; B2 ann nothing, bob 1
    assert spans["place"].micro.value == pytest.approx(2 * (3 + 5 + 11) / ((3 + 8 + 3 + 11) + (3 + 6 + 11 + 1)))
    assert (spans["place"].texts, spans["place"].both_empty, spans["place"].one_empty) == (6, 1, 2)
    # with severity: A0 differs; of A1 the Major characters 2–5 remain; the whole of A2
    assert spans["severity"].micro.value == pytest.approx(2 * (3 + 11) / 46)
    # macro: A0 0, A1 2·3/14, B1 0, A2 1, B2 0
    assert spans["severity"].macro.value == pytest.approx((6 / 14 + 1) / 5)
    # all of what both marked has the same category
    assert spans["category"].micro.value == spans["place"].micro.value
    assert spans["both"].micro.value == spans["severity"].micro.value


def test_severity_confusion_counts_unmatched_characters() -> None:
    crossed = agreement(*filled(), draws=5).between("ann", "bob").confusion
    # rows ann: Major, Minor, Neutral, not marked. Major/Major 3 of A1 + 11 of A2; Major/Minor 3 of A0;
    # Minor/Major 2 of A1; ann alone: 3 Major in the source, 3 Minor of A1; bob alone: 1 Major (the blank) of A1, 1 Minor of B2
    assert crossed.tolist() == [[14, 3, 0, 3], [2, 0, 0, 3], [0, 0, 0, 0], [1, 1, 0, 0]]
    assert UNMARKED == "not marked"
    alone = {rater: RATED[rater] for rater in ("ann", "bob")}
    both_ways = agreement(*filled(alone), draws=5).confusion
    assert both_ways.tolist() == (crossed + crossed.T).tolist()


def test_the_worst_disagreement_comes_first_with_what_each_marked() -> None:
    disputes = agreement(*filled(), draws=5).disputes
    values = [d.disagreement.value or 0 for d in disputes]
    assert values == sorted(values, reverse=True)
    assert OutputKey("A", "d", "2") not in {d.key for d in disputes}  # both: non-translation
    found = next(d for d in disputes if d.key == OutputKey("B", "d", "1"))
    # 5 points apart: 5/(5 + 5); one found nothing: 1; the mean
    assert found.disagreement.value == pytest.approx((0.5 + 1) / 2)
    assert [(rater, len(errors), score) for rater, errors, score in found.raters] == [("ann", 1, -5), ("bob", 0, 0)]


def test_what_each_rater_did_is_counted() -> None:
    ann, bob, cid = agreement(*filled(), draws=5).raters
    assert (ann.rater, ann.outputs, ann.segments, ann.clean, ann.non_translations) == ("ann", 6, 3, 2, 1)
    assert ann.errors == {"Major": 3, "Minor": 1, "Neutral": 0}
    assert ann.score == pytest.approx(-(5 + 0 + 6 + 5 + 25 + 0) / 6)
    assert (bob.clean, cid.outputs) == (2, 2)
    assert ann.seconds is None  # labels of a file: nobody's time is known


def test_time_is_that_of_segments_annotated_here(monkeypatch: pytest.MonkeyPatch) -> None:
    store, project = filled({"ann": [[], []]})
    start = datetime(2026, 1, 1, tzinfo=UTC)
    clock = (start + timedelta(seconds=s) for s in (0, 20, 50, 60))
    monkeypatch.setattr("db.labels.repository.now", lambda: next(clock))
    here = SegmentKey("d", "1")
    store.labels.append(project, "ann", here, [Action("o", "open", None, {"order": ["A", "B"], "seed": 1})])
    for name, system in (("1", "A"), ("2", "B")):
        store.labels.append(project, "ann", here, [Action(name, "verdict", system, {"value": "no_error"})])
    store.labels.append(project, "ann", here, [Action("3", "submit", None, {})])
    (ann,) = agreement(store, project, draws=5).raters
    assert (ann.segments, ann.timed, ann.seconds) == (2, 1, 60)


def test_many_comparisons_are_made_on_a_sample_of_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    store, project = filled()
    whole, shares = agreement(store, project, draws=5), list[float]()
    monkeypatch.setattr(service, "MOST_COMPARISONS", 4)
    labels = submitted(store, project)
    part = service.agreement(store, project, labels, draws=5, progress=shares.append)
    # 3 + 3 comparisons in the first segment, 2 in each of the others; at least 4 are made, of whole segments
    assert (whole.compared, whole.twice) == (6, 6)
    assert (part.compared, part.twice) in ((2, 6), (4, 6))
    assert (part.alpha, part.raters, part.outputs) == (whole.alpha, whole.raters, whole.outputs)
    assert [p.tau for p in part.pairs] == [p.tau for p in whole.pairs]
    assert part.spans["place"].texts == sum(p.outputs for p in part.pairs)
    assert 4 <= part.spans["place"].texts < whole.spans["place"].texts == 10
    assert {d.key for d in part.disputes} < {d.key for d in whole.disputes}
    again = service.agreement(store, project, labels, draws=5)
    assert (again.spans, again.disputes) == (part.spans, part.disputes)  # the same seed, the same segments
    assert shares[-1] == 1.0


def test_with_one_rater_or_none_it_says_why_there_is_no_agreement() -> None:
    alone = agreement(*filled({"ann": RATED["ann"]}), draws=5)
    assert (alone.alpha.value, alone.twice, alone.pairs, alone.disputes) == (None, 0, (), ())
    assert "at least two raters" in alone.alpha.reason
    assert alone.spans["place"].micro.value is None
    nobody = agreement(*filled({}), draws=5)
    assert (nobody.raters, nobody.outputs, nobody.alpha.value) == ((), 0, None)


def test_raters_who_find_nothing_do_not_disagree() -> None:
    found = agreement(*filled({"ann": [[], []], "bob": [[], []]}), draws=5)
    assert found.alpha.reason == "all scores are equal"
    assert (found.spans["place"].micro.reason, found.spans["place"].both_empty) == (NOTHING, 2)
    assert found.disputes == ()


def test_labels_that_were_not_submitted_do_not_count() -> None:
    store, project = filled({"ann": [[], []]})
    store.labels.append(
        project, "bob", SegmentKey("d", "0"), [Action("x", "verdict", "A", {"value": "non_translation"})]
    )
    assert [r.rater for r in agreement(store, project, draws=5).raters] == ["ann"]
    with pytest.raises(UserError, match="weight scheme"):
        agreement(store, project, "gooogle")


@pytest.mark.parametrize(
    ("alpha", "words"),
    [
        (Interval(0.9, 0.85, 0.95, 50), "one annotator per output is enough"),
        (Interval(0.7, 0.68, 0.75, 50), "tentative"),
        (Interval(0.4, 0.3, 0.5, 50), "average several"),
        (Interval(0.0, -0.1, -0.05, 50), "no more than by chance"),
        (Interval(0.7, 0.2, 0.9, 5), "the interval is wide"),
        (Interval(None, None, None, 0, "nobody rated"), "There is no α: nobody rated"),
    ],
)
def test_alpha_is_read_in_plain_words(alpha: Interval, words: str) -> None:
    assert words in reading(alpha)


def test_a_text_is_cut_where_marks_begin_and_end() -> None:
    marks = [error(2, 8, "Minor"), error(6, 11), error(0, 3, side="source"), error(2, 2, "Neutral")]
    assert stretches(TEXT, marks) == (
        MarkedPiece("a ", "", ()),
        MarkedPiece("", "Neutral", (4,)),
        MarkedPiece("bad ", "Minor", (1,)),
        MarkedPiece("ho", "Major", (1, 2)),
        MarkedPiece("use", "Major", (2,)),
    )
    assert stretches(SOURCE, marks, "source") == (MarkedPiece("ein", "Major", (3,)), MarkedPiece(" Haus", "", ()))
    assert stretches("", [Span("output", 0, 0, "", "Major", "x")]) == (MarkedPiece("", "Major", (1,)),)
    assert stretches("", []) == ()
    assert stretches("ab", [Span("output", 2, 2, "", "Minor", "x")]) == (
        MarkedPiece("ab", "", ()),
        MarkedPiece("", "Minor", (1,)),
    )
