import gzip
from itertools import permutations

import pytest

from core.data import OutputKey, RatedOutput, Span
from core.formats.labels.google_mqm import read_google_mqm
from core.mqm.schemes import FLAT, GOOGLE, SCHEMES
from core.mqm.scores import rated_outputs, rater_penalty, segment_scores, system_scores
from core.ports.labels import ErrorSpan, OutputLabels, SegmentLabels
from tests.paths import DATA

A1, A2, B1 = OutputKey("A", "d", "1"), OutputKey("A", "d", "2"), OutputKey("B", "d", "1")


def error(severity: str, category: str = "Accuracy/Mistranslation") -> Span:
    return Span("output", 0, 1, "x", severity, category)


def test_a_rater_pays_for_every_error_or_for_a_non_translation() -> None:
    # 5 + 1 + 0.1 + 0
    errors = [error("Major"), error("Minor"), error("Minor", "Fluency/Punctuation"), error("Neutral")]
    assert rater_penalty(errors, GOOGLE) == pytest.approx(6.1)
    assert rater_penalty([], GOOGLE) == 0
    whole = [error("Major"), error("Major", "Non-translation!"), error("Minor")]
    assert [rater_penalty(whole, of) for of in (GOOGLE, FLAT)] == [25, 11]


def test_the_score_is_minus_the_mean_over_raters_and_a_clean_reading_counts_0() -> None:
    rated = [
        RatedOutput(A1, "ann", (error("Major"), error("Minor"))),  # 6
        RatedOutput(A1, "ben", ()),  # 0
        RatedOutput(A1, "eve", (error("Minor"),)),  # 1
        RatedOutput(B1, "ann", ()),
    ]
    first, second = segment_scores(rated, GOOGLE)
    assert first == ("A", "d", "1", pytest.approx(-7 / 3), 3)
    assert second == ("B", "d", "1", 0.0, 1)
    assert str(second.score) == "0.0"  # not -0.0


def test_a_system_has_the_mean_of_its_segments_not_of_its_raters() -> None:
    rated = [
        RatedOutput(A1, "ann", (error("Major"),)),  # A1: (5 + 1) / 2 = 3
        RatedOutput(A1, "ben", (error("Minor"),)),
        RatedOutput(A2, "ann", ()),  # A2: 0, so A: 1.5
        RatedOutput(B1, "ann", (error("Minor"),)),
    ]
    assert system_scores(rated, GOOGLE) == [("B", -1.0, 1, 1), ("A", -1.5, 2, 2)]


def test_only_submitted_and_complete_labels_count() -> None:
    major = OutputLabels((ErrorSpan("m1", error("Major")),))
    outputs = {
        "A": major, "B": OutputLabels((), "non_translation"), "C": OutputLabels((), "no_error"), "D": OutputLabels(),
    }  # fmt: skip
    labels = {
        ("ann", A1.segment): SegmentLabels(outputs, submitted=True),
        ("ben", A1.segment): SegmentLabels({"A": OutputLabels((), "no_error")}),
        ("cem", A1.segment): SegmentLabels({"A": major}, submitted=True, declined="Damaged text"),
    }
    rated = rated_outputs(labels, {B1: "bla bla"})
    scores = [(s.system, s.score, s.n_raters) for s in segment_scores(rated, GOOGLE)]
    assert scores == [("A", -5, 1), ("B", -25, 1), ("C", 0, 1)]
    assert rated[1].errors[0].quote == "bla bla"


@pytest.fixture(scope="module")
def ted() -> list[RatedOutput]:
    path = DATA / "mqm_ted_zhen.tsv.gz"
    if not path.exists():
        pytest.skip("mqm_ted_zhen.tsv.gz is not beside the repository")
    return list(read_google_mqm(path.read_bytes(), path.name).rated)


def test_published_segment_scores_of_ted_zh_en(ted: list[RatedOutput]) -> None:
    # google/wmt-mqm-human-evaluation, mqm_ted_zhen.avg_seg_scores.tsv; its ref-A and ref-B are the TSV's ref and refB
    scores = {(s.system, s.segment_id): s.score for s in segment_scores(ted, GOOGLE)}
    published = gzip.decompress((DATA / "mqm_ted_zhen.avg_seg_scores.tsv.gz").read_bytes()).decode()
    checked = 0
    for line in published.splitlines()[1:]:
        system, score, segment = line.split()
        key = ({"ref-A": "ref", "ref-B": "refB"}.get(system, system), segment)
        if score == "None":
            assert key not in scores
        else:
            assert scores[key] == pytest.approx(float(score), abs=1e-6)
            checked += 1
    assert checked == len(scores) == 7935


def test_system_means_of_ted_zh_en(ted: list[RatedOutput]) -> None:
    # METHODS section 1, as penalties
    means = {s.system: round(-s.score, 3) for s in system_scores(ted, GOOGLE)}
    assert means == {
        "refB": 0.415, "DIDI-NLP": 1.651, "metricsystem2": 1.760, "metricsystem1": 1.902, "MiSS": 1.971, "IIE-MT": 1.981,
        "metricsystem4": 2.049, "metricsystem5": 2.151, "SMU": 2.202, "Borderline": 2.405, "NiuTrans": 2.487,
        "Facebook-AI": 2.636, "Online-W": 2.925, "metricsystem3": 2.989, "ref": 5.515,
    }  # fmt: skip


def test_equal_errors_in_another_order_give_equal_scores() -> None:
    punctuation, minor, major = ("Minor", "Fluency/Punctuation"), ("Minor", "Style/Awkward"), ("Major", "Accuracy")
    kinds = [punctuation, punctuation, punctuation, minor, major]
    spans = [Span("output", k, k + 1, "x", *kind) for k, kind in enumerate(kinds)]
    orders = list(permutations(spans))
    rated = [RatedOutput(OutputKey(f"s{k}", "d", "1"), "Ann", order) for k, order in enumerate(orders)]
    assert {s.score for s in segment_scores(rated, SCHEMES["google"])} == {-6.3}
    shared = [
        RatedOutput(OutputKey("s", "d", str(k)), rater, part)
        for k, order in enumerate(orders)
        for rater, part in (("Ann", order[:2]), ("Bo", order[2:]))
    ]
    assert {s.score for s in segment_scores(shared, SCHEMES["google"])} == {-3.15}
    assert [s.score for s in system_scores(shared, SCHEMES["google"])] == [-3.15]
