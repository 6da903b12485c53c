"""Imported layers of error spans are stored exactly, all or nothing, and leave with their outputs."""

import pytest
from sqlalchemy import Engine

from core.data import OutputKey, SegmentKey, Value
from core.errors import UserError
from core.ports.store import Store
from core.progress import Cancelled
from core.signature import content_key
from db.imports.slices import remove_interrupted
from tests.builders import stop_when
from tests.db.raw import scalar
from tests.db.test_contract import project

__all__ = ["project"]

A0, B0, A1 = OutputKey("A", "doc", "0"), OutputKey("B", "doc", "0"), OutputKey("A", "doc", "1")
SPAN = {
    "side": "output",
    "start": 0,
    "end": 1,
    "quote": "A",
    "severity": "Major",
    "category": "x/é 😀",
    "confidence": 0.1 + 0.2,
}


def test_an_imported_layer_is_kept_exactly(store: Store, project: int, engine: Engine) -> None:
    facts, out = {"file": "a.json"}, {"quote not found": 2}
    saved = store.spans.add(project, "xCOMET", {A1: [], A0: [SPAN, SPAN], B0: []}, facts, out)
    assert (saved.name, saved.outputs, saved.spans, saved.provenance, saved.left_out) == ("xCOMET", 3, 2, facts, out)
    store.spans.add(project, "other", {A1: [SPAN]}, {}, {})
    assert [layer.name for layer in store.spans.list(project)] == ["xCOMET", "other"]
    assert store.spans.list(project)[0] == saved
    assert list(store.spans.load(project, "xCOMET").items()) == [(A0, [SPAN, SPAN]), (B0, []), (A1, [])]
    first = SegmentKey("doc", "0")
    assert store.spans.of_segment(project, first, ["xCOMET", "other"]) == {"xCOMET": {"A": [SPAN, SPAN], "B": []}}
    assert store.spans.of_segment(project, first, ["other"]) == {}
    for name, spans in (("xCOMET", {}), (" ", {}), (" y", {}), ("y", {OutputKey("C", "doc", "0"): []})):
        with pytest.raises(UserError):
            store.spans.add(project, name, spans, {}, {})
    with pytest.raises(Cancelled):
        store.spans.add(project, "y", {A0: [SPAN]}, {}, {}, stop_when(lambda share: share == 1))
    assert scalar(engine, "SELECT count(*) FROM span_layers") == 2
    store.spans.remove(project, "xCOMET")
    for missing in (store.spans.load, store.spans.remove):
        with pytest.raises(UserError, match="no span layer"):
            missing(project, "xCOMET")
    assert scalar(engine, "SELECT count(*) FROM span_layer_outputs") == 1
    store.projects.delete(project)
    remove_interrupted(engine)
    assert scalar(engine, "SELECT count(*) FROM span_layer_outputs") == 0
    assert scalar(engine, "SELECT count(*) FROM span_layers") == 0


def test_details_of_a_project_are_those_of_its_segments(store: Store, project: int) -> None:
    dataset = store.projects.dataset(project)
    keys = {key: content_key(item.source, item.hypothesis, item.references) for key, item in dataset.items()}
    values = {keys[A0]: Value(-1.0, parts={"calls": 2.0}, detail={"state": "ok", "n": [1]}), keys[A1]: Value(None, "undefined", "no JSON", {}, {"state": "unparsed"}), keys[B0]: Value(0.5)}  # fmt: skip
    store.scores.put("judge-mqm", "judge-mqm|v:1", values, 1.0)
    assert dict(store.scores.details(project, "judge-mqm|v:1")) == {A0: values[keys[A0]], A1: values[keys[A1]]}
    assert list(store.scores.details(project, "none")) == []
