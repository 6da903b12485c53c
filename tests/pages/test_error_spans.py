"""Error spans on Meta-evaluation: what is missing, layers against annotators, and the files."""

from __future__ import annotations

from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, Span, Value
from core.mqm.actions import label_actions
from core.ports.labels import LabelBatch
from core.ports.store import Store
from core.services.spans.layers import add_layer
from core.spans.layers import LayerSpan
from tests.pages.opened_page import again, new_project, opened
from tests.pages.said import words
from tests.stores import put_scores

TEXT = "ten chars. and ten more chars."


def error(start: int, end: int, severity: str = "Major", category: str = "Accuracy") -> Span:
    return Span("output", start, end, TEXT[start:end], severity, category)


def project_of(store: Store, *, layers: bool) -> int:
    """Four outputs; gold of Ann and Bo; a judge of the worked example of the measures, and a layer without errors."""
    project = new_project(store)
    segments = tuple(Segment("d", str(i), f"source {i}") for i in range(2))
    outputs = tuple(Output(system, "d", str(i), TEXT) for i in range(2) for system in "AB")
    keys = [o.key for o in outputs]
    gold = (error(0, 10), error(20, 24, "Minor", "Style"))
    rated = [RatedOutput(key, "Ann", gold if key == keys[0] else ()) for key in keys]
    rated += [RatedOutput(key, "Bo", gold[:1] if key == keys[0] else ()) for key in keys]
    batches = [
        LabelBatch(rater, segment, actions) for (rater, segment), actions in label_actions(rated).actions.items()
    ]
    store.projects.add(project, Dataset(segments, outputs), batches if layers else [])
    if layers:
        spans = dict.fromkeys(keys, ()) | {keys[0]: [LayerSpan(error(4, 12)), LayerSpan(error(20, 24))]}
        add_layer(store, project, "<b>judge</b>", spans, {"file": "x.jsonl"}, {"quote not found": 2})
        less: dict[OutputKey, list[LayerSpan]] = {key: [] for key in keys[:3]}
        add_layer(store, project, "silent", less, {"file": "y.jsonl"}, {})
    return project


def test_layers_are_compared_with_annotators_without_any_metric(store: Store) -> None:
    at = opened("meta_evaluation", project_of(store, layers=True))
    said = words(at)
    assert "No metric has been computed" in said
    assert "Of 2 layers, <b>judge</b> agrees best with 2 annotators: mpp, micro F" in said
    assert "3 outputs of 2 segments, 6 comparisons, the same for all layers" in said
    assert "1 output left out for all layers, because a layer has not examined them (silent 1)." in said
    assert "because they have no place: <b>judge</b> quote not found 2." in said
    project = at.query_params["project"][0]
    at.selectbox(key=f"spans-gold-{project}").set_value("annotator:Ann")
    again(at)
    assert "<b>judge</b> agrees best with Ann: mpp, micro F .836" in words(at)
    at.selectbox(key="spans-measure").set_value("wmt25")
    again(at)
    assert "WMT25, micro F .615" in words(at)
    at.multiselect(key=f"spans-layers-{project}-annotator:Ann").set_value([])
    again(at)
    assert "Choose at least one layer." in words(at)
    put_scores(store, project, "ter", {OutputKey("A", "d", str(i)): Value(float(i)) for i in range(2)})
    at = opened("meta_evaluation", int(project), tab="Error spans")
    assert "No metric has been computed" not in words(at)
    assert "<b>judge</b> agrees best with" in words(at)


def test_a_project_with_one_layer_says_what_is_missing(store: Store) -> None:
    project = project_of(store, layers=False)
    assert "Error spans" not in words(opened("meta_evaluation", project))
    add_layer(store, project, "judge", {OutputKey("A", "d", "0"): []}, {}, {})
    at = opened("meta_evaluation", project)
    assert "This project has one layer of error spans: judge (imported file). Two layers are compared" in words(at)
    assert "Annotate outputs" in [link.proto.label for link in at.get("page_link")]
