"""Numbers from people: scores and ranks by rater, kept as means; who gave which number can be had from `parse`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import Dataset, HumanScore, Output, OutputKey, Segment, SegmentKey
from core.errors import ImportProblems
from core.formats.files import Upload
from core.formats.judgements import Judgement, Judgements, parse, read, wins, write
from tests.core.formats.label_cases import SEVERITIES

TEXTS = Dataset((Segment("", "1", "s"),), tuple(Output(system, "", "1", system) for system in "ABC"))
DA = "system,segment,rater,score,z\nA,1,ann,70,0.5\nA,1,bob,80,\nB,1,ann,0,-1\n"


def table(text: str, name: str = "da.csv") -> Upload:
    return Upload(name, text.encode())


def test_direct_assessments_are_averaged_over_raters_column_by_column() -> None:
    got = read(table(DA), SEVERITIES, TEXTS)
    assert set(got.dataset.human_scores) == {
        HumanScore("A", "", "1", "score", 75.0), HumanScore("B", "", "1", "score", 0.0),
        HumanScore("A", "", "1", "z", 0.5), HumanScore("B", "", "1", "z", -1.0),
    }  # fmt: skip
    assert [w.found for w in got.warnings] == ["3 scores of 2 outputs", "single judgements by 2 raters"]
    assert got.rated == ()


def test_who_gave_which_number_can_be_had() -> None:
    assert parse(table(DA)).scores[1] == Judgement(2, OutputKey("A", "", "1"), "ann", "z", 0.5)


def test_a_file_with_its_outputs_needs_no_others() -> None:
    text = "system,segment,source,output,annotator,adequacy\nA,1,s,x,ann,4\nA,1,s,x,bob,5\n"
    got = read(table(text), SEVERITIES, None)
    assert got.dataset.outputs == (Output("A", "", "1", "x"),)
    assert got.dataset.human_scores == (HumanScore("A", "", "1", "adequacy", 4.5),)


def test_ranks_become_the_share_of_the_others_that_stand_below_ties_half() -> None:
    text = "system\tsegment\tjudge\trank\nA\t1\tann\t1\nB\t1\tann\t2\nC\t1\tann\t2\nA\t1\tbob\t2\nB\t1\tbob\t1\n"
    got = read(table(text, "ranks.tsv"), SEVERITIES, TEXTS)
    # ann: A beats both 1; B, C: lost to A, tie with each other .25. bob: B 1, A 0
    assert {(h.system, h.value) for h in got.dataset.human_scores} == {("A", 0.5), ("B", 0.625), ("C", 0.25)}
    assert {h.name for h in got.dataset.human_scores} == {"rank wins"}
    assert parse(table(text, "ranks.tsv")).rankings() == {
        (SegmentKey("", "1"), "ann"): {"A": 1, "B": 2, "C": 2}, (SegmentKey("", "1"), "bob"): {"A": 2, "B": 1},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("system,segment,score\nA,1,3\n", "the columns system, segment, score"),
        ("system,segment,rater,score\nA,1,ann,x\nA,1,bob,3\n", "“x”"),
        ("system,segment,rater,score\nA,1,,3\n", "no system, segment or rater"),
        ("system,segment,rater,score\nD,1,ann,3\n", "a judgement of “D”, segment “1”"),
        ("system,segment,rater,rank\nA,1,ann,1\nA,1,ann,2\n", "“ann” ranks “A” again in segment “1”"),
    ],
)
def test_what_cannot_be_read_is_a_problem(text: str, found: str) -> None:
    with pytest.raises(ImportProblems) as caught:
        read(table(text), SEVERITIES, TEXTS)
    assert found in [p.found for p in caught.value.problems]


def test_without_outputs_there_and_here_nothing_can_be_read() -> None:
    with pytest.raises(ImportProblems):
        read(table(DA), SEVERITIES, None)


NAMES = st.sampled_from(["ann", "bob", "=eve", "Zoë 😀"])


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ABC"), st.sampled_from(["1", "2"]), NAMES),
        st.tuples(st.floats(-9, 9), st.integers(1, 3)),
        min_size=1,
    )
)
def test_judgements_written_and_read_again_are_the_same(given: dict[tuple[str, str, str], tuple[float, int]]) -> None:
    scores, ranks = [], []
    for line, ((system, segment, rater), (score, rank)) in enumerate(given.items(), start=2):
        key = OutputKey(system, "", segment)
        scores.append(Judgement(line, key, rater, "score", score))
        ranks.append(Judgement(line, key, rater, "rank", rank))
    judged = Judgements(tuple(scores), tuple(ranks))
    back = parse(table(write(judged).replace("'=eve", "=eve")))
    assert (back.scores, back.ranks) == (judged.scores, judged.ranks)
    for j in wins(judged):
        assert 0 <= j.value <= 1
