"""Layers of a project: annotators, judges, the refinement, and files; with what a person may see."""

import json

import pytest

from core.data import OutputKey, RatedOutput, SegmentKey, Span, Value
from core.errors import UserError
from core.mqm.actions import label_actions
from core.mqm.scores import NO_TEXT
from core.ports.labels import LabelBatch
from core.ports.store import Store
from core.refine.edits import edit_spans
from core.refine.result import EditStep, Refinement
from core.services.compare.inspector import visible_marks
from core.services.spans.layers import add_layer, list_layers, load_layer, segment_layers
from core.spans.layers import LayerSpan, spans_to_json
from tests.builders import small_dataset
from tests.core.services.compare.test_segment import refinement
from tests.labels import submitted
from tests.stores import new_store, put_scores

A0, B0, A1 = OutputKey("A", "doc", "0"), OutputKey("B", "doc", "0"), OutputKey("A", "doc", "1")
S0 = SegmentKey("doc", "0")
WORD = Span("output", 2, 8, "output", "Major", "Accuracy/Mistranslation")
SOURCE = Span("source", 0, 6, "source", "Minor", "Accuracy/Omission")


def project_with_labels() -> tuple[Store, int]:
    store = new_store()
    project = store.projects.create("p").id
    rated = [
        RatedOutput(A0, "ann", (WORD, SOURCE)), RatedOutput(B0, "ann", ()), RatedOutput(A1, "ben", (NO_TEXT,)),
    ]  # fmt: skip
    batches = [
        LabelBatch(rater, segment, actions) for (rater, segment), actions in label_actions(rated).actions.items()
    ]
    store.projects.add(project, small_dataset(), batches)
    return store, project


def judged(state: str, *spans: LayerSpan, unplaced: tuple[str, ...] = ()) -> Value:
    read = state in ("ok", "no_error")
    marked = (
        {"spans": spans_to_json(spans), "unplaced": [{"quote": "x", "outcome": o} for o in unplaced]} if read else {}
    )
    detail = {"state": state, **marked, "replies": []}
    return Value(-5.0 if read else None, "ok" if read else "undefined", "" if read else state, {}, detail)


def test_layers_of_every_origin() -> None:
    store, project = project_with_labels()
    sure = LayerSpan(WORD, 0.75)
    mqm = {A0: judged("ok", sure, unplaced=("ambiguous", "not_found", "ambiguous")), B0: judged("no_error"), A1: judged("unparsed")}  # fmt: skip
    put_scores(store, project, "judge-mqm", mqm, "judge-mqm|v:1|model:tiny")
    da = Value(80.0, detail={"state": "ok", "replies": []})
    put_scores(store, project, "judge-da", {A0: da}, "judge-da|v:1")
    step = EditStep(0, "substitute", "output", "result", -1.0, -0.5, (), "A result 0")
    edited = refinement(refined="A result 0", steps=(step,))
    for lam in ("1", "2"):  # the same refinement
        value = Value(-1.0, detail=json.loads(json.dumps(edited.to_json())))
        put_scores(store, project, "bartscore++", {A0: value}, f"bartscore++|lambda:{lam}|v:1")
    add_layer(store, project, "xCOMET", {A0: [sure], A1: []}, {"file": "x.json"}, {"offsets outside the text": 1})
    layers = {info.name: info for info in list_layers(store, project)}
    judge, refined = "judge:judge-mqm|v:1|model:tiny", "refinement:refinement|v:1"
    assert list(layers) == ["annotator:ann", "annotator:ben", judge, refined, "file:xCOMET"]
    assert [info.outputs for info in layers.values()] == [2, 1, 2, 1, 2]
    spans = {name: load_layer(store, project, name) for name in layers}
    assert spans["annotator:ann"].spans == {A0: (LayerSpan(WORD), LayerSpan(SOURCE)), B0: ()}
    assert spans["annotator:ben"].spans == {
        A1: (LayerSpan(Span("output", 0, 10, "A output 1", "Major", "Non-translation!")),)
    }
    assert spans[judge].spans == {A0: (sure,), B0: ()}
    assert spans[judge].left_out == {"quote found in several places": 2, "quote not found": 1}
    assert spans[judge].provenance["not examined"] == "1 unparsed"
    [[(error, confidence)]] = spans[refined].spans.values()
    assert (error, confidence) == (
        Span("output", 2, 8, "output", "Major", "edit/substitute", "refined to “result”; gain 0.500"),
        None,
    )
    assert (spans["file:xCOMET"].spans, spans["file:xCOMET"].left_out) == (
        {A0: (sure,), A1: ()},
        {"offsets outside the text": 1},
    )
    for name, layer in spans.items():
        of_segment = {key.system: of for key, of in layer.spans.items() if key.segment == S0}
        assert segment_layers(store, project, S0, [name]) == {name: of_segment}
        assert (layer.name, layer.label, layer.origin) == layers[name][:3]
    assert segment_layers(store, project, S0, list(layers)).keys() == layers.keys()
    with pytest.raises(UserError, match="no span layer"):
        load_layer(store, project, "file:none")
    with pytest.raises(UserError, match="differs from the stored text"):
        add_layer(store, project, "bad", {A0: [LayerSpan(Span("output", 0, 1, "x", "Major", "c"))]}, {}, {})


def test_annotators_see_no_labels_of_others_before_they_submit() -> None:
    store, project = project_with_labels()
    index, labels = store.projects.index(project), submitted(store, project)
    for rater, names in (("ann", ["annotator:ann"]), ("cem", [])):
        marks = visible_marks(labels, index, rater, everyone=False)
        assert [info.name for info in list_layers(store, project, marks)] == names
        assert segment_layers(store, project, A1.segment, ["annotator:ben"], marks) == {"annotator:ben": {}}
        with pytest.raises(UserError, match="no span layer"):
            load_layer(store, project, "annotator:ben", marks)


def steps(*rounds: tuple[str, float]) -> tuple[EditStep, ...]:
    scores = [-3.0, *(after for _, after in rounds)]
    return tuple(
        EditStep(0, "substitute", "", "", scores[i], after, (), text) for i, (text, after) in enumerate(rounds)
    )


def test_edits_become_spans_with_the_gain_of_their_rounds() -> None:
    def spans(text: str, *rounds: tuple[str, float]) -> list[tuple[int, int, str, str, str]]:
        analysis: Refinement = refinement(refined=rounds[-1][0] if rounds else text, steps=steps(*rounds))
        errors = [error for error, _ in edit_spans(text, analysis)]
        for error in errors:
            error.check(text)
        return [(e.start, e.end, e.severity, e.category, e.note.rpartition("gain ")[2]) for e in errors]

    assert spans("all is well") == []
    # the first round inserts four characters, so that the second one edits at 12, which is 8 in the output
    assert spans("he went hom", ("he now went hom", -2.9), ("he now went home", -2.5)) == [
        (3, 3, "Minor", "edit/insert", "0.100"), (8, 11, "Major", "edit/substitute", "0.400"),
    ]  # fmt: skip
    # two rounds in one word: -3 → -2.8 → -2.7, together .3
    assert spans("a bd c", ("a bod c", -2.8), ("a bold c", -2.7)) == [(2, 4, "Major", "edit/substitute", "0.300")]
    assert spans("a very bad b", ("a bad b", -2.75)) == [(2, 7, "Major", "edit/delete", "0.250")]
    [[error, _]] = edit_spans("zzz", refinement(non_translation=True))
    assert error == Span("output", 0, 3, "zzz", "Major", "Non-translation!")
