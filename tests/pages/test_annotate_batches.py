"""The Annotate page working through a batch."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from core.data import OutputKey, SegmentKey
from core.ports.calibration import Chosen, SavedBatch
from core.ports.labels import Action
from db.store import open_store
from tests.pages.test_annotate import address, app, signed_in

__all__ = ["app"]


def with_batch(tmp_path: Path, *keys: tuple[str, str]) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'labels.db'}")
    project = store.projects.list()[0].id
    chosen = tuple(Chosen(OutputKey(system, "news", segment), 0.5) for system, segment in keys)
    store.batches.save(project, SavedBatch("pilot 1", "stratified", 0, "s", chosen, 6))


def shown(at: AppTest, tmp_path: Path) -> list[str]:
    """The systems whose order was recorded last: those that the editor shows."""
    store = open_store(f"sqlite:///{tmp_path / 'labels.db'}")
    return sorted(store.labels.events(int(address(at, "project")))[-1].action.payload["order"])


def test_a_set_is_annotated_in_its_order_with_its_outputs_only(app: AppTest, tmp_path: Path) -> None:
    with_batch(tmp_path, ("Buzzard", "3"), ("Aardvark", "1"), ("Buzzard", "1"))
    app.query_params["batch"] = "pilot 1"
    signed_in(app)
    assert not app.exception
    assert address(app, "segment") == "3"  # the segment of the address is not in the batch: its first one comes
    assert shown(app, tmp_path) == ["Buzzard"]
    assert "0 of 2 segments of this calibration set submitted" in progress_text(app)
    assert "Label every output of a segment, then submit it" in progress_text(app)
    assert any("0 / 3 labelled" in str(m.value) for m in app.markdown)
    next(b for b in app.button if b.label == "Next").click()
    app.run()
    assert address(app, "segment") == "1"
    assert shown(app, tmp_path) == ["Aardvark", "Buzzard"]
    assert next(b for b in app.button if b.label == "Next").disabled


def progress_text(at: AppTest) -> str:
    return " ".join(str(e.proto.text) for e in at.get("progress"))


def test_a_set_is_chosen_left_and_archived(app: AppTest, tmp_path: Path) -> None:
    signed_in(app)
    assert not app.selectbox  # there is nothing to choose where there is no batch
    with_batch(tmp_path, ("Buzzard", "3"))
    app.run()
    assert "of 3 segments" in progress_text(app)
    app.selectbox[0].set_value("pilot 1").run()
    assert not app.exception
    assert (address(app, "batch"), address(app, "segment")) == ("pilot 1", "3")
    app.selectbox[0].set_value(None).run()
    assert "batch" not in app.query_params
    assert "of 3 segments" in progress_text(app)
    store = open_store(f"sqlite:///{tmp_path / 'labels.db'}")
    store.batches.archive(store.projects.list()[0].id, "pilot 1")
    app.query_params["batch"] = "pilot 1"
    app.run()
    assert app.warning, "an archived set is gone"
    next(b for b in app.button if b.label == "Annotate all segments").click().run()
    assert not app.exception
    assert "0 of 3 segments" in progress_text(app)
    assert "batch" not in app.query_params


def test_a_link_to_an_unknown_set_leads_to_the_end_of_another(app: AppTest, tmp_path: Path) -> None:
    with_batch(tmp_path, ("Buzzard", "3"))
    app.query_params["batch"] = "deleted *x*"
    signed_in(app)
    assert not app.exception
    assert "no calibration set “deleted \\*x\\*”" in str(app.warning[0].value)
    assert progress_text(app) == ""
    next(b for b in app.button if b.label == "Open “pilot 1”").click().run()
    assert not app.exception
    assert not app.warning
    assert (address(app, "batch"), address(app, "segment")) == ("pilot 1", "3")
    assert not app.success
    store = open_store(f"sqlite:///{tmp_path / 'labels.db'}")
    done = [
        Action("v", "verdict", "Buzzard", {"value": "no_error"}),
        Action("s", "submit", None, {"systems": ["Buzzard"]}),
    ]
    store.labels.append(int(address(app, "project")), "Ana", SegmentKey("news", "3"), done)
    app.run()
    assert not app.exception
    assert "Thank you" in str(app.success[0].value)
    assert "calibration set" in str(app.success[0].value)
