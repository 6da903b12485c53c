"""Label Studio's JSON: `end` exclusive, code points or (old) UTF-16 units, regions of one id, per-region answers."""

import json
from typing import Any

import pytest

from core.data import Output, Segment, Span
from core.errors import ImportProblems, Problem
from core.formats.files import Upload
from core.formats.labels.label_file import LabelFile, totals_of
from core.formats.labels.label_formats import guess, write_label_studio
from core.formats.labels.label_studio import read_label_studio
from tests.core.formats.label_cases import SEVERITIES, dataset, rating
from tests.core.formats.problems import problems_of

TEXT = "😀 a bad cat"


def region(
    start: int, end: int, *labels: str, quote: str | None = None, name: str = "x1", **more: Any
) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": list(labels)} | ({"text": quote} if quote is not None else {})
    names = {"id": name, "from_name": "label", "to_name": "text", "type": "labels", "origin": "manual"}
    return {**names, "value": value, **more}


def task(*result: dict[str, Any], **annotation: Any) -> dict[str, Any]:
    said = {"id": 9, "completed_by": 3, "was_cancelled": False, "result": list(result), **annotation}
    return {"id": 17, "data": {"text": TEXT, "source": "eine Katze"}, "annotations": [said], "predictions": []}


def found(*tasks: dict[str, Any]) -> LabelFile:
    return read_label_studio(Upload("export.json", json.dumps(tasks, indent=1).encode()), SEVERITIES)


def problems(*tasks: dict[str, Any]) -> tuple[Problem, ...]:
    return problems_of(found, *tasks)


def errors(*tasks: dict[str, Any]) -> list[Span]:
    return [e for r in found(*tasks).rated for e in r.errors]


def test_exported_spans_are_half_open_and_tasks_are_segments() -> None:
    got = found(task(region(4, 7, "Major", quote="bad")))
    assert got.dataset.segments == (Segment("", "17", "eine Katze"),)
    assert got.dataset.outputs == (Output("output", "", "17", TEXT),)
    assert got.rated[0].rater == "3"
    assert got.rated[0].errors == (Span("output", 4, 7, "bad", "Major", "Unspecified"),)
    assert [r.rater for r in found(task(completed_by={"id": 1, "email": "a@b.org"})).rated] == ["a@b.org"]


def test_quotes_reveal_utf16_offsets_for_all_regions() -> None:
    # 😀 is two units: "bad" is [4, 7) in code points and [5, 8) in units; "cat" [8, 11) and [9, 12)
    assert [e.quote for e in errors(task(region(5, 8, "minor", quote="bad")))] == ["bad"]
    both = task(region(5, 8, "minor", quote="bad"), region(9, 12, "minor", name="x2"))
    assert [e.quote for e in errors(both)] == ["bad", "cat"]
    assert [e.quote for e in errors(task(region(8, 11, "minor")))] == ["cat"]


def test_a_region_that_does_not_fit_is_one_clear_problem() -> None:
    for region_, got, expected in (
        (region(3, 7, "minor", quote="cat"), "“ bad”", "“cat”"),
        (region(3, 70, "minor"), "an output of 11 characters", "a span inside its text"),
        (region(3, 7, "Accuracy"), "a region with “Accuracy”", "Major, Minor or Neutral among its labels"),
        (region(3, 7), "a region with no label", "Major, Minor or Neutral among its labels"),
    ):
        (problem,) = problems(task(region_))
        assert (problem.got, problem.expected) == (got, expected)


def test_region_answers_are_severity_category_and_note() -> None:
    place = {"start": 4, "end": 7}
    choice = region(4, 7) | {"type": "choices", "value": place | {"choices": ["Minor"]}}
    path = region(4, 7) | {"type": "taxonomy", "value": place | {"taxonomy": [["Accuracy", "Mistranslation"]]}}
    note = region(4, 7) | {"type": "textarea", "value": place | {"text": ["why"]}}
    for category in (region(4, 7, "Accuracy/Mistranslation"), path):
        [error] = errors(task(category, choice, note))
        assert error == Span("output", 4, 7, "bad", "Minor", "Accuracy/Mistranslation", "why")
    noted = region(4, 7, "Minor") | {"meta": {"text": ["why", "so"]}}
    assert [e.note for e in errors(task(noted))] == ["why\nso"]
    for name in ("source", "source_text"):  # regions of the source text are marks in the source
        [error] = errors(task(region(0, 4, "Major", to_name=name)))
        assert error == Span("source", 0, 4, "eine", "Major", "Unspecified")


def test_empty_annotations_are_clean_and_skipped_ones_left_out() -> None:
    got = found(task(), task(was_cancelled=True) | {"id": 18})
    assert [(r.key.segment_id, r.errors) for r in got.rated] == [("17", ())]
    assert [w.got for w in got.warnings] == ["1 skipped annotation", "no region in any annotation"]


def test_predictions_are_read_only_where_nobody_annotated() -> None:
    guess = {"model_version": "v1", "result": [region(4, 7, "Major")]}
    only = task() | {"annotations": [], "predictions": [guess]}
    assert [r.rater for r in found(only).rated] == ["v1"]
    assert [w.got for w in found(only).warnings] == ["1 prediction and no annotation"]
    beside = found(task(), only | {"id": 18})
    assert [r.rater for r in beside.rated] == ["3"]
    assert beside.warnings[0].got == "1 prediction"


def test_regions_of_hypertext_and_paragraphs_are_read() -> None:
    path = {"start": "/text()[1]", "end": "/text()[1]", "startOffset": 4, "endOffset": 7}
    hyper = {
        "type": "hypertextlabels",
        "value": path | {"globalOffsets": {"start": 4, "end": 7}, "hypertextlabels": ["Major"]},
    }
    spoken = {"type": "paragraphlabels", "value": path | {"text": "bad", "paragraphlabels": ["Major"]}}
    for change in (hyper, spoken):
        assert [(e.start, e.end) for e in errors(task(region(0, 0) | change))] == [(4, 7)]
    markup = task(region(0, 0) | hyper)
    markup["data"]["text"] = "<p>a bad cat</p>"
    (problem,) = problems(markup)  # offsets in the displayed text, and no quote that confirms them
    assert "not read: 1 × region of type “hypertextlabels” without offsets in its text" in problem.got


def test_what_is_not_understood_is_no_rating_and_is_counted() -> None:
    other = task() | {"id": 18}
    for result, what in (
        (region(0, 0) | {"type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["Major"]}}, "region of type “rectanglelabels”"),
        (region(1, 3, "Major", to_name="reference"), "region of type “labels” on another text"),
        ({"type": "choices", "value": {"choices": ["Cannot judge"]}}, "choices “Cannot judge” about a whole output"),
        ({"type": "pairwise", "value": {"selected": "left"}}, "answer of type “pairwise”"),
    ):  # fmt: skip
        unclear = task(result)
        unclear["data"]["reference"] = "the cat"
        got = found(task(region(4, 7, "Major")) | {"id": 19}, unclear, other)
        assert [(r.key.segment_id, len(r.errors)) for r in got.rated] == [("19", 1), ("18", 0)]
        assert [w.got for w in got.warnings] == [f"{what}, 1 time"]


def test_scores_without_regions_are_no_verdict_on_errors() -> None:
    stars = {"type": "rating", "value": {"rating": 4}}
    assert "not read: 2 × answer of type “rating”" in problems(task(stars), task(stars) | {"id": 18})[0].got
    asked = found(task(region(4, 7, "Major")), task(stars) | {"id": 18})
    assert [len(r.errors) for r in asked.rated] == [1, 0]
    assert [w.todo for w in asked.warnings] == ["Left out"]
    said = found(task({"type": "choices", "value": {"choices": ["No error"]}}))
    assert [r.errors for r in said.rated] == [()]


def test_an_annotation_counts_once() -> None:
    one = task(region(4, 7, "Major"), completed_by=1)
    got = found(one, one | {"annotations": [*one["annotations"], {"id": 10, "completed_by": 2, "result": []}]})
    assert [(r.rater, len(r.errors)) for r in got.rated] == [("1", 1), ("2", 0)]
    assert [w.got for w in got.warnings] == ["1 repeated annotation"]
    assert "with other regions" in problems(one, task(region(0, 1, "Major"), completed_by=1))[0].got
    twice = found(task(region(4, 7, "Major"), region(4, 7, "Major", name="x2")))
    assert [len(r.errors) for r in twice.rated] == [1]
    assert twice.warnings[0].got == "1 exact duplicate of an error"


def test_other_exports_and_tasks_without_an_output_are_named() -> None:
    label = [{"start": 4, "end": 7, "labels": ["Major"]}]
    short = {"id": 1, "text": TEXT, "label": label, "annotator": 1, "annotation_id": 3}
    table = 'annotation_id,annotator,id,label,lead_time,text\n1,a,5,"[{""start"":0,""end"":2,""labels"":[""Minor""]}]",9.5,x\n'
    for name, text, message in (
        ("x.json", json.dumps([short]), "JSON-MIN; expected Label Studio’s JSON"),
        ("export.csv", table, "Choose JSON in Label Studio’s export"),
    ):
        upload = Upload(name, text.encode())
        assert guess(upload) == "label-studio"
        with pytest.raises(ImportProblems, match=message):
            read_label_studio(upload, SEVERITIES)
    pair = task({"id": "p", "type": "pairwise", "value": {"selected": "left"}}) | {"data": {"one": "x", "two": "y"}}
    (problem,) = problems(pair)
    assert (problem.column, problem.got) == ("data", "the fields “one”, “two”, with answers of type pairwise")
    assert problems({"id": 1, "annotations": []})[0].column == "data"


def test_written_tasks_fit_the_documented_interface() -> None:
    label = rating(
        Span("output", 3, 6, "old", "Minor", "Style/Awkward", "hm"),
        Span("source", 4, 9, "altes", "Major", "Unspecified"),
    )
    (got,) = json.loads(write_label_studio(dataset(), [label, rating(rater="q")], totals_of(dataset())).texts[0])
    assert got["data"] == {
        "output": "an old house", "source": "ein altes Haus", "system": "S", "doc_id": "d", "segment_id": "7",
    }  # fmt: skip
    first, second = got["annotations"]
    assert "completed_by" not in first  # Label Studio refuses people it does not know
    said = [(r["from_name"], r["to_name"], r["type"], r["value"]) for r in first["result"]]
    at = {"start": 3, "end": 6}
    assert said == [
        ("rater", "output", "textarea", {"text": ["r"]}),
        ("severity", "output", "labels", at | {"text": "old", "labels": ["Minor"]}),
        ("category", "output", "taxonomy", at | {"text": "old", "taxonomy": [["Style", "Awkward"]]}),
        ("note", "output", "textarea", at | {"text": ["hm"]}),
        ("severity_source", "source", "labels", {"start": 4, "end": 9, "text": "altes", "labels": ["Major"]}),
    ]
    ids = [r["id"] for r in (*first["result"], *second["result"])]
    assert len(set(ids)) == 4  # who rated twice, and two marks
    assert ids[1] == ids[2] == ids[3] != ids[4]


def test_the_form_of_version_0_and_line_breaks_in_quotes_are_read() -> None:
    text = "liest\r\nzwei"
    old = task(region(0, 10, "Minor", quote="liest\\n\\nzwe"), region(7, 11, "Major", quote="zwei", name="x2"))
    old["completions"] = old.pop("annotations")
    old["data"]["text"] = text
    old["completions"].append({"id": 10, "skipped": True, "result": []})
    got = found(old)
    assert [e.quote for r in got.rated for e in r.errors] == ["liest\r\nzwe", "zwei"]
    assert [w.got for w in got.warnings] == ["1 skipped annotation"]


def test_ratings_and_numbers_are_scores_by_annotator() -> None:
    stars = {"id": "a", "from_name": "adequacy", "to_name": "text", "type": "rating", "value": {"rating": 4}}
    percent = {"id": "b", "from_name": "da", "to_name": "text", "type": "number", "value": {"number": 71.5}}
    got = found(task(stars, percent))
    assert (got.rated, got.warnings) == ((), ())
    assert [(j.rater, j.name, j.value) for j in got.judgements] == [("3", "adequacy", 4.0), ("3", "da", 71.5)]
    both = found(task(stars, region(4, 7, "Major")))
    assert [len(both.rated), len(both.judgements), len(both.warnings)] == [1, 1, 0]
    about_source = found(task(stars | {"to_name": "source"}, region(4, 7, "Major")))
    assert (about_source.judgements, about_source.warnings[0].got) == ((), "answer of type “rating”, 1 time")


def test_tasks_of_one_source_need_a_segment_id_to_be_compared() -> None:
    def of(system: str, **more: str) -> dict[str, Any]:
        made = task(region(4, 7, "Major"))
        return made | {"id": system, "data": made["data"] | {"system": system, **more}}

    (warning,) = found(of("A"), of("B")).warnings
    assert warning.got == "1 source in tasks of several systems, without segment_id"
    together = found(of("A", segment_id="s"), of("B", segment_id="s"))
    assert ([s.segment_id for s in together.dataset.segments], together.warnings) == (["s"], ())
