"""Labels and scores of several formats through the Projects page."""

from core.ports.store import Store
from tests.pages.test_projects import MQM, press, table, texts, uploaded
from tests.pages.test_shell import store

__all__ = ["store"]
ESA = (
    '{"line_id": 0, "src": "Quelle", "tgt": "😀 a bad cat", "doc_id": "d", "system": "A", "annotator": "ann", "esa_score": 70, '
    '"esa_spans": [{"start_i": 5, "end_i": 7, "severity": "major", "error_type": null}]}\n'
)


def test_labels_and_scores_are_added_to_their_outputs_once(store: Store) -> None:
    at = uploaded(("en-de.DA.seg.score", "A 70\n"), what="labels")
    assert "Import the outputs first, then this file" in at.warning[0].value
    at = uploaded(("wmt.tsv", MQM), what="labels")
    at = press(at, "Import 1 segment × 2 systems, labels of 2 outputs by 1 rater into “wmt”")
    (project,) = store.projects.list()
    before = store.labels.events(project.id)
    assert [e.rater for e in before] == ["ann"] * len(before)
    assert {e.action.kind for e in before} == {"add", "verdict", "submit"}
    assert "Labels of 2 outputs" in at.success[0].value
    at = uploaded(("wmt.tsv", MQM), at=at, what="labels")
    at = press(at, "Add labels of 2 outputs by 1 rater to “wmt”")
    assert store.labels.events(project.id) == before
    assert "Nothing is new" in at.success[0].value

    at = uploaded(("en-de.DA.seg.score", "A 70\nB None\n"), what="labels")
    press(at, "Add 1 human score to “wmt”")
    assert [h[:5] for h in store.projects.dataset(project.id).human_scores] == [("A", "news", "7", "DA", 70.0)]
    at = uploaded(("ratings.csv", "system,doc,seg,rater,adequacy\nA,news,7,x,3\nA,news,7,y,4\n"), what="labels")
    assert next(s for s in at.selectbox if s.label.startswith("Format of")).value == "judgements"
    press(at, "Add 2 judgements to “wmt”")
    assert (store.projects.get(project.id).human_scores, store.projects.get(project.id).judged) == (
        ("DA",),
        ("adequacy",),
    )
    again = uploaded(("ratings.csv", "system,doc,seg,rater,adequacy\nA,news,7,x,5\n"), what="labels")
    assert "Cannot add to this project" in again.error[0].value
    assert "“adequacy” by “x” for A / news / 7" in table(again)[0]


def test_a_format_is_recognised_or_chosen(store: Store) -> None:
    at = uploaded(("labels.txt", '{"nothing": "known"}\n' + ESA), what="labels")
    format_of = next(s for s in at.selectbox if s.label.startswith("Format of"))
    assert format_of.value == "google"
    assert "Not recognized: labels.txt. Choose the format." in texts(at).replace("\\", "")
    at = format_of.set_value("esa").run()
    assert ["labels.txt", "1", "system", "nothing"] in [row[:4] for row in table(at)]
    for what in ("labels", "outputs"):
        at = uploaded(("esa.jsonl", ESA), what=what)
        format_of = next(s for s in at.selectbox if s.label.startswith("Format of"))
        assert format_of.value == "esa"
    press(at, "Import 1 segment × 1 system, labels of 1 output by 1 rater, 1 human score (ESA) into “esa”")
    (project,) = store.projects.list()
    assert project.human_scores == ("ESA",)
    (mark,) = [e.action.payload for e in store.labels.events(project.id) if e.action.kind == "add"]
    assert (mark["quote"], mark["severity"], mark["category"]) == ("bad", "Major", "Unspecified")
