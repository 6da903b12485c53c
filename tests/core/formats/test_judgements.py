"""Numbers from people: every number of every rater is kept, and comes back from what is written."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.data import Dataset, Judgement, Output, OutputKey, Segment
from core.errors import ImportProblems
from core.formats.files import Upload
from core.formats.labels.judgements import each_csv_line, each_jsonl_line, is_rank, parse, read_judgements
from tests.core.formats.label_cases import SEVERITIES
from tests.core.formats.problems import problems_of

TEXTS = Dataset((Segment("", "1", "s"),), tuple(Output(system, "", "1", system) for system in "ABC"))
DA = "system,segment,rater,score,z\nA,1,ann,70,0.5\nA,1,bob,80,\nB,1,ann,0,-1\n"
A, B = OutputKey("A", "", "1"), OutputKey("B", "", "1")


def table(text: str, name: str = "da.csv") -> Upload:
    return Upload(name, text.encode())


def test_every_number_is_kept_with_its_rater() -> None:
    got = read_judgements(table(DA), SEVERITIES, TEXTS)
    assert got.judgements == (
        Judgement(A, "ann", "score", 70), Judgement(A, "ann", "z", 0.5), Judgement(A, "bob", "score", 80),
        Judgement(B, "ann", "score", 0), Judgement(B, "ann", "z", -1),
    )  # fmt: skip
    assert (got.dataset.human_scores, got.rated, got.warnings) == ((), (), ())
    assert read_judgements(table(DA + "A,1,ann,70,0.5\n"), SEVERITIES, TEXTS).judgements == got.judgements
    assert parse(table(DA)).lines[1] == (2, Judgement(A, "ann", "z", 0.5))
    assert [is_rank(name) for name in ("rank", "Ranking", "score", "adequacy")] == [True, True, False, False]
    with pytest.raises(ImportProblems):
        read_judgements(table(DA), SEVERITIES, None)


def test_a_file_with_its_outputs_needs_no_others() -> None:
    text = "system,segment,source,output,annotator,adequacy\nA,1,s,x,ann,4\nA,1,s,x,bob,5\n"
    got = read_judgements(table(text), SEVERITIES, None)
    assert got.dataset.outputs == (Output("A", "", "1", "x"),)
    assert [j.value for j in got.judgements] == [4, 5]
    text = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tscore\nA\tnews\t4\t9\tr\ts\tt\t5\nB\tnews\t4\t9\tr\ts\tu\t3\n"
    google = read_judgements(table(text, "psqm.tsv"), SEVERITIES, None)
    assert google.dataset.outputs == (Output("A", "news", "9", "t"), Output("B", "news", "9", "u"))


def test_what_cannot_be_read_is_a_problem() -> None:
    for text, got in (
        ("system,segment,score\nA,1,3\n", "the columns system, segment, score"),
        ("system,segment,rater,score\nA,1,ann,x\nA,1,bob,3\n", "“x”"),
        ("system,segment,rater,score\nA,1,,3\n", "no system, segment or rater"),
        ("system,segment,rater,score\nD,1,ann,3\n", "a judgement of “D”, segment “1”"),
        ("system,segment,rater,rank\nA,1,ann,1\nA,1,ann,2\n", "“ann” ranks “A” again in segment “1”"),
        ("system,segment,rater,score\nA,1,ann,3\nA,1,ann,4\n", "4 by “ann” for “A”, segment “1”"),
    ):
        assert got in [p.got for p in problems_of(read_judgements, table(text), SEVERITIES, TEXTS)]


PLAIN = st.sampled_from(["ann", "bob", "Zoë 😀", 'a "b", c'])
NAMES = st.one_of(PLAIN, st.sampled_from(["=eve", "'=x", "-1"]))
VALUES = st.floats(-1e15, 1e15)


def judged(names: st.SearchStrategy[str]) -> st.SearchStrategy[list[Judgement]]:
    of = st.tuples(st.builds(OutputKey, st.sampled_from("AB"), st.just("d 1"), st.sampled_from("12")), names)
    numbers = st.tuples(VALUES, st.integers(1, 3).map(float))
    return st.dictionaries(of, numbers, min_size=1).map(
        lambda rows: [
            Judgement(*of, name, v) for of, row in rows.items() for name, v in zip(("score", "rank"), row, strict=True)
        ]
    )


@given(judged(PLAIN), judged(NAMES))
@example(*[[Judgement(A, "ann", "score", 70.0), Judgement(B, "ann", "rank", 1.0)]] * 2)
def test_what_is_written_comes_back_row_by_row(numbers: list[Judgement], of_any_name: list[Judgement]) -> None:
    text = "".join(each_csv_line(numbers))
    assert len(text.splitlines()) == 1 + len({(j.key, j.rater) for j in numbers})
    assert [g.judgement for g in parse(table(text)).lines] == numbers
    back = parse(table("".join(each_jsonl_line(of_any_name)), "judgements.jsonl"))
    assert [g.judgement for g in back.lines] == of_any_name


def test_an_index_is_no_score_and_a_column_with_other_cells_is() -> None:
    rows = [f"{9 - i},A,{i},ann,{'#N/A' if i == 3 else i},{'x' if i else '2'}" for i in range(10)]
    header = ",system,segment,rater,quality,seed"
    (problem,) = problems_of(parse, Upload("a.csv", "\n".join([header, *rows]).encode()))
    assert (problem.row, problem.column, problem.got) == (5, "quality", "“#N/A”")
    got = parse(Upload("a.csv", "\n".join([header, *rows]).replace("#N/A", "").encode()))
    assert {g.judgement.name for g in got.lines} == {"quality"}
    assert got.unread == ("column 1", "seed")


def test_times_and_ids_are_no_scores_and_attention_checks_are_left_out() -> None:
    head = "taskID,systemID,username,segmentID,score,startTime,durationInSeconds,lead_time,annotation_id,itemType\n"
    rows = [
        "7,A,ann,1,70,15377.5,9.5,3.5,12,TGT",
        "7,B,ann,1,60,15379.5,8.5,4.5,11,TGT",
        "7,A,ann,1,3,15380.5,9.5,2.5,19,BAD",
    ]
    got = read_judgements(table(head + "\n".join(rows)), SEVERITIES, TEXTS)
    assert got.judgements == (Judgement(A, "ann", "score", 70), Judgement(B, "ann", "score", 60))
    assert got.warnings[0].got == "1 row of attention checks"
    unread = ["taskID", "startTime", "durationInSeconds", "lead_time", "annotation_id"]
    assert [w.column for w in got.warnings[1:]] == unread
