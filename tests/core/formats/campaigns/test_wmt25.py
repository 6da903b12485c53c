"""WMT25's compiled ratings and the error spans of its second metrics task."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from core.data import OutputKey, Span
from core.errors import ImportProblems
from core.formats.campaigns import wmt25
from core.formats.campaigns.campaign_file import CampaignFile
from core.formats.files import Upload
from tests.core.formats.campaigns.campaign_cases import campaigns, contents
from tests.core.formats.problems import problems_of

DOC = "cs-de_DE_#_news_#_idnes"
LINE = {
    "doc_id": DOC, "src_text": "Dům", "tgt_text": {"A": "a<br>Haus", "B": "Häuser"},
    "scores": {"A": {
        "human1": 80, "errors1": [{"start_i": 2, "end_i": 5, "severity": "minor"}], "annotator1": "x",
        "human2": 60.5, "errors2": [], "annotator2": "y",
    }},
}  # fmt: skip


def compiled(*lines: dict[str, Any]) -> CampaignFile:
    return wmt25.read_wmt25(Upload("humeval.jsonl", "\n".join(map(json.dumps, lines)).encode()))


def test_every_annotator_of_an_output_has_a_rating() -> None:
    file = compiled(LINE, LINE | {"src_text": "x", "scores": {}})
    first, second = file.ratings
    assert first.errors == (Span("output", 5, 9, "Haus", "Minor", "Unspecified"),)
    assert [(r.rater, r.score, r.key) for r in (first, second)] == [
        ("x", 80.0, OutputKey("A", DOC, "0")), ("y", 60.5, OutputKey("A", DOC, "0")),
    ]  # fmt: skip
    assert [s.segment_id for s in file.dataset.segments] == ["0", "1"]
    assert len(file.dataset.outputs) == 4


def test_the_form_without_numbers_and_annotators_is_read() -> None:
    file = compiled(LINE | {"doc_id": f"{DOC}_#_7", "scores": {"B": {"human": 5.0, "errors": []}}})
    assert [(r.rater, r.key) for r in file.ratings] == [("1", OutputKey("B", DOC, "7"))]
    assert "1 ratings without an annotator" in file.warnings[0].sentence()


def test_an_empty_list_without_a_score_is_a_rating_only_where_no_line_has_a_score() -> None:
    spans = [{"start_i": 0, "end_i": 0, "severity": "minor"}]
    scores = {"A": {"human1": None, "errors1": []}, "B": {"human1": None, "errors1": None, "annotator1": "x"}}
    other = {"src_text": "x", "scores": {"A": {"human1": None, "errors1": spans}}}
    assert [(r.errors is not None, r.score) for r in compiled(LINE | {"scores": scores}, LINE | other).ratings] == [
        (True, None)
    ] * 2
    file = compiled(LINE, LINE | {"src_text": "x", "scores": scores})
    assert [r.rater for r in file.ratings] == ["x", "y"]
    assert file.warnings[-1].got == "1 item without an answer"


def test_error_spans_that_nobody_was_asked_for_are_no_ratings() -> None:
    file = compiled(LINE | {"scores": {"A": {"human1": 70, "errors1": [], "annotator1": "x", "esa": 3}}})
    assert [(r.errors, r.score) for r in file.ratings] == [(None, 70.0)]
    assert [w.got for w in file.warnings] == [
        "1 empty list of error spans, and no error span in the file", "field “esa” of a system, 1 time",
    ]  # fmt: skip


def test_a_fault_of_a_line_has_one_message() -> None:
    unknown = "line 1, scores.C.: found a rating of “C”; expected a system of tgt_text"
    lines: list[tuple[dict[str, Any], str]] = [
        ({"scores": {"C": {"human1": 1, "annotator1": "x"}}}, unknown),
        ({"scores": {"A": {"human1": "good"}}}, "line 1, scores.A.human1: found “\"good\"”"),
        ({"scores": {"A": {"errors1": "none"}}}, "line 1, scores.A.errors1: found “none”; expected a list of error spans"),
        ({"tgt_text": "x"}, "line 1, tgt_text: found “\"x\"”; expected an object"),
        ({"doc_id": None}, "line 1, doc_id: found nothing; expected a text"),
        ({"scores": {}}, "found no ratings; expected at least one rating"),
    ]  # fmt: skip
    for line, expected in lines:
        (problem,) = problems_of(compiled, LINE | line)
        assert expected in problem.sentence()


@given(campaigns(references=True))
def test_compiled_ratings_are_restored(file: CampaignFile) -> None:
    stored = {r for r in file.ratings if r.kind == "item" and (r.errors is not None or r.score is not None)}
    if not stored:
        return
    text = wmt25.write_wmt25(file).texts[0]
    read = wmt25.read_wmt25(Upload("h.jsonl", text.encode()))
    assert {(r.rater, r.key, r.errors, r.score) for r in read.ratings} == {
        (r.rater, r.key, r.errors, r.score) for r in stored
    }
    assert read.dataset.outputs == file.dataset.outputs
    assert contents(wmt25.read_wmt25(Upload("h.jsonl", wmt25.write_wmt25(read).texts[0].encode()))) == contents(read)


def test_what_the_compiled_form_loses_is_named() -> None:
    file = compiled(LINE)
    assert wmt25.write_wmt25(file).lost == ()
    spans = wmt25.write_wmt25_spans(file)
    assert len(spans.texts) == 2
    assert spans.lost == ("Left out: 2 scores.", "Left out: 2 annotators’ names.")


HEADER = "\t".join(wmt25.COLUMNS)


def tsv(*rows: tuple[str, str, str], text: str = "a house\\nhere") -> CampaignFile:
    lines = [
        "\t".join((DOC, str(n), "cs", "de_DE", "official", "A", "src", text, "ref", "news", "ESA", *row))
        for n, row in enumerate(rows)
    ]
    upload = Upload("task2.tsv", "\n".join((HEADER, *lines)).encode())
    return wmt25.read_wmt25_spans(upload)


def test_lists_of_spans_are_read_with_exclusive_ends_and_inclusive_ones_suspected() -> None:
    file = tsv(("2 missing", "7 missing", "minor major"), ("-1", "-1", "no-error"), ("", "", ""))
    assert [r.errors for r in file.ratings] == [
        (Span("output", 2, 7, "house", "Minor", "Unspecified"), Span("output", 0, 0, "", "Major", "Accuracy/Omission")), (),
    ]  # fmt: skip
    assert len(file.dataset.outputs) == 3
    assert (file.dataset.segments[0].references, file.ratings[0].rater) == (("ref",), "annotator")
    assert "If the ends are inclusive, add 1" in tsv(("0", "0", "minor")).warnings[0].sentence()


def test_odd_spans_of_a_list_are_named_and_written_again() -> None:
    file = tsv(("0 9 5 x 1", "1 90 2 3 2", "undecided minor minor minor critical"))
    assert [(o.start, o.end, o.why, o.raw is None) for o in file.odd] == [
        ("0", "1", "no severity chosen", True), ("9", "90", "offsets outside the text", False),
        ("5", "2", "ends before it begins", False), ("x", "3", "offsets that are not whole numbers", False),
        ("1", "2", "severity “critical”", True),
    ]  # fmt: skip
    again = wmt25.read_wmt25_spans(Upload("a.tsv", wmt25.write_wmt25_spans(file).texts[0].encode()))
    assert again.ratings == file.ratings
    assert set(again.odd) == set(file.odd)


def test_lists_of_different_lengths_and_missing_columns_are_problems() -> None:
    with pytest.raises(ImportProblems, match="2 starts, 1 ends and 2 error types"):
        tsv(("1 2", "3", "minor minor"))
    with pytest.raises(ImportProblems, match="hypothesis_segment"):
        wmt25.read_wmt25_spans(Upload("a.tsv", b"doc_id\tsegment_id\n1\t2\n"))


@given(campaigns(checks=False, references=True))
def test_lists_of_spans_are_restored(file: CampaignFile) -> None:
    def read(text: str) -> CampaignFile:
        return wmt25.read_wmt25_spans(Upload("a.tsv", text.encode()))

    rated = {r.key: r.errors for r in reversed(file.ratings) if r.errors is not None}
    if not rated:
        return
    once = [read(text) for text in wmt25.write_wmt25_spans(file).texts]
    for one in once:
        assert contents(read(wmt25.write_wmt25_spans(one).texts[0])) == contents(one)
    assert once[0].dataset == file.dataset
    for r in once[0].ratings:
        places = []
        for e in rated[r.key]:
            omitted = e.side == "source" or e.category == "Accuracy/Omission"
            places.append(((0, 0, "") if omitted else (e.start, e.end, e.quote), e.severity, omitted))
        assert [(e.start, e.end, e.quote) for e in r.errors or ()] == [place for place, *_ in dict.fromkeys(places)]
