"""Human scores that `evaluate` and `calibrate` read."""

import json
from pathlib import Path

import pytest

from cli.human_scores import read_human_scores
from core.data import Dataset, Output, OutputKey, Segment
from core.errors import ImportProblems, UserError
from core.formats.given_roles import GivenRoles
from tests.paths import DATA

KEY = OutputKey("A", "d", "1")
MQM = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n" + "\n".join(
    f"A\td\t1\t1\t{rater}\tQuelle\tA <v>bad</v> text\t{category}\t{severity}"
    for rater, category, severity in (("r1", "Style", "Major"), ("r2", "Style", "Minor"), ("r2", "Fluency", "Minor"))
)


def document(tmp_path: Path, human: dict[str, float]) -> Path:
    path = tmp_path / "data.jsonl"
    outputs = {"A": {"text": "one", "human": human}, "B": {"text": "two", "human": dict.fromkeys(human, 2.5)}}
    row = {"doc_id": "d", "segment_id": "1", "source": "s", "references": ["r"], "outputs": outputs}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def test_one_of_several_score_columns_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "human.csv"
    path.write_text("system,doc_id,segment_id,score,n_raters,fluency\nA,d,1,-3.5,2,4\nB,d,1,,2,\n")
    with pytest.raises(UserError, match=r"several human scores \(got score, fluency; .*--human-score score"):
        read_human_scores(path)
    assert read_human_scores(path, "score")[:2] == ({KEY: (-3.5, 2)}, 1)
    assert read_human_scores(path, "fluency")[:2] == ({KEY: (4.0, 2)}, 1)


def test_documents_with_one_human_score_need_no_name(tmp_path: Path) -> None:
    found = read_human_scores(document(tmp_path, {"fluency": 3}))
    assert found == ({KEY: (3.0, None), OutputKey("B", "d", "1"): (2.5, None)}, 0, "fluency")


def test_one_of_several_human_scores_must_be_chosen(tmp_path: Path) -> None:
    path = document(tmp_path, {"fluency": 3, "coherence": 1})
    with pytest.raises(UserError, match=r"several human scores \(got fluency, coherence; .*--human-score fluency"):
        read_human_scores(path)
    assert read_human_scores(path, "coherence")[0][KEY] == (1.0, None)
    with pytest.raises(UserError, match="Did you mean fluency"):
        read_human_scores(path, "fluencey")


def test_labels_become_mqm_scores(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(MQM, encoding="utf-8")
    assert read_human_scores(path) == ({KEY: (-3.5, 2)}, 0, "mqm")
    assert read_human_scores(path, "mqm")[:2] == ({KEY: (-3.5, 2)}, 0)


def test_a_table_of_scores_may_name_its_columns_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    path = tmp_path / "ratings.csv"
    path.write_text("Unnamed: 0,Model,document,sentence,adequacy\n3,A,d,1,4\n1,B,d,1,2\n")
    found = read_human_scores(path)
    assert (found.scores[KEY], found.name) == ((4.0, None), "adequacy")
    said = capsys.readouterr().err
    assert "  human: adequacy\n" in said
    assert "  unused: Unnamed: 0 (an index of the rows)\n" in said
    assert read_human_scores(path, roles=GivenRoles(["unused=adequacy", "human=Unnamed: 0"]))[0][KEY] == (3.0, None)


def test_a_cell_that_is_no_number_never_makes_another_score_the_human_one(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    for cell in ("#DIV/0!", "#N/A", "-", "?", "80%", "4,5", "<1", "−1", "Infinity", "good"):
        rows = [f'{s},d,{i},out {i},{i},"{cell if (s, i) == ("B", 2) else 5 - i}"' for s in "AB" for i in range(4)]
        path.write_text("system,doc,segment,output,fluency,adequacy\n" + "\n".join(rows) + "\n", encoding="utf-8")
        with pytest.raises(ImportProblems) as caught:
            read_human_scores(path)
        assert [(p.row, p.column, p.got) for p in caught.value.problems] == [(8, "adequacy", f"“{cell}”")], cell


def test_labels_are_weighted_by_the_scheme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(MQM.replace("\tStyle\tMajor", "\tSource error\tMajor"), encoding="utf-8")
    for scheme, score in ((None, -3.5), ("google", -3.5), ("marot", -1.0), ("flat", -3.5)):
        assert read_human_scores(path, scheme=scheme)[:2] == ({KEY: (score, 2)}, 0)
        assert f"weights of the scheme “{scheme or 'google'}” (--scheme)" in capsys.readouterr().err
    table = tmp_path / "human.csv"
    table.write_text("system,doc_id,segment_id,score\nA,d,1,-3.5\n", encoding="utf-8")
    with pytest.raises(UserError, match="--scheme has no effect"):
        read_human_scores(table, scheme="marot")


def test_human_scores_may_be_in_any_format_that_can_be_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files without texts need the outputs; several files of labels are read together; raters are averaged."""
    texts = Dataset((Segment("d", "1", "s"),), tuple(Output(system, "d", "1", "a text") for system in "AB"))
    spans = '{"errors": [{"start": 0, "end": 1, "category": "Source error", "severity": "%s"}]}'
    given = {
        "en-de.mqm.seg.score": "A -3.5\nB None\n",
        "en-de.mqm.r1.seg.rating": f"A\t{spans % 'Major'}\nB\tNone\n",
        "en-de.mqm.r2.seg.rating": f"A\t{spans % 'Minor'}\nB\tNone\n",
        "da.csv": "system,doc_id,segment_id,rater,score\nA,d,1,r1,70\nA,d,1,r2,60\nB,d,1,r1,10\n",
        "one.csv": "system,doc_id,segment_id,rater,score\nA,d,1,r1,70\nB,d,1,r2,60\n",
        "COMET-refA.seg.score": "A 1\nB 2\n",
        "en-de.mqm.sys.score": "A 1\nB 2\n",
        "same.csv": "system,doc_id,segment_id,rater,score\nA,d,1,r1,70\nA,d,1,r1,60\n",
    }
    for name, text in given.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    score, first, second, table, one, metric, systems, same = (tmp_path / name for name in given)
    assert read_human_scores(score, texts=texts)[0] == {KEY: (-3.5, None)}
    assert read_human_scores([first, second], texts=texts)[0] == {KEY: (-3.0, 2)}
    assert read_human_scores([first, second], scheme="marot", texts=texts)[0] == {KEY: (0.0, 2)}
    assert read_human_scores(table)[0] == {KEY: (65.0, None), OutputKey("B", "d", "1"): (10.0, None)}
    assert (
        "da.csv: score is computed from the numbers of 2 raters; --human-score can also name score z."
        in capsys.readouterr().err
    )
    assert read_human_scores(table, "score z")[0][KEY][0] > 0
    assert read_human_scores(one)[0][KEY] == (70.0, None)
    for paths, outputs, message in (
        (score, None, "need their outputs. Give them with --outputs"),
        ([first, metric], texts, "COMET-refA.seg.score: this is no file of human labels or scores"),
        ([first, tmp_path / "x.csv"], texts, "cannot be read"),
        (systems, texts, "found scores of systems"),
        (same, None, "found 60 by “r1” for “A”"),
    ):
        with pytest.raises(UserError, match=message):
            read_human_scores(paths, texts=outputs)


def test_a_file_without_scores_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "outputs.csv"
    path.write_text("system,doc_id,segment_id,output\nA,d,1,text\n")
    with pytest.raises(UserError, match="no human scores.*a column of its own"):
        read_human_scores(path)


SUMMEVAL = DATA / "summeval.jsonl.gz"


@pytest.mark.extended
@pytest.mark.skipif(not SUMMEVAL.exists(), reason="SummEval is not here")
def test_summeval_is_read_with_the_keys_that_its_outputs_have() -> None:
    from core.services.projects.importing import load

    with pytest.raises(UserError, match="coherence, consistency, fluency, relevance"):
        read_human_scores(SUMMEVAL)
    found, lost, _ = read_human_scores(SUMMEVAL, "relevance")
    assert (len(found), lost) == (1600, 0)
    assert found.keys() == {output.key for output in load([SUMMEVAL]).dataset.outputs}


def test_another_score_is_not_taken_for_one_that_cannot_be_read(tmp_path: Path) -> None:
    for name, cell in (("a.jsonl", [4, 3]), ("b.jsonl", "good")):
        rows = [
            {"system": "AB"[i % 2], "segment_id": i // 2, "output": f"o {i}", "coherence": cell, "n_words": i % 5}
            for i in range(8)
        ]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        with pytest.raises(UserError, match="the name of a score, but its cells are not numbers.*coherence"):
            read_human_scores(tmp_path / name)
        assert len(read_human_scores(tmp_path / name, "n_words")[0]) == 8
