"""λ Studio: what it says before there is anything to fit, what it finds, and that a saved λ is kept and used."""

from pathlib import Path

import pytest
import streamlit as st
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from core.calibration.calibrate import calibrate
from core.data import Dataset, HumanScore, Output, Segment, Value
from core.metrics import registry
from core.refine.result import weighted
from core.services import calibration as service
from core.services.calibration import Choice
from core.signature import content_key
from db.store import open_store

APP = str(Path(__file__).resolve().parents[2] / "app.py")
N = 30
DISTANCES = [(0.1 * (i % 7), 0.03 * ((11 * i) % 17)) for i in range(N)]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    monkeypatch.setenv("ERRORSCOPE_WORKER", "off")
    monkeypatch.setattr(
        PagesManager, "uses_pages_directory", False
    )  # else the first run starts over, and clicks with it
    st.cache_resource.clear()
    st.cache_data.clear()
    yield open_store(f"sqlite:///{tmp_path / 'errorscope.db'}")
    st.cache_resource.clear()


def filled(store, *, human: bool = True, scored: bool = True) -> int:
    project = store.projects.create("p")
    segments = tuple(Segment("d", str(i), None, ("a reference",)) for i in range(N))
    outputs = tuple(Output("A", "d", str(i), f"words {i}") for i in range(N))
    rated = tuple(HumanScore("A", "d", str(i), "da", weighted(*DISTANCES[i], 2.0)) for i in range(N)) if human else ()
    store.projects.add(project.id, Dataset(segments, outputs, rated))
    if scored:
        values = {
            content_key(None, f"words {i}", ("a reference",)): Value(
                weighted(*d, 1.0), parts={"dist_exp": d[0], "dist_imp": d[1], "score_hyp": -d[0] - d[1] - 0.2}
            )
            for i, d in enumerate(DISTANCES)
        }
        store.scores.put("bartscore++", registry.load("bartscore++").signature(), values, 1.0)
    return int(project.id)


def opened(project_id: int) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=60)
    at.query_params["project"] = str(project_id)
    at.run()
    return at.switch_page("pages/lambda_studio.py").run()


def words(at: AppTest) -> str:
    return "\n".join(str(e.value) for e in [*at.markdown, *at.info, *at.warning, *at.error, *at.caption])


def test_without_distances_it_says_what_to_score(store) -> None:
    at = opened(filled(store, scored=False))
    assert not at.exception
    assert "BARTScore++ has not been scored" in words(at)


def test_without_people_it_says_where_to_label(store) -> None:
    at = opened(filled(store, human=False))
    assert not at.exception
    assert "Nobody has labelled" in words(at)


def test_the_fit_stands_in_one_sentence_with_what_is_missing(store) -> None:
    at = opened(filled(store))
    assert not at.exception
    data = [
        service.Point(o.key, *DISTANCES[i], weighted(*DISTANCES[i], 2.0))
        for i, o in enumerate(store.projects.dataset(store.projects.list()[-1].id).outputs)
    ]
    expected = calibrate(data, draws=Choice().draws)
    assert f"λ = {expected.lam:.3g}" in words(at)
    assert "on 30 outputs" in words(at)
    assert "70 are missing" in words(at)


def test_a_saved_lambda_is_kept_and_a_taken_name_is_refused(store) -> None:
    project_id = filled(store)
    for _ in range(2):
        at = opened(project_id)
        next(t for t in at.text_input if t.label.startswith("Name")).set_value("pilot")
        next(b for b in at.button if b.label == "Save").click()
        at.run()
        assert not at.exception
    assert [s.name for s in store.calibrations.list(project_id)] == ["pilot"]
    assert "pilot" in words(at)
    assert at.error
