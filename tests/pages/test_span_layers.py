"""Error spans from files on the Projects page: what a file has, its import, and its deletion."""

import json

from streamlit.testing.v1 import AppTest

from core.data import OutputKey
from core.ports.store import Store
from core.services.spans.layers import load_layer
from tests.builders import small_dataset
from tests.pages.opened_page import field, press, run
from tests.pages.said import words


def opened(project: int) -> AppTest:
    return run("projects", project, {f"span-panel-{project}": True})


def send(at: AppTest, name: str, content: object) -> AppTest:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    uploader = next(u for u in at.file_uploader if u.label.startswith("Add error spans"))
    return uploader.set_value((name, data, "text/plain")).run()


def test_a_file_is_shown_imported_listed_and_deleted(store: Store) -> None:
    project = store.projects.create("news *x*").id
    store.projects.add(project, small_dataset())
    assert "xCOMET, GEMBA" not in words(run("projects", project))
    at = opened(project)
    at = send(at, "a.txt", b"a,b\n")
    assert "not recognised" in at.error[0].value
    error = {"start": 2, "end": 8, "text": "output", "severity": "major", "confidence": 0.5}
    records = [{"src": "source 0", "mt": "A output 0", "errors": [error, error | {"start": 7}]}, {"src": "source 1", "mt": "B output 1", "errors": []}]  # fmt: skip
    at = send(at, "x_comet.json", {"A": records[:1], "B": records[1:]})
    assert "2 outputs examined, 1 error span, 1 without an error" in words(at)
    assert [e.label for e in at.expander if e.label.startswith("Left out")] == [
        "Left out: 1 (1 × offsets and quoted text differ)"
    ]
    name = field(at, "Name of the layer")
    assert name.value == "x_comet"
    at = press(name.set_value("xCOMET <b>").run(), "Import error spans")
    layer = load_layer(store, project, "file:xCOMET <b>")
    assert {key: len(spans) for key, spans in layer.spans.items()} == {
        OutputKey("A", "doc", "0"): 1,
        OutputKey("B", "doc", "1"): 0,
    }
    assert "error spans from files: " in words(at)
    assert "1 error span in 2 of 6 outputs · from x_comet.json · left out: 1" in words(at)
    assert not any(t.label == "Name of the layer" for t in at.text_input)
    assert "will be deleted for all users" in words(at)
    press(at, "Delete error spans")
    assert store.spans.list(project) == []
