"""The Annotate page over a real database, without a browser."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, OutputKey, Segment, SegmentKey, Span, Value
from core.ports.calibration import Chosen, SavedBatch
from core.ports.labels import Action
from core.ports.store import Store
from core.services.labels import labels as work
from core.services.labels.editor import receive
from core.signature import content_key
from core.spans.layers import LayerSpan, spans_to_json
from pages._ui.annotate import annotate_parts, identity
from tests.core.services.labels.exchanged import HERE, TEXTS, texts
from tests.pages.opened_page import address, field, press
from tests.pages.said import words
from tests.paths import ROOT


@pytest.fixture
def app(store: Store) -> AppTest:
    project = store.projects.create("pilot <script>").id
    store.projects.add(project, texts())
    at = AppTest.from_file(str(ROOT / "pages" / "annotate.py"))
    at.query_params["project"] = str(project)
    at.query_params["doc"], at.query_params["segment"] = HERE
    return at


def signed_in(at: AppTest, name: str = "Ana") -> AppTest:
    field(at.run(), "Name").set_value(name)
    return press(at, "Start annotating")


def test_a_name_is_asked_then_segments_are_opened(app: AppTest, store: Store) -> None:
    app.query_params["segment"] = "99"
    app.run()
    assert "Enter your name to annotate" in words(app)
    signed_in(app, "  Ana   Ruiz ")
    assert "Enter your name to annotate" not in words(app)
    assert app.session_state["errorscope_annotator"] == "Ana Ruiz"
    assert "name" not in app.query_params
    assert address(app, "segment") == "1", "an unknown segment opens the next one without labels"
    press(app, "Next")
    assert address(app, "segment") == "2"

    project = store.projects.create("no documents").id
    store.projects.add(project, Dataset((Segment("", "7", "Quelle"),), (Output("A", "", "7", "text"),)))
    app.query_params.update({"project": str(project), "doc": "", "segment": "7"})
    app.run()
    assert "**1** / 1 · 7" in [m.value for m in app.markdown]


@given(st.text())
def test_a_name_is_short_printable_and_stays_what_it_is(raw: str) -> None:
    name = identity.cleaned_name(raw)
    assert name.isprintable() or not name
    assert len(name) <= identity.LONGEST_PERSON_NAME
    assert identity.cleaned_name(name) == name


def test_names_shown_for_one_segment_are_shown_for_no_other(app: AppTest, store: Store) -> None:
    places = (SegmentKey("a-b", "c"), SegmentKey("a", "b-c"))
    more = tuple(Segment(*key, "Quelle") for key in places)
    project = store.projects.list()[0].id
    store.projects.add(project, Dataset(more, tuple(Output("Aardvark", *key, "text") for key in places)))
    for rater in ("Ana", "Ben"):
        for n, key in enumerate(places):
            verdict = Action(f"{rater}{n}", "verdict", "Aardvark", {"value": "no_error"})
            store.labels.append(project, rater, key, [verdict, Action(f"{rater}{n}s", "submit", None, {})])
    app.query_params["doc"], app.query_params["segment"] = places[0]
    signed_in(app)
    lock(app).click().run()
    assert revealed(store, project) == [("Ana", places[0])]
    press(app, "Next")
    assert address(app, "doc") == "a"
    lock(app)  # asks again for this segment
    app.session_state["errorscope_annotator"] = "Ben"
    app.run()
    lock(app)
    assert revealed(store, project) == [("Ana", places[0])]


def lock(at: AppTest) -> Any:
    return next(b for b in at.button if b.label == "Reveal and lock this segment")


def revealed(store: Store, project: int) -> list[tuple[str, SegmentKey]]:
    return [(e.rater, e.segment) for e in store.labels.events(project) if e.action.kind == "reveal"]


def test_scores_and_names_are_revealed_after_the_submission(
    app: AppTest, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = list[dict[str, Any]]()
    monkeypatch.setattr(
        annotate_parts, "marked_texts", lambda columns, **more: drawn.append({"columns": columns, **more})
    )
    key = content_key("Quelle 2", TEXTS["Aardvark"], ())
    store.scores.put("chrf", "chrF2|version:1", {key: Value(61.2)}, 0.1)
    judged = spans_to_json([LayerSpan(Span("output", 0, 3, TEXTS["Aardvark"][:3], "Major", "Accuracy"))])
    detail = {"state": "ok", "spans": judged, "replies": []}
    store.scores.put("judge-mqm", "judge-mqm|model:tiny", {key: Value(-5.0, detail=detail)}, 0.1)
    signed_in(app)
    assert not [b for b in app.button if b.label.startswith("Reveal")]
    project = int(address(app, "project"))
    fine = [Action(f"v-{system}", "verdict", system, {"value": "no_error"}) for system in TEXTS]
    store.labels.append(project, "Ana", HERE, [*fine, Action("s", "submit", None, {})])
    app.run()
    ben = [Action(f"b-{system}", "verdict", system, {"value": "no_error"}) for system in TEXTS]
    store.labels.append(project, "Ben", HERE, [*ben, Action("bs", "submit", None, {})])
    app.run()
    assert not app.dataframe
    assert not drawn, "nobody sees the error spans of others before the own labels are locked"
    lock(app).click().run()
    assert {tuple(layer["label"] for layer in one["layers"]) for one in drawn} == {("Ana", "Ben", "Judge MQM")}
    lanes = {column["name"]: column["lanes"] for column in drawn[-1]["columns"]}
    assert lanes == {"Aardvark": [[], [], judged], "Buzzard": [[], [], None]}
    table = app.dataframe[0].value.set_index("output")
    column = next(name for name in table.columns if "judge" not in name)
    assert column.endswith("↑")
    assert table[column].to_dict() == {"Aardvark": "61.2", "Buzzard": "not scored"}
    ids = work.open_segment(store, project, "Ana", HERE, TEXTS).labels.ids
    late = {"id": "late", "kind": "verdict", "output": ids["Aardvark"], "payload": {"value": None}}
    batch = {"project": project, "doc": HERE.doc_id, "segment": HERE.segment_id, "actions": [late]}
    assert "locked" in receive(store, "Ana", [batch]).refused["late"]


def with_batch(store: Store, *keys: tuple[str, str]) -> None:
    project = store.projects.list()[0].id
    chosen = tuple(Chosen(OutputKey(system, "news", segment), 0.5) for system, segment in keys)
    store.batches.save(project, SavedBatch("pilot 1", "stratified", 0, "s", chosen, 6))


def shown(at: AppTest, store: Store) -> list[str]:
    """The systems whose order was recorded last: those that the editor shows."""
    return sorted(store.labels.events(int(address(at, "project")))[-1].action.payload["order"])


def test_a_set_is_annotated_in_its_order_with_its_outputs_only(app: AppTest, store: Store) -> None:
    with_batch(store, ("Buzzard", "3"), ("Aardvark", "1"), ("Buzzard", "1"))
    app.query_params["batch"] = "pilot 1"
    signed_in(app)
    assert address(app, "segment") == "3"  # the segment of the address is not in the batch: its first one comes
    assert shown(app, store) == ["Buzzard"]
    assert "0 of 2 segments of this calibration set submitted" in progress_text(app)
    assert "Label every output of a segment, then submit it" in progress_text(app)
    assert any("0 / 3 labelled" in str(m.value) for m in app.markdown)
    press(app, "Next")
    assert address(app, "segment") == "1"
    assert shown(app, store) == ["Aardvark", "Buzzard"]
    assert next(b for b in app.button if b.label == "Next").disabled


def progress_text(at: AppTest) -> str:
    return " ".join(str(e.proto.text) for e in at.get("progress"))


def test_a_set_is_chosen_left_and_archived(app: AppTest, store: Store) -> None:
    signed_in(app)
    assert not app.selectbox  # there is nothing to choose where there is no batch
    with_batch(store, ("Buzzard", "3"))
    app.run()
    assert "of 3 segments" in progress_text(app)
    app.selectbox[0].set_value("pilot 1").run()
    assert (address(app, "batch"), address(app, "segment")) == ("pilot 1", "3")
    app.selectbox[0].set_value(None).run()
    assert "batch" not in app.query_params
    assert "of 3 segments" in progress_text(app)
    store.batches.archive(store.projects.list()[0].id, "pilot 1")
    app.query_params["batch"] = "pilot 1"
    app.run()
    assert app.warning, "an archived set is gone"
    press(app, "Annotate all segments")
    assert "0 of 3 segments" in progress_text(app)
    assert "batch" not in app.query_params


def test_a_link_to_an_unknown_set_leads_to_the_end_of_another(app: AppTest, store: Store) -> None:
    with_batch(store, ("Buzzard", "3"))
    app.query_params["batch"] = "deleted *x*"
    signed_in(app)
    assert "no calibration set “deleted \\*x\\*”" in str(app.warning[0].value)
    assert progress_text(app) == ""
    press(app, "Open “pilot 1”")
    assert not app.warning
    assert (address(app, "batch"), address(app, "segment")) == ("pilot 1", "3")
    assert not app.success
    done = [
        Action("v", "verdict", "Buzzard", {"value": "no_error"}),
        Action("s", "submit", None, {"systems": ["Buzzard"]}),
    ]
    store.labels.append(int(address(app, "project")), "Ana", SegmentKey("news", "3"), done)
    app.run()
    assert "Thank you" in str(app.success[0].value)
    assert "calibration set" in str(app.success[0].value)
