"""ESA in the forms of WMT24, Appraise and Pearmut: `end_i` inclusive, UTF-16 units, "missing" for an omission."""

import json

from core.data import Dataset, HumanScore, OutputKey, Span
from core.errors import Problem
from core.formats.files import Upload
from core.formats.labels.esa import read_esa, write_esa
from core.formats.labels.label_file import LabelFile, totals_of
from tests.core.formats.label_cases import KEY, SEVERITIES, dataset, rating
from tests.core.formats.problems import problems_of

WMT = {
    "langs": "en-cs", "line_id": 12, "src": "A red house", "tgt": "😀 a read house", "doc_id": "d", "domain": "news",
    "esa_spans": [{"start_i": 5, "end_i": 8, "severity": "minor", "error_type": None}], "esa_score": "71",
    "system": "S", "annotator": "ann", "speech_info": None,
}  # fmt: skip


WHOLE = OutputKey("S", "d", "12")
APPRAISE = {
    "annotator": "u1", "source_id": "1", "source_text": "Hi", "target_id": "S", "target_text": "Halo", "score": 60,
    "mqm_annotations": '[{"start_i": 0, "end_i": 3, "severity": "major"}]', "item_id": 3, "item_type": "TGT", "source_language": "eng", "target_language": "deu",
    "document_id": "d", "is_complete_document": False, "task_type": "Document",
}  # fmt: skip


def found(*objects: object) -> LabelFile:
    return read_esa(Upload("esa.jsonl", "\n".join(map(json.dumps, objects)).encode()), SEVERITIES)


def problems(*objects: object) -> tuple[Problem, ...]:
    return problems_of(found, *objects)


def spans(*given: dict[str, object]) -> list[Span]:
    return [e for r in found({**WMT, "esa_spans": given}).rated for e in r.errors]


def test_wmt24_counts_both_ends_and_an_emoji_is_two_units() -> None:
    got = found(WMT)
    # units: 😀 0–1, blank 2, a 3, blank 4, read 5–8; code points: read is [4, 8)
    assert got.rated[0].errors == (Span("output", 4, 8, "read", "Minor", "Unspecified"),)
    assert (got.rated[0].key, got.rated[0].rater) == (WHOLE, "ann")
    assert got.dataset.human_scores == (HumanScore(*WHOLE, "ESA", 71.0),)
    at = {"start_i": 3, "end_i": 3, "severity": "neutral"}
    missing, *others = spans(
        {"start_i": "missing", "end_i": "missing", "severity": "major"},
        {**at, "error_type": ["Style", "Awkward"]}, {**at, "category": "Style/Odd"},
    )  # fmt: skip
    assert missing == Span("output", 0, 0, "", "Major", "Accuracy/Omission")
    assert [s.category for s in others] == ["Style/Awkward", "Style/Odd"]


def test_blanks_before_the_text_do_not_count_except_in_our_own_files() -> None:
    line = {**WMT, "tgt": "\u3000\n a red", "esa_spans": [{"start_i": 2, "end_i": 4, "severity": "minor"}]}
    assert [e.quote for r in found(line).rated for e in r.errors] == ["red"]
    ours = {**line, "segment_id": "7", "esa_spans": [{"start_i": 5, "end_i": 7, "severity": "minor"}]}
    assert [e.quote for r in found(ours).rated for e in r.errors] == ["red"]


def test_what_does_not_fit_is_one_clear_problem() -> None:
    for span, where, got in (
        ({"start_i": 5, "end_i": 40, "severity": "minor"}, "output [5, 41)", "an output of 14 characters"),
        ({"start_i": 9, "end_i": 3, "severity": "minor"}, "output [9, 4)", "an output of 14 characters"),
        ({"start_i": 1, "end_i": 3, "severity": "minor"}, "output 1 to 3", "half a character"),
        ({"start_i": 5, "end_i": 8, "severity": "undecided"}, "severity", "“undecided”"),
        ({"start_i": 5, "end_i": 8, "severity": None}, "severity", "none"),
        ({"start_i": 5, "severity": "minor"}, "esa_spans[0].end_i", "nothing"),
    ):
        (problem,) = problems({**WMT, "esa_spans": [span]})
        assert (problem.row, problem.column, problem.got) == (1, where, got)
    assert "en-cs, en-de" in problems(WMT, {**WMT, "langs": "en-de"})[0].got
    assert problems({**PEARMUT, "annotation": []})[0].got == "0 for 1 item"


def test_scores_of_several_raters_are_averaged_and_that_is_told() -> None:
    got = found(WMT, {**WMT, "annotator": "bob", "esa_score": 80}, {**WMT, "annotator": "eve", "esa_score": None})
    assert [h.value for h in got.dataset.human_scores] == [75.5]
    assert [len(r.errors) for r in got.rated] == [1, 1, 1]
    assert (got.warnings[0].column, got.warnings[0].got) == ("ESA", "2 scores of 1 output")


def test_appraise_is_read_without_attention_checks_and_scores_of_whole_documents() -> None:
    checked = found(APPRAISE, {**APPRAISE, "item_type": "BAD", "target_text": "Hallo nicht"})
    whole = {**APPRAISE, "item_id": 4, "target_text": "Halo. Ciao.", "score": 7, "is_complete_document": True}
    documents = found(APPRAISE, whole)
    for got, left_out in ((checked, "1 item of attention checks"), (documents, "1 score of a whole document")):
        assert [(r.key, [e.quote for e in r.errors]) for r in got.rated] == [(OutputKey("S", "d", "3"), ["Halo"])]
        assert [(h.segment_id, h.value) for h in got.dataset.human_scores] == [("3", 60.0)]
        assert [o.text for o in got.dataset.outputs] == ["Halo"]
        assert [w.got for w in got.warnings] == [left_out]


PEARMUT = {
    "user_id": "eve", "item_i": 0, "actions": [],
    "item": [{"item_id": "en-es-0", "src": "One\ntwo", "ref": "Uno\ndos", "tgt": {"A": "Uno\ntos", "B": "Uno"}}],
    "annotation": [{
        "A": {"score": 70, "error_spans": [{"start_i": 3, "end_i": 5, "severity": "minor", "category": None}]},
        "B": {"score": None, "error_spans": [{"start_i": 3, "end_i": 3, "severity": "major", "category": ""}]},
    }],
}  # fmt: skip


def test_pearmut_offsets_do_not_count_line_breaks() -> None:
    got = found(PEARMUT, {**PEARMUT, "item_i": "welcome_0", "user_id": "tutorial"})
    assert [(r.key, r.rater, r.errors) for r in got.rated] == [
        (OutputKey("A", "", "en-es-0"), "eve", (Span("output", 4, 7, "tos", "Minor", "Unspecified"),)),
        (OutputKey("B", "", "en-es-0"), "eve", (Span("output", 0, 0, "", "Major", "Accuracy/Omission"),)),
    ]
    assert got.dataset.segments[0].references == ("Uno\ndos",)
    assert [h.value for h in got.dataset.human_scores] == [70.0]


def test_an_empty_list_is_a_rating_only_if_errors_were_asked_for_and_answered() -> None:
    clean = {**WMT, "annotator": "bob", "esa_spans": []}
    nothing = {**WMT, "annotator": "eve", "esa_spans": [], "esa_score": None}
    got = found(WMT, clean, nothing)
    assert [(r.rater, len(r.errors)) for r in got.rated] == [("ann", 1), ("bob", 0)]
    assert got.warnings[-1].got == "1 output without an answer"
    assert [r.rater for r in found({**WMT, "esa_score": None}, nothing).rated] == ["ann", "eve"]
    slider = {"A": {"score": None, "sliders": {"Fluency": 3}, "error_spans": []}, "B": {"score": 50, "error_spans": []}}
    scores = found({**PEARMUT, "annotation": [slider]})
    assert scores.rated == ()
    names = [(h.system, h.name, h.value) for h in scores.dataset.human_scores]
    assert names == [("A", "Fluency", 3.0), ("B", "ESA", 50.0)]
    left = {"user_id": "bob", "actions": [{"time": 1, "action": "submit_skip"}]}
    skipped = found(PEARMUT, {**PEARMUT, **left, "annotation": [{"A": {"score": None, "error_spans": []}}]})
    assert {r.rater for r in skipped.rated} == {"eve"}
    assert skipped.warnings[-1].got == "1 output that was skipped"


def test_zeros_of_mqm_lines_are_no_scores_also_beside_esa() -> None:
    typed = [{"start_i": 5, "end_i": 8, "severity": "minor", "error_type": ["Style", "Odd"]}]
    mqm = {**WMT, "annotator": "mqm", "esa_score": 0, "esa_spans": typed}
    got = found(WMT, mqm, {**mqm, "line_id": 13, "esa_spans": []}, {**WMT, "line_id": 14, "esa_score": 0})
    assert [(h.segment_id, h.value) for h in got.dataset.human_scores] == [("12", 71.0), ("14", 0.0)]
    assert [(r.rater, len(r.errors)) for r in got.rated] == [("ann", 1), ("mqm", 1), ("mqm", 0), ("ann", 1)]
    assert "0 in 2 lines of MQM" in got.warnings[0].got


def test_esa_is_written_in_wmt24_form_with_additional_keys() -> None:
    errors = (
        Span("output", 3, 6, "old", "Minor", "Style/Awkward", "hm"),
        Span("output", 6, 6, "", "Major", "Unspecified"),
        Span("source", 4, 9, "altes", "Major", "Accuracy/Omission"),
    )
    (text,) = write_esa(dataset(scores=40.0), [rating(*errors)], totals_of(dataset(scores=40.0))).texts
    assert json.loads(text) == {
        "line_id": 0, "src": "ein altes Haus", "tgt": "an old house", "doc_id": "d", "domain": None, "esa_score": 40.0,
        "system": "S", "annotator": "r", "segment_id": "7",
        "esa_spans": [
            {"start_i": 3, "end_i": 5, "severity": "minor", "error_type": ["Style", "Awkward"], "note": "hm"},
            {"start_i": 6, "end_i": 5, "severity": "major", "error_type": None},
            {"start_i": "missing", "end_i": "missing", "severity": "major", "error_type": ["Accuracy", "Omission"],
             "source_start_i": 4, "source_end_i": 8},
        ],
    }  # fmt: skip


def test_scores_are_read_back_and_means_are_reported() -> None:
    data = dataset(scores=40.0)
    files = write_esa(data, [rating(), rating(rater="q")], totals_of(data))
    back = read_esa(Upload("x", files.texts[0].encode()), SEVERITIES)
    assert back.dataset.human_scores == (HumanScore(*KEY, "ESA", 40.0),)
    assert files.lost == ("Scores: the mean over raters is written for every rater of an output.",)
    without = Dataset(data.segments, data.outputs)
    assert "1 rating without a score" in write_esa(without, [rating()], totals_of(without)).lost[0]


def test_appraise_outputs_that_were_rated_together_are_outputs() -> None:
    shared = {k: v for k, v in APPRAISE.items() if k not in ("target_id", "target_text", "score", "mqm_annotations")}
    span = [{"start_i": 0, "end_i": 3, "severity": "minor", "error_type": None}]
    targets = [
        {"target_id": "A", "target_text": " Halo", "score": 80, "mqm_annotations": json.dumps(span)},
        {"target_id": "B", "target_text": "Hallo", "score": 20, "mqm_annotations": "[]"},
    ]
    got = found({**shared, "targets": targets})
    assert [(r.key, [e.quote for e in r.errors]) for r in got.rated] == [
        (OutputKey("A", "d", "3"), ["Halo"]), (OutputKey("B", "d", "3"), []),
    ]  # fmt: skip
    assert [h.value for h in got.dataset.human_scores] == [80.0, 20.0]
    without = [{k: v for k, v in t.items() if k != "mqm_annotations"} for t in targets]
    scores = found({**shared, "targets": without})
    assert (scores.rated, len(scores.dataset.human_scores)) == ((), 2)


def pearmut(user: str, page: object, **answers: object) -> dict[str, object]:
    item = {"item_id": f"d-{page}", "src": "s", "tgt": dict.fromkeys(answers, "abc def")}
    return {"user_id": user, "item_i": page, "item": [item], "annotation": [answers], "actions": []}


def answer(score: int, *spans: tuple[int, int]) -> dict[str, object]:
    return {"score": score, "error_spans": [{"start_i": a, "end_i": b, "severity": "major"} for a, b in spans]}


def test_the_last_record_of_a_pearmut_log_counts_and_a_reset_discards() -> None:
    got = found(
        pearmut("u1", 0, A=answer(10, (0, 2)), B=answer(20)),
        pearmut("u2", 0, A=answer(30, (0, 0))),
        pearmut("u1", 0, A=answer(90)),
        {"user_id": "u2", "item_i": 0, "annotation": "__RESET__"},
    )
    assert got.rated == ()  # no error span is left, so that nothing shows that errors were asked for
    assert {(h.system, h.value) for h in got.dataset.human_scores} == {("A", 90.0), ("B", 20.0)}
    assert "2 answers changed or reset later" in [w.got for w in got.warnings]
    every = found(pearmut("u", 0, A=answer(1)), pearmut("u", 1, A=answer(2)), {"user_id": "u", "annotation": "__RESET__"},
                  pearmut("v", 1, A=answer(3)))  # fmt: skip
    assert [h.value for h in every.dataset.human_scores] == [3.0]


def test_pearmut_tokens_checks_forms_and_missing_texts_are_said() -> None:
    got = found(pearmut("u", 0, A=answer(5, (0, 2), (7, 7), (8, 8))))
    assert [e.category for e in got.rated[0].errors] == ["Unspecified", "Accuracy/Omission", "Instructions fault"]
    assert got.warnings[0].got == "1 error span on the second special token after the text"
    check, form = pearmut("u", 1, A=answer(1)), pearmut("u", "welcome_0")
    check["item"] = [{"item_id": "attention_check_3", "tgt": {"A": "x"}}]
    form |= {"item": [{"text": "Your language?", "form": "string"}], "annotation": ["German"]}
    left = found(pearmut("u", 0, A=answer(5)), check, form)
    assert [o.segment_id for o in left.dataset.outputs] == ["d-0"]
    assert "2 items of tutorials, checks and forms" in [w.got for w in left.warnings]
    (problem,) = problems({"user_id": "u", "item_i": 0, "annotation": {"A": answer(5)}})
    assert problem.got == "nothing: ratings without their texts"
