"""The Annotate page over a real database, without a browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, Segment, SegmentKey, Span, Value
from core.ports.labels import Action
from core.ports.store import Store
from core.services.labels import labels as work
from core.services.labels.editor import receive
from core.signature import content_key
from core.spans.layers import LayerSpan, spans_to_json
from db.store import open_store
from pages._ui.annotate import identity, reveal_and_scores
from tests.core.services.labels.exchanged import HERE, TEXTS, texts
from tests.paths import ROOT


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    monkeypatch.setenv("ERRORSCOPE_DB", f"sqlite:///{tmp_path / 'labels.db'}")
    monkeypatch.setenv("ERRORSCOPE_WORKER", "off")
    store = open_store(f"sqlite:///{tmp_path / 'labels.db'}")
    project = store.projects.create("pilot <script>").id
    store.projects.add(project, texts())
    at = AppTest.from_file(str(ROOT / "pages" / "annotate.py"), default_timeout=30)
    at.query_params["project"] = str(project)
    at.query_params["doc"], at.query_params["segment"] = HERE
    return at


def signed_in(at: AppTest, name: str = "Ana") -> AppTest:
    at.run()
    at.text_input(key="annotator-name-first").set_value(name)
    next(b for b in at.button if b.label == "Start annotating").click()
    return at.run()


def address(at: AppTest, name: str) -> str:
    value = at.query_params[name]
    return value if isinstance(value, str) else value[0]


def said(blocks: Sequence[Any]) -> str:
    return " ".join(str(b.value) for b in blocks)


def test_a_name_is_asked_then_segments_are_opened(app: AppTest, tmp_path: Path) -> None:
    app.query_params["segment"] = "99"
    app.run()
    assert not app.exception
    assert "Enter your name to annotate" in said(app.markdown)
    signed_in(app, "  Ana   Ruiz ")
    assert not app.exception
    assert "Enter your name to annotate" not in said(app.markdown)
    assert app.session_state["errorscope_annotator"] == "Ana Ruiz"
    assert "name" not in app.query_params
    assert address(app, "segment") == "1", "an unknown segment opens the next one without labels"
    next(b for b in app.button if b.label == "Next").click()
    app.run()
    assert not app.exception
    assert address(app, "segment") == "2"

    store = open_store(f"sqlite:///{tmp_path / 'labels.db'}")
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


def test_names_shown_for_one_segment_are_shown_for_no_other(app: AppTest, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'labels.db'}")
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
    assert not app.exception
    assert revealed(store, project) == [("Ana", places[0])]
    next(b for b in app.button if b.label == "Next").click()
    app.run()
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
    app: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = list[dict[str, Any]]()
    monkeypatch.setattr(
        reveal_and_scores, "marked_texts", lambda columns, **more: drawn.append({"columns": columns, **more})
    )
    store = open_store(f"sqlite:///{tmp_path / 'labels.db'}")
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
    assert not app.exception
    assert not app.dataframe
    assert not drawn, "nobody sees the error spans of others before the own labels are locked"
    lock(app).click().run()
    assert not app.exception
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
