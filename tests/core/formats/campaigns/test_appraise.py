"""Appraise's CSV with its batches: variants of rows, repeated rows, faults of spans, and the way back."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import assume, given

from core.data import Dataset, HumanScore, Output, OutputKey, Segment, Span
from core.errors import ImportProblems, UserError
from core.formats.campaigns import appraise, campaign_formats
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.formats.campaigns.campaign_formats import recognised
from core.formats.files import Upload
from core.services.campaigns.files import labels_of
from tests.core.formats.campaigns.campaign_cases import campaigns, contents
from tests.core.formats.problems import problems_of

ITEM = {
    "itemID": 7, "itemType": "TGT", "documentID": "d#A", "sourceID": "wmt23", "targetID": "wmt23.A",
    "sourceText": "Ein 😀 Haus", "targetText": "A 😀 house", "isCompleteDocument": False, "mqm": [], "_item": "A | 12 | d",
}  # fmt: skip
BAD = ITEM | {"itemID": 8, "itemType": "BAD", "documentID": "d#A#bad1", "targetText": "A 😀 mouse"}
TUTORIAL = ITEM | {"itemID": 1, "documentID": "tut", "targetID": "tut", "mqm": {"tutorial": {}, "payload": []}}
ROW = ["ann", "wmt23.A", "7", "TGT", "eng", "deu", "71", "d#A", "False", "[]", "1717331262.035", "1717331440.5"]
KEY = OutputKey("A", "d", "12")


def row(**changed: str) -> list[str]:
    names = ("rater", "system", "item", "type", "src", "tgt", "score", "document", "whole", "spans", "began", "ended")
    cells = list(ROW)
    for name, cell in changed.items():
        cells[names.index(name)] = cell
    return cells


def table(*rows: list[str]) -> Upload:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return Upload("scores.csv", out.getvalue().encode())


def batches(*items: dict[str, Any], more: tuple[list[dict[str, Any]], ...] = ()) -> Upload:
    return Upload("batches.json", json.dumps([{"items": list(of), "task": {}} for of in (items, *more)]).encode())


def found(*rows: list[str], items: tuple[dict[str, Any], ...] = (TUTORIAL, ITEM, BAD)) -> CampaignFile:
    return appraise.read_appraise(table(*rows), batches(*items))


def spans(*given: dict[str, Any], text: str = "A 😀 house") -> CampaignFile:
    return found(row(spans=json.dumps(given)), items=(ITEM | {"targetText": text},))


def again(file: CampaignFile) -> CampaignFile:
    written = campaign_formats.write_appraise(file)
    return appraise.read_appraise(
        *(Upload(name, text.encode()) for name, text in zip(("a.csv", "b.json"), written.texts, strict=True))
    )


def test_a_row_is_joined_with_its_text() -> None:
    file = found(row(spans='[{"start_i":5,"end_i":9,"severity":"minor","error_type":null}]'))
    assert file.dataset == Dataset((Segment("d", "12", "Ein 😀 Haus"),), (Output(*KEY, "A 😀 house"),))
    (rating,) = file.ratings
    assert rating.errors == (Span("output", 4, 9, "house", "Minor", "Unspecified"),)
    assert (rating.rater, rating.key, rating.kind, rating.score) == ("ann", KEY, "item", 71.0)
    assert rating.began == datetime.fromtimestamp(1717331262.035, UTC)
    assert not file.odd
    assert not file.warnings


def test_checks_and_tutorials_have_their_own_texts() -> None:
    check, tutorial = found(
        row(item="8", type="BAD", document="d#A#bad1"), row(item="1", document="tut", system="tut")
    ).ratings
    assert (check.kind, check.text, check.of) == ("check", "A 😀 mouse", KEY)
    assert check.key == OutputKey("A", "d#bad1", "12")
    assert (tutorial.kind, tutorial.key.doc_id) == ("tutorial", "tut")


def test_the_latest_of_repeated_rows_counts_and_of_equal_times_the_first() -> None:
    file = found(row(score="30", ended="1717331999"), row(score="20"), row(score="10", ended=""))
    assert ([r.score for r in file.ratings], file.replaced) == ([30.0], 2)
    assert "2 ratings that were changed" in file.warnings[-1].sentence()
    assert [r.score for r in found(row(score="30"), row(score="20")).ratings] == [30.0]


def test_item_numbers_repeat_between_batches() -> None:
    other = ITEM | {"targetText": "Another house", "_item": "A | 13 | d"}
    mine_too = row(rater="bob", item="2", document="tut", system="tut")
    rows = (row(), row(item="1", document="tut", system="tut"), row(rater="bob"), mine_too)
    both = batches(TUTORIAL, ITEM, more=([TUTORIAL | {"itemID": 2}, other],))
    file = appraise.read_appraise(table(*rows), both)
    assert [(r.rater, r.key.segment_id) for r in file.ratings if r.kind == "item"] == [("ann", "12"), ("bob", "13")]
    without_clue = batches(ITEM, more=([ITEM | {"_item": "A | 13 | d"}],))
    problem = problems_of(appraise.read_appraise, table(row()), without_clue)[0]
    assert "2 items of this name in batches 1, 2" in problem.got
    # without own ids, segments are counted in their document
    plain = {k: v for k, v in ITEM.items() if k != "_item"}
    file = found(row(item="9"), items=(plain | {"itemID": 8, "sourceText": "x"}, plain | {"itemID": 9}))
    assert file.ratings[0].key == OutputKey("A", "d", "2")


def test_a_span_without_a_place_is_named_and_written_again() -> None:
    whole = "offsets that are not whole numbers"
    for start, end, why in (
        (5, 10, "offsets outside the text"), (-1, 3, "offsets outside the text"), (5, 3, "ends before it begins"),
        (3, 5, "begins or ends inside a character"), (None, 5, whole), (1, float("inf"), whole),
    ):  # fmt: skip
        span = {"start_i": start, "end_i": end, "severity": "minor"}
        file = spans(span, {"start_i": 0, "end_i": 0, "severity": "major"})
        assert [e.quote for e in file.ratings[0].errors or ()] == ["A"]
        (odd,) = file.odd
        assert (odd.rater, odd.key, odd.start, odd.why) == ("ann", KEY, str(start), why)
        assert why in file.warnings[0].sentence()
        assert again(file).odd == file.odd
        assert odd.raw is not None
        assert json.loads(odd.raw, parse_constant=pytest.fail)
    for severity, kept in (("undecided", "undecided"), (None, "undecided"), ("critical", "critical")):
        file = spans({"start_i": 0, "end_i": 0, "severity": severity})
        assert [e.severity for e in file.ratings[0].errors or ()] == [kept]
        assert [o.raw for o in file.odd] == [None]


def test_a_rating_with_an_unread_span_is_no_rating_of_the_errors() -> None:
    file = spans({"start_i": 50, "end_i": 60, "severity": "major"})
    assert [(r.errors, r.all_errors, r.score) for r in file.ratings] == [((), None, 71.0)]
    assert labels_of(file).rated == ()
    assert "the errors of these outputs are not rated" in file.warnings[0].todo
    assert again(file).ratings == file.ratings


def test_an_empty_list_is_no_verdict_where_nobody_was_asked_for_errors() -> None:
    file = found(row(), row(rater="bob"))
    assert [(r.errors, r.score) for r in file.ratings] == [(None, 71.0)] * 2
    assert file.warnings[0].got == "2 empty lists of error spans, and no error span in the file"
    error = json.dumps([{"start_i": 0, "end_i": 0, "severity": "minor"}])
    assert [r.errors is None for r in found(row(), row(rater="bob", spans=error)).ratings] == [False, False]
    assert [r.rater for r in found(row(score=""), row(rater="bob", spans=error)).ratings] == ["bob"]


def test_zeros_of_mqm_are_no_scores_also_beside_esa() -> None:
    typed, plain = (
        json.dumps([{"start_i": 0, "end_i": 0, "severity": "minor", "error_type": kind}]) for kind in (["Style"], None)
    )
    other = ITEM | {"itemID": 9, "sourceText": "x", "_item": "A | 13 | d"}
    file = found(
        row(spans=plain), row(rater="cy", score="0", spans=plain), row(rater="bob", score="0", spans=typed),
        row(rater="bob", score="0", item="9"), items=(ITEM, other),
    )  # fmt: skip
    assert [(r.rater, r.score, len(r.errors or ())) for r in file.ratings] == [
        ("ann", 71.0, 1), ("cy", 0.0, 1), ("bob", None, 1), ("bob", None, 0),
    ]  # fmt: skip
    assert [r.errors for r in file.ratings][-1] == ()
    assert "0 in 2 ratings of MQM" in file.warnings[0].got
    assert [found(row(score="0", spans=cell)).ratings[0].score for cell in (typed, "[]")] == [None, 0.0]


def test_offsets_are_counted_in_the_trimmed_text() -> None:
    for text, first, last, quote in (
        ("  A house ", 2, 6, "house"), ("\u3000家です", 0, 0, "家"), ("\n\ufeff😀 x", 3, 3, "x"), ("\x1fa b", 0, 0, "\x1f"),
    ):  # fmt: skip
        file = spans({"start_i": first, "end_i": last, "severity": "minor"}, text=text)
        assert [e.quote for e in file.ratings[0].errors or ()] == [quote]
        assert again(file).ratings == file.ratings
    (odd,) = spans({"start_i": 2, "end_i": 7, "severity": "minor"}, text="  A house ").odd
    assert odd.why == "offsets outside the text"


def test_rows_with_the_number_of_the_batch_are_joined_by_it() -> None:
    other = ITEM | {"targetText": "Another house", "_item": "A | 13 | d"}
    rows = [[*row(rater=rater), batch, "1000"] for rater, batch in (("ann", "4"), ("ann", "9"), ("bob", "9"))]
    texts = json.dumps([{"items": [item], "task": {"batchNo": n}} for item, n in ((ITEM, 4), (other, 9))])
    file = appraise.read_appraise(table(*rows), Upload("batches.json", texts.encode()))
    assert [(r.rater, r.key.segment_id) for r in file.ratings] == [("ann", "12"), ("ann", "13"), ("bob", "13")]
    assert recognised(table(*rows)) == "appraise"
    for batch, message in (
        ("5", "batch 5; expected an item of the batches"),
        ("x", "batch number: found “x”; expected a whole number"),
    ):
        read = table([*row(), batch, "1"]), Upload("batches.json", texts.encode())
        assert message in problems_of(appraise.read_appraise, *read)[0].sentence()


def test_an_output_of_several_systems_is_rated_for_each() -> None:
    joint = ITEM | {"targetID": "wmt23.A+wmt23.B", "documentID": "d#A+B"}
    joint.pop("_item")
    rows = [row(system=f"wmt23.{name}", document="d#A+B") for name in "AB"]
    file = found(*rows, items=(joint,))
    assert [r.key for r in file.ratings] == [OutputKey("A", "d", "1"), OutputKey("B", "d", "1")]
    assert len(file.dataset.outputs) == 2
    rows = [row(system=f"wmt23.{name}", document="d#A") for name in "AB"]
    assert {r.key.doc_id for r in found(*rows, items=(joint | {"documentID": "d#A"},)).ratings} == {"d"}
    plus = found(row(system="wmt23.A+wmt23.B", document="d#A+B"), items=(joint,))
    assert [r.key.system for r in plus.ratings] == ["A+wmt23.B"]
    old = found(row(system="R2L_Back", document="x"), items=(joint | {"targetID": "R2L+Back", "documentID": "x"},))
    assert [r.key.system for r in old.ratings] == ["R2L_Back"]


def test_missing_is_an_omission_and_error_types_are_a_path() -> None:
    file = spans(
        {"start_i": "missing", "end_i": "missing", "severity": "major"},
        {"start_i": 0, "end_i": 0, "severity": "minor", "error_type": ["Style", "Awkward"]},
    )
    assert [(e.start, e.end, e.category) for e in file.ratings[0].errors or ()] == [
        (0, 0, "Accuracy/Omission"), (0, 1, "Style/Awkward"),
    ]  # fmt: skip


def test_a_fault_has_one_message_with_its_line() -> None:
    for rated, expected in (
        (row()[:-1], "line 1: found 11 columns; expected 12"),
        (row(score="good"), "line 1, score: found “good”; expected a number"),
        (row(spans="[{]"), "line 1, error spans: found “[{]”"),
        (row(spans='"x"'), "line 1, error spans: found “\"x\"”; expected a JSON list"),
        (row(ended="noon"), "line 1, end time: found “noon”; expected seconds since 1970"),
        (row(item="77"), "line 1: found item “77” (TGT) of “wmt23.A”, document “d#A”; expected an item of the batches"),
        (row(rater=" "), "line 1, rater: found no rater"),
    ):  # fmt: skip
        (problem,) = problems_of(found, rated)
        assert expected in problem.sentence()
    for texts, message in ((None, "JSON file of batches"), (Upload("b.json", b"[]"), "no items")):
        with pytest.raises(ImportProblems, match=message):
            appraise.read_appraise(table(row()), texts)
    with pytest.raises(ImportProblems, match="an output has one text"):
        found(row(), items=(ITEM, ITEM | {"itemID": 9, "targetText": "B"}))
    # an empty cell means no spans in the protocol, and a header is skipped
    header = ["user", "system", "itemID", "itemType", "src", "tgt", "score", "docID", "whole", "mqm", "start", "end"]
    (rating,) = found(header, row(spans="", began="", ended="")).ratings
    assert (rating.errors, rating.began) == (None, None)


def test_rows_of_wmt25_name_the_source() -> None:
    texts = Dataset((Segment("cs-de_#_news_#_x", "3", "s"),), (Output("M", "cs-de_#_news_#_x", "3", "Haus"),))
    name = "cs-en-tutorial1"
    tutorial = row(system=name, item=name, document=name, began="1", ended="2")
    rated = row(system="M", item="cs-de_#_news_#_x_#_3", spans='[{"start_i":0,"end_i":3,"severity":"major"}]')
    item, other = appraise.read_appraise(table(rated, tutorial), texts).ratings
    assert item.key == texts.outputs[0].key
    assert [e.quote for e in item.errors or ()] == ["Haus"]
    assert other.kind == "tutorial"
    with pytest.raises(ImportProblems, match="an output among the texts"):
        appraise.read_appraise(table(row(system="N", item="cs-de_#_news_#_x_#_3")), texts)


def test_what_is_lost_is_named_and_a_span_that_does_not_match_its_text_not_written() -> None:
    key = OutputKey("A", "d", "1")
    data = Dataset((Segment("d", "1", "s", ("r",)),), (Output(*key, "text"),), (HumanScore(*key, "x", 1),))
    rating = CampaignRating("a", key, "item", (), 5.0, comment="hm", passed=True)
    assert campaign_formats.write_appraise(CampaignFile(data, (rating,))).lost == (
        "Left out: 1 comment.", "Left out: 1 verdict on a check.", "Left out: 1 reference.", "Left out: 1 human score.",
    )  # fmt: skip
    wrong = CampaignRating("a", key, "item", (Span("output", 0, 2, "xx", "Minor", "Style"),), None)
    with pytest.raises(UserError, match="differs from the stored text"):
        campaign_formats.write_appraise(CampaignFile(data, (wrong,)))


@given(campaigns())
def test_everything_is_restored(file: CampaignFile) -> None:
    read = again(file)
    assert read.ratings == file.ratings
    assert read.dataset.outputs == file.dataset.outputs or sorted(read.dataset.outputs, key=repr) == sorted(
        file.dataset.outputs, key=repr
    )
    assume(read.ratings)
    assert contents(again(read)) == contents(read)


def test_exports_without_a_column_for_error_spans_are_scores() -> None:
    whole = ITEM | {"itemID": 9, "isCompleteDocument": True}
    rows = [row(), row(item="9", whole="True", score="50")]
    for batch in ([], ["1", "77"]):
        upload = table(*([*cells[:9], *cells[10:], *batch] for cells in rows))
        assert recognised(upload) == "appraise"
        got = appraise.read_appraise(upload, batches(ITEM, whole))
        assert [(r.key, r.score, r.errors) for r in got.ratings] == [(KEY, 71.0, None)]
        assert [w.got for w in got.warnings] == ["1 score of a whole document"]
        same = appraise.read_appraise(table(row(), row(whole="True", score="50")), batches(ITEM, whole | {"itemID": 7}))
        assert [r.score for r in same.ratings] == [71.0]
    assert recognised(table(["u", "sysA", "12", "TGT", "eng", "deu", "78", "1.5", "2.5", "1", "77"])) is None
