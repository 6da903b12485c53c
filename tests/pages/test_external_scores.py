"""Scores from elsewhere through the pages: a column or a file becomes a metric, is seen everywhere, and can be removed."""

import pytest
from streamlit.testing.v1 import AppTest

from core.ports.store import Store
from tests.mtme import files
from tests.pages.opened_page import button, press, put, run
from tests.pages.said import cells, words
from tests.pages.test_projects import MQM, uploaded

CSV = (
    "doc_id,segment_id,source,system,output,comet,adequacy\n"
    "news,1,Die Katze,A,The cat,0.9,4\n"
    "news,1,Die Katze,B,A cat,0.7,2\n"
    "news,2,Hallo,A,Hello,NA,5\n"
    "news,2,Hallo,B,Hi,0.8,3\n"
)
SCORES = "system,doc_id,segment_id,judge\nA,news,1,3\nB,news,1,1\nA,news,2,2\nB,news,2,\n"


def imported(store: Store) -> int:
    press(uploaded(("p.csv", CSV)), "Import")
    return store.projects.list()[0].id


def test_number_columns_become_metrics_or_human_scores(store: Store) -> None:
    at = uploaded(("p.csv", CSV.replace("adequacy", "hter")))
    at = put(at, "Role of column hter", "metrics")
    at = put(at, "Name of the metric in hter", "HTER (tool 2)")
    at = [s for s in at.selectbox if s.label == "Direction"][-1].set_value(False).run()
    assert "(comet ↑, HTER (tool 2) ↓)" in words(at)
    press(at, "Import")
    [project] = store.projects.list()
    assert [(m.name, m.higher_is_better) for m in store.scores.external(project.id)] == [
        ("HTER (tool 2)", False), ("comet", True),
    ]  # fmt: skip
    store.projects.delete(project.id)

    at = uploaded(("p.csv", CSV))
    roles = {s.label: s.value for s in at.selectbox if s.label.startswith("Role of column")}
    assert roles["Role of column comet"] == "metrics"
    assert roles["Role of column adequacy"] == "human_scores"
    assert "1 human score, 3 metric scores (comet ↑)**; no errors, 2 warnings." in words(at)
    assert at.dataframe[0].value["metric: comet"].tolist()[:2] == [0.9, 0.7]
    at = put(at, "Name of the metric in comet", "a|b")
    [row] = cells(at.table[-1])
    assert {"comet", "the name “a|b”"} <= set(row)
    at = put(at, "Name of the metric in comet", "comet")
    press(at, "Import")
    [project] = store.projects.list()
    assert project.human_scores == ("adequacy",)
    [metric] = store.scores.external(project.id)
    assert (metric.name, metric.higher_is_better, metric.n, metric.files[0].name) == ("comet", True, 4, "p.csv")
    missing = [v for v in store.scores.column(project.id, metric.signature).values() if v.value is None]
    assert [(v.status, v.reason) for v in missing] == [("undefined", "p.csv gives no score here")]


def test_scores_alone_are_added_to_outputs_and_replace_others(store: Store) -> None:
    project = imported(store)
    at = uploaded(("p.csv", CSV.replace("0.9", "0.1")))
    assert button(at, "Add to “p”").disabled
    [row] = cells(at.table[-1])
    assert {"1 score that differs: 0.1 for “A”, segment “1” of “news”", "0.9 there, as in p.csv"} <= set(row)
    [box] = at.checkbox
    assert box.label.replace("\\", "") == "Replace in “p”: 4 scores of comet"
    press(box.check().run(), "Add 4 metric scores to “p”")
    [metric] = store.scores.external(project)
    assert sorted(v.value for v in store.scores.column(project, metric.signature).values() if v.value) == [
        0.1,
        0.7,
        0.8,
    ]

    at = uploaded(("judge.csv", SCORES.replace("A,", "Z,")))
    [row] = cells(at.table[-1])
    assert {"a system named “Z”", "“A”, “B”"} <= set(row)
    at = uploaded(("COMET-refA.seg.score", "A 0.5\nB 1\nB 2\n"), what="labels")
    [row] = cells(at.table[-1])
    assert {"1 line of “A”", "2 segments"} <= set(row)
    at = uploaded(("judge.csv", SCORES))
    assert any("Attach it to" in s.label for s in at.selectbox)
    assert button(at, "Add 3 human scores to “p”")  # a judge may be a person
    at = put(at, "Role of column judge", "metrics")
    at = press(at, "Add 4 metric scores to “p”")
    assert "4 metric scores" in at.success[0].value.replace("\\", "")
    assert [m.name for m in store.scores.external(project)] == ["comet", "judge"]
    at = uploaded(("judge.csv", SCORES))
    at = put(at, "Role of column judge", "metrics")
    assert button(at, "Add nothing to “p”").disabled

    at = uploaded(("references.csv", "doc_id,segment_id,reference\nnews,1,The cat\nnews,2,Hi\n"))
    assert any("references.csv has references but no outputs" in s.label.replace("\\", "") for s in at.selectbox)
    assert at.dataframe[0].value["reference"].tolist() == ["The cat", "Hi"]
    press(at, "Add 2 references to “p”")
    assert [s.references for s in store.projects.dataset(project).segments] == [("The cat",), ("Hi",)]


@pytest.mark.extended
def test_a_seg_score_file_of_a_metric_is_told_from_one_of_people(store: Store) -> None:
    press(uploaded(("wmt.tsv", MQM), what="labels"), "Import")
    at = uploaded(("COMET-refA.seg.score", "A 0.5\nB None\n"), ("en-de.mqm.seg.score", "A -1\nB 0\n"), what="labels")
    formats = [s.value for s in at.selectbox if s.label.startswith("Format of")]
    assert formats == ["mtme-metric", "mtme-score"]
    at = next(t for t in at.text_input if t.label.startswith("Name of the metric")).set_value("COMET-22").run()
    press(at, "Add 2 human scores and 2 metric scores to “wmt”")
    [project] = store.projects.list()
    assert project.human_scores == ("mqm",)
    assert [(m.name, m.n) for m in store.scores.external(project.id)] == [("COMET-22", 2)]


def test_a_folder_of_mt_metrics_eval_is_imported_as_it_is(store: Store) -> None:
    at = run("projects")
    at.button(key="begin-outputs").click().run()
    at = at.segmented_control(key="upload-outputs-0-kind").set_value("Folder").run()
    given = [(f"wmt77/{name}", text.encode(), "text/plain") for name, text in files().items()]
    at = at.file_uploader[0].set_value(given).run()
    roles = {s.label.replace("\\", ""): s.value for s in at.selectbox if s.label.startswith("Role of")}
    assert roles["Role of wmt77/documents/en-de.docs"] == "document"
    assert "Metric: COMET-refA, COMET-refB, QE.v2-src, TER-refA" in words(at).replace("*", "")
    assert "refB: both a reference and a system. *Meta-evaluation* leaves such systems out" in words(at)
    press(at, "Import 5 segments × 4 systems, labels of 10 outputs by 1 rater, 19 human scores")
    [project] = store.projects.list()
    assert (project.name, project.human_scores) == ("wmt77 en-de", ("mqm",))
    assert {m.name: m.higher_is_better for m in store.scores.external(project.id)}["TER-refA"] is False
    assert len(store.labels.events(project.id)) > 10


def scoring_opened(at: AppTest, project: int) -> AppTest:
    """Compare with the box of the scoring panel open."""
    at.session_state[f"compare-scoring-{project}"] = True
    return at.run()


def test_an_external_score_is_on_every_page_and_removed_there(store: Store) -> None:
    project = imported(store)
    at = run("compare")
    assert any("comet (external)" in str(s.options) for s in at.selectbox)
    at = scoring_opened(at, project)
    assert "comet :gray-badge[external]" in words(at)
    assert "higher is better · 4 of 4 outputs · from p.csv" in words(at)
    at = run("meta_evaluation")
    assert any("comet (external)" in str(m.options) for m in at.multiselect)
    at = run("projects")
    assert "scored with comet (external)" in words(at)
    at = scoring_opened(run("compare"), project)
    assert "4 scores of **comet**" in words(at)
    press(at, "Delete metric")
    assert store.scores.external(project) == []
    assert not any("comet (external)" in str(s.options) for s in run("compare").selectbox)
