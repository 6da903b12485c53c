"""mt-metrics-eval's files, by the facts of its README and of `ratings.py`: blocks per system, None, ends exclusive."""

import json

import pytest

from core.data import Dataset, HumanScore, Output, OutputKey, RatedOutput, Segment, Span
from core.errors import ImportProblems, Problem, UserError
from core.formats import mtme_score
from core.formats.files import Upload
from core.formats.labels import mtme_rating
from core.formats.labels.label_file import Severities, totals_of
from tests.core.formats.label_cases import SEVERITIES
from tests.core.formats.problems import problems_of

TEXTS = Dataset(
    (Segment("d", "1", "rotes Haus"), Segment("d", "2", "zwei"), Segment("e", "1", "drei")),
    (
        Output("A", "d", "1", "😀 red home"), Output("B", "d", "1", "home"), Output("A", "d", "2", "two"),
        Output("A", "e", "1", "three"), Output("B", "e", "1", "3"),
    ),
)  # fmt: skip
FIRST, LAST = OutputKey("A", "d", "1"), OutputKey("A", "e", "1")


ERROR = {
    "start": 2,
    "end": 5,
    "category": "Style/Awkward",
    "severity": "minor",
    "score": None,
    "is_source_error": False,
}


def line(system: str, *errors: object, rater: str = "") -> str:
    said = json.dumps({"errors": [{**ERROR, **e} for e in errors if isinstance(e, dict)]})
    return f"{system}\t{said}" + (f"\t{rater}" if rater else "") + "\n"


def rated(text: str, name: str = "en-de.mqm.rater1.seg.rating") -> tuple[RatedOutput, ...]:
    return mtme_rating.read_ratings(Upload(name, text.encode()), SEVERITIES, TEXTS).rated


def problems(text: str, texts: Dataset | None = TEXTS) -> tuple[Problem, ...]:
    return problems_of(mtme_rating.read_ratings, Upload("x.seg.rating", text.encode()), SEVERITIES, texts)


def test_rating_lines_follow_segment_order_and_none_is_unrated() -> None:
    got = rated(line("A", {}, rater="ann") + "A\tNone\n" + line("A", rater="bob"))
    error = Span("output", 2, 5, "red", "Minor", "Style/Awkward")
    assert got == (RatedOutput(FIRST, "ann", (error,)), RatedOutput(LAST, "bob", ()))
    # blocks of systems alternate, and the file names the rater
    got = rated(line("A") + "B\tNone\n" + "A\tNone\nB\tNone\n" + "A\tNone\n" + line("B", {"start": 0, "end": 1}))
    assert [(r.key.system, r.key.doc_id, r.rater) for r in got] == [("A", "d", "rater1"), ("B", "e", "rater1")]


def test_offsets_are_characters_also_in_the_source_and_missing_categories_unspecified() -> None:
    got = rated(line("A", {"start": 0, "end": 1}, {"start": 0, "end": 5, "is_source_error": True}) + "A\tNone\n" * 2)
    assert [(e.quote, e.side) for e in got[0].errors] == [("😀", "output"), ("rotes", "source")]
    text = line("A", {"category": None, "score": 5}) + "A\tNone\n" * 2
    read = mtme_rating.read_ratings(Upload("x", text.encode()), SEVERITIES, TEXTS)
    assert read.rated[0].errors[0].category == "Unspecified"
    assert read.warnings[0].got == "scores of 1 error"


def test_what_does_not_fit_is_one_clear_problem() -> None:
    for text, got, expected in (
        (line("A", {"end": 99}) + "A\tNone\n" * 2, "an output of 10 characters", "a span inside its text"),
        (line("A", {"severity": None}) + "A\tNone\n" * 2, "none", "Major, Minor, Neutral"),
        (line("A"), "1 line of “A”", "3 segments"),
        (line("C") * 3, "a system named “C”", "“A”, “B”"),
        ("B\tNone\n" + line("B") + "B\tNone\n", "a rating of “B”, segment “2”", "an output of the project"),
        ("A\tnonsense\n" + "A\tNone\n" * 2, "“nonsense”", '{"errors": […]} or None'),
        ('A\t{"errors": [{"start": "2", "end": 3}]}\n' + "A\tNone\n" * 2, "“\"2\"”", "a whole number"),
    ):  # fmt: skip
        assert (got, expected) in [(p.got, p.expected) for p in problems(text)]
    (problem,) = problems(line("A"), None)
    assert "Import the outputs first" in problem.todo


def test_a_rating_file_is_written_as_mt_metrics_eval_writes_it() -> None:
    label = RatedOutput(FIRST, "ann", (Span("output", 2, 5, "red", "Minor", "Unspecified"),))
    (text,) = mtme_rating.write_ratings(TEXTS, [label], totals_of(TEXTS)).texts
    assert text == (
        'A\t{"errors": [{"start": 2, "end": 5, "category": null, "severity": "Minor", "score": null, '
        '"is_source_error": false}]}\tann\nA\tNone\nA\tNone\n'
    )
    for name in ("a\tb", "a\nb", " a", ""):
        with pytest.raises(UserError, match="cannot store this name"):
            mtme_rating.write_ratings(TEXTS, [RatedOutput(FIRST, name, ())], totals_of(TEXTS))


def test_standalone_ratings_have_texts_and_segments_from_0() -> None:
    label = RatedOutput(LAST, "ann", (Span("source", 0, 4, "drei", "Major", "Accuracy/Omission", "gone"),))
    (text,) = mtme_rating.write_standalone(TEXTS, [label], totals_of(TEXTS)).texts
    assert json.loads(text) == {
        "source": "drei", "hypothesis": "three", "document_id": "e", "segment_id": 2, "system_id": "A",
        "rater_id": "ann", "src_lang": None, "tgt_lang": None, "segment_name": "1",
        "errors": [{"start": 0, "end": 4, "category": "Accuracy/Omission", "severity": "Major", "score": None,
                    "is_source_error": True, "note": "gone"}],
    }  # fmt: skip


def test_standalone_ratings_may_have_no_rater_and_are_of_one_text_and_one_language_pair() -> None:
    def upload(*records: dict[str, object]) -> Upload:
        return Upload("x.jsonl", "\n".join(map(json.dumps, records)).encode())

    record = {"source": "s", "hypothesis": "a red home", "errors": [ERROR], "segment_id": 4, "system_id": "A"}
    got = mtme_rating.read_standalone(upload(record), SEVERITIES)
    assert got.dataset.outputs == (Output("A", "", "4", "a red home"),)
    assert got.rated[0].rater == "rater"
    other = upload(record, record | {"hypothesis": "another text"})
    assert problems_of(mtme_rating.read_standalone, other, SEVERITIES)[0].expected == "“a red home”, as in line 1"
    pairs = [record | {"segment_id": i, "src_lang": lang, "tgt_lang": "en"} for i, lang in enumerate(("de", "fr"))]
    with pytest.raises(ImportProblems, match="de-en, fr-en"):
        mtme_rating.read_standalone(upload(*pairs), SEVERITIES)


def test_score_files_allow_any_white_space_and_none() -> None:
    text = "A\t-1.5\nA None\nA   0\nB -25\nB None\nB\tNone\n"
    got = mtme_score.read_mtme_scores(Upload("en-de.mqm.seg.score", text.encode()), Severities(), TEXTS)
    assert got.dataset.human_scores == (
        HumanScore("A", "d", "1", "mqm", -1.5), HumanScore("A", "e", "1", "mqm", 0.0), HumanScore("B", "d", "1", "mqm", -25),
    )  # fmt: skip
    assert (got.dataset.outputs, got.warnings) == (TEXTS.outputs, ())
    unusual = mtme_score.read_mtme_scores(Upload("New-v2.seg.score", b"A 1\n" * 3), Severities(), TEXTS)
    assert [w.got for w in unusual.warnings] == ["scores read as human scores, New-v2"]


def test_scores_that_do_not_fit_the_outputs_are_problems() -> None:
    for name, text, got in (
        ("x.seg.score", "A 1\nA 2\n", "2 lines of “A”"),
        ("x.seg.score", "Z 1\nZ 2\nZ 3\n", "a system named “Z”"),
        ("x.seg.score", "A x\nA 1\nA 1\n", "“x”"),
        ("x.seg.score", "B 1\nB 2\nB 3\n", "a score of “B”, segment “2”"),
        ("x.seg.score", "A 1\nA 1\nA 1\nA 1\n", "4 lines of “A”"),
        ("x.seg.score", "A None\n" * 3, "no scores"),
        ("en-de.mqm.doc.score", "A 1\nA 2\nA 3\n", "scores of documents (.doc.score)"),
        ("en-de.mqm.domain.score", "news A 1\n", "scores of domains (.domain.score)"),
        ("COMET-refA.sys.score", "A 1\n", "scores of systems (.sys.score)"),
        ("en-de.mqm.seg.score", "A -1.0 1.0 rater1\n", "lines such as “A -1.0 1.0 rater1”"),
    ):
        for read in (mtme_score.read_mtme_scores, mtme_score.read_metric):
            (problem,) = problems_of(read, Upload(name, text.encode()), SEVERITIES, TEXTS)
            assert got in problem.got


def test_scores_written_and_read_again_are_the_same_numbers() -> None:
    scores = {FIRST: -1.1, LAST: 1e-30, OutputKey("B", "d", "1"): None, OutputKey("B", "e", "1"): 3}
    text = mtme_score.write_mtme_scores(TEXTS, scores)
    assert text == "A\t-1.1\nA\tNone\nA\t1e-30\nB\tNone\nB\tNone\nB\t3.0\n"
    back = mtme_score.read_mtme_scores(Upload("en-de.x.seg.score", text.encode()), SEVERITIES, TEXTS)
    assert {OutputKey(*h[:3]): h.value for h in back.dataset.human_scores} == {
        k: v for k, v in scores.items() if v is not None
    }
    with pytest.raises(UserError, match="blanks"):
        mtme_score.write_mtme_scores(TEXTS, {OutputKey("my system", "d", "1"): 1.0})
