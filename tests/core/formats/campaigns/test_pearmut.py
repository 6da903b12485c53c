"""Pearmut's annotations: all campaigns of a file, a log, resets, tokens after the text, checks and tutorials."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from core.campaigns.imported import slider_means
from core.data import OutputKey, Span
from core.errors import ImportProblems
from core.formats.campaigns import campaign_formats, pearmut
from core.formats.campaigns.campaign_file import CampaignFile
from core.formats.files import Upload
from core.services.campaigns.files import labels_of
from tests.core.formats.campaigns.campaign_cases import campaigns, contents
from tests.core.formats.problems import problems_of

ITEM = {
    "item_id": "news_###_a.1_###_0",
    "src": "s",
    "tgt": {"A": "😀 a\nhouse", "B": "home"},
    "instructions": "<b>x</b>",
}
RECORD = {
    "user_id": "u1", "item_i": 4, "item": [ITEM],
    "annotation": [{"A": {"score": 70, "error_spans": [], "textfield": None}, "B": {"score": 90, "error_spans": []}}],
    "actions": [{"time": 100.5, "action": "load"}, {"time": 130.25, "action": "submit"}], "validations": [],
}  # fmt: skip
SPAN = {"start_i": 0, "end_i": 1, "severity": "minor"}
A = OutputKey("A", "news_###_a.1", "0")


def record(spans: list[dict[str, Any]] | None = None, **changed: Any) -> dict[str, Any]:
    annotation = [{"A": {"score": 70, "error_spans": spans}}] if spans is not None else RECORD["annotation"]
    return RECORD | {"annotation": annotation} | changed


def found(*records: dict[str, Any]) -> CampaignFile:
    return pearmut.read_pearmut(Upload("log.jsonl", "\n".join(map(json.dumps, records)).encode()))


def again(file: CampaignFile) -> CampaignFile:
    return pearmut.read_pearmut(Upload("a.json", campaign_formats.write_pearmut(file).texts[0].encode()))


def test_a_record_has_a_rating_per_model_and_the_times_of_its_page() -> None:
    first, second = found(RECORD, record([SPAN], user_id="u2")).ratings[:2]
    assert (first.rater, first.key, first.score, first.errors) == ("u1", A, 70.0, ())
    assert second.key.system == "B"
    assert (first.began, first.ended) == tuple(datetime.fromtimestamp(at, UTC) for at in (100.5, 130.25))


def test_one_campaign_of_a_file_is_read() -> None:
    for indent in (None, 2):
        upload = Upload("annotations.json", json.dumps({"cs-de v3": [RECORD], "cs-uk v3": []}, indent=indent).encode())
        assert pearmut.campaign_names(upload) == ("cs-de v3", "cs-uk v3")
        assert len(pearmut.read_pearmut(upload, "cs-de v3").ratings) == 2
        for name, message in ((None, "2 campaigns"), ("x", "no campaign “x”")):
            with pytest.raises(ImportProblems, match=message):
                pearmut.read_pearmut(upload, name)
    for whole in ([RECORD], {"one": [RECORD]}):  # which need no name
        assert len(pearmut.read_pearmut(Upload("a.json", json.dumps(whole).encode())).ratings) == 2
    assert pearmut.campaign_names(Upload("a.jsonl", json.dumps(RECORD).encode())) == ()
    truncated = Upload("a.json", json.dumps({"x": [RECORD]}, indent=1)[:-5].encode())
    (problem,) = problems_of(pearmut.read_pearmut, truncated)
    assert "truncated" in problem.sentence()


def test_the_tokens_after_the_text_are_an_omission_and_an_instructions_fault() -> None:
    def token(place: object, category: str | None = None) -> dict[str, Any]:
        return {"start_i": place, "end_i": place, "severity": "major", "category": category}

    # units: 😀 0–1, blank 2, a 3, house 4–8 (the line break does not count); [missing] is 9
    file = found(
        record([token(9), token(10), {"start_i": 4, "end_i": 8, "severity": "minor", "category": "Style/Odd"}])
    )
    assert file.ratings[0].errors == (
        Span("output", 0, 0, "", "Major", "Accuracy/Omission"), Span("output", 0, 0, "", "Major", "Instructions fault"),
        Span("output", 4, 9, "house", "Minor", "Style/Odd"),
    )  # fmt: skip
    written = json.loads(campaign_formats.write_pearmut(file).texts[0])["campaign"][0]["annotation"][0]
    assert [s["start_i"] for s in written["A"]["error_spans"]] == [9, 10, 4]
    for name, category in (("[missing]", "Accuracy/Omission"), ("[instructions fault]", "Instructions fault")):
        assert [e.category for e in found(record([token(name)])).ratings[0].errors or ()] == [category]
    guess = [(1, "1 error span on the second special token after the text")]
    for span, warnings in ((token(9), []), (token(10), guess), (token(10, "Instructions fault"), [])):
        read = found(record([span]))
        assert [(w.row, w.got) for w in read.warnings if "token" in w.got] == warnings


def test_the_last_annotation_of_a_text_counts() -> None:
    file = found(record([{"start_i": 0, "end_i": 1, "severity": None}]), record([]))
    assert (len(file.ratings), file.replaced, file.odd) == (1, 1, ())


def test_a_reset_discards_a_page_or_all_pages_of_an_annotator() -> None:
    other = record(user_id="u2")
    second = record(item_i=5, item=[ITEM | {"item_id": "news_###_a.1_###_1"}])
    reset = {"user_id": "u1", "annotation": "__RESET__"}
    one = found(RECORD, second, other, reset | {"item_i": 4})
    assert [(r.rater, r.key.segment_id) for r in one.ratings if r.key.system == "A"] == [("u1", "1"), ("u2", "0")]
    assert one.replaced == 2
    every = found(RECORD, second, other, reset)
    assert {r.rater for r in every.ratings} == {"u2"}
    assert len(found(reset, RECORD).ratings) == 2


def test_sliders_are_scores_and_no_verdict_on_errors() -> None:
    def moved(**sliders: float | None) -> list[dict[str, Any]]:
        return [{"A": {"score": None, "sliders": sliders, "error_spans": []}}]

    file = found(
        record(annotation=moved(Fluency=80, Adequacy=70)),
        record(user_id="u2", annotation=moved(Fluency=60, Adequacy=None)),
    )
    assert [(r.rater, r.errors, r.score, r.sliders) for r in file.ratings] == [
        ("u1", None, None, (("Fluency", 80.0), ("Adequacy", 70.0))), ("u2", None, None, (("Fluency", 60.0),)),
    ]  # fmt: skip
    assert [w.got for w in file.warnings][0] == "3 slider values (“Fluency”, “Adequacy”)"
    labels = labels_of(file)
    assert labels.rated == ()
    assert {(j.rater, j.name, j.value) for j in labels.judgements} == {
        ("u1", "Fluency", 80),
        ("u1", "Adequacy", 70),
        ("u2", "Fluency", 60),
    }
    assert slider_means(file) == {("Adequacy", "A"): 70, ("Fluency", "A"): 70}
    assert again(file).ratings == file.ratings
    # a campaign that defines no slider asks for error spans only, as MQM does
    assert [r.errors for r in found(record(annotation=moved())).ratings] == [()]


def test_what_was_skipped_or_is_not_known_is_not_rated() -> None:
    def answered(b: dict[str, Any], user: str = "u2", action: str = "submit", **of_a: Any) -> dict[str, Any]:
        actions = [{"time": 100, "action": "load"}, {"time": 130, "action": action}]
        return record(user_id=user, actions=actions, annotation=[{"A": {"error_spans": [], **of_a}} | b])

    b = {"B": {"score": None, "error_spans": [SPAN]}}
    file = found(record([SPAN]), *(answered(b, user, "submit_skip", score=90) for user in ("u2", "u1")))
    assert [(r.rater, r.key.system, r.score) for r in file.ratings] == [("u2", "A", 90.0), ("u1", "A", 90.0)]
    assert file.warnings[0].got == "2 outputs that the annotators skipped"
    unknown = found(record([SPAN]), answered({}, score=None, choice="bad"))
    unanswered = found(record([SPAN]), answered({}, score=None))
    for read in (unknown, unanswered):
        assert [r.rater for r in read.ratings] == ["u1"]
    assert [w.got for w in unknown.warnings] == ["answer “choice”, 1 time"]


def test_checks_and_tutorials_are_recognised() -> None:
    check = record(item_i="random_1", item=[ITEM | {"tgt": {"A": "x", "B": "y"}}], validations=[[True, False]])
    named = record(item=[ITEM | {"item_id": "attention_check_2"}], validations=[{"A": True, "B": [False]}])
    file = found(
        RECORD, check, named, record(item_i="welcome_0"), record(item=[ITEM | {"item_id": "cs_#_tutorial_#_1"}])
    )
    assert [r.kind for r in file.ratings] == ["item"] * 2 + ["check"] * 4 + ["tutorial"] * 4
    assert [r.passed for r in file.of_kind("check")] == [False, False, True, False]
    assert file.of_kind("check")[0].text == "x"
    assert len(file.dataset.outputs) == 2


def test_unfinished_pages_forms_and_comments_are_read() -> None:
    form = record(item=[{"text": "Age?", "form": "number"}], annotation=[{}])
    running = record(annotation=[None], actions=[{"time": 5, "action": "load"}], item_i=9)
    file = found(form, running, record(comment="unclear source", actions=None))
    assert [r.comment for r in file.ratings] == ["unclear source"] * 2
    assert [w.got for w in file.warnings] == [
        "1 item without an annotation", "1 form", "2 empty lists of error spans, and no error span in the file",
    ]  # fmt: skip
    assert again(file).ratings == file.ratings


def test_a_fault_of_a_record_has_one_message() -> None:
    faults: list[tuple[dict[str, Any], str]] = [
        ({"annotation": []}, "line 1, annotation: found 0 for 1 item; expected one per item"),
        ({"user_id": None}, "line 1, user_id: found nothing; expected a text"),
        ({"annotation": [{"A": {"score": "x"}}]}, "line 1, annotation[0].A.score: found “\"x\"”"),
        ({"annotation": [{"A": {"score": 1, "error_spans": 3}}]}, "line 1, annotation[0].A.error_spans: found “3”"),
    ]  # fmt: skip
    for changed, expected in faults:
        (problem,) = problems_of(found, RECORD | changed)
        assert expected in problem.sentence()
    with pytest.raises(ImportProblems, match="ratings without their texts"):
        found({k: v for k, v in RECORD.items() if k != "item"})


@given(campaigns(extras=True))
def test_everything_that_was_rated_is_restored(file: CampaignFile) -> None:
    read = again(file)
    assert read.ratings == file.ratings
    rated = {r.key for r in file.ratings if r.kind == "item"}
    assert {o for o in file.dataset.outputs if o.key in rated} == set(read.dataset.outputs)
    assert contents(again(read)) == contents(read)
