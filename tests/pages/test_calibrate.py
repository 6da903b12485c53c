"""Calibrate λ: what it says before there is anything to fit, what it finds, and that a saved λ is kept and used."""

from dataclasses import replace
from functools import partial

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.calibration.calibrate import calibrate
from core.calibration.presets import advice
from core.data import Dataset, HumanScore, Output, Segment, SegmentKey, Value
from core.ports.labels import Action
from core.refine.result import weighted
from core.services.calibrate import calibration as service
from pages._ui.calibrate import calibration_result
from tests.builders import refined_value
from tests.pages import opened_page
from tests.pages.opened_page import new_project
from tests.pages.said import words
from tests.stores import put_scores

N = 30
opened = partial(opened_page.opened, "calibrate")
pytestmark = pytest.mark.usefixtures("few_resamples")
DISTANCES = [(0.1 * (i % 7), 0.03 * ((11 * i) % 17)) for i in range(N)]


def filled(store, *, human: bool = True, scored: bool = True) -> int:
    project = new_project(store)
    add(store, project, human=human, scored=scored)
    return project


def add(store, project: int, *, human: bool = True, scored: bool = True) -> None:
    segments = tuple(Segment("d", str(i), None, ("a reference",)) for i in range(N))
    outputs = tuple(Output("A", "d", str(i), f"words {i}") for i in range(N))
    rated = tuple(HumanScore("A", "d", str(i), "da", weighted(*DISTANCES[i], 2.0)) for i in range(N)) if human else ()
    store.projects.add(project, Dataset(segments, outputs, rated))
    if scored:
        values = {o.key: refined_value(*d, -sum(d) - 0.2) for o, d in zip(outputs, DISTANCES, strict=True)}
        put_scores(store, project, "bartscore++", values)


def test_a_project_says_what_is_missing_for_a_fit(store) -> None:
    at = opened(filled(store, scored=False))
    assert "BARTScore++ has not been computed" in words(at)
    other = store.projects.create("no human scores").id
    add(store, other, human=False)
    at = opened(other)
    assert "This project has no human scores yet." in words(at)

    project_id = filled(store)
    more = tuple(Output("B", "d", str(i), f"more {i}") for i in range(N))
    rated = tuple(HumanScore("B", "d", str(i), "da", float(i)) for i in range(N))
    store.projects.add(project_id, Dataset((), more, rated))
    at = opened(project_id)
    assert "BARTScore++ has scored 30 of 60 outputs with human scores. λ is fitted on these only." in words(at)
    next(b for b in at.button if b.label == "Finish scoring").click().run()
    assert [j.metrics for j in store.jobs.recent(project_id)] == [("bartscore++",)]

    at = opened(filled(store))
    assert "The 95 % CI of λ is now" in words(section(at, "More labels"))
    assert at.segmented_control(key="lambda-section").options == ["Agreement", "More labels"]
    disabled = at.segmented_control(key="lambda-section-impossible")
    assert disabled.disabled
    assert disabled.options == ["Annotators", "Severity weights", "Best systems"]
    assert "Annotators, Severity weights: only with MQM labels" in words(at)
    assert "Best systems: needs at least 3 systems with both scores; found 1" in words(at)


def test_a_fit_is_one_sentence_and_lambda_is_saved_once(store, few_resamples: int) -> None:
    project_id = filled(store)
    at = opened(project_id)
    data = [
        service.CalibrationPoint(o.key, *DISTANCES[i], weighted(*DISTANCES[i], 2.0))
        for i, o in enumerate(store.projects.dataset(project_id).outputs)
    ]
    expected = calibrate(data, draws=few_resamples)
    assert f"λ = {expected.lam:.3g}" in words(at)
    assert "on 30 outputs" in words(at)
    assert "The project has 30 outputs; 100 or more are recommended" in words(at)
    proposed = next(t for t in at.text_input if t.label.startswith("Name for")).value
    assert proposed
    save_lambda(at, proposed)
    assert [s.name for s in store.calibrations.list(project_id)] == [proposed]
    at.run()
    assert next(t for t in at.text_input if t.label.startswith("Name for")).value == f"{proposed} (2)"
    store.calibrations.delete(project_id, proposed)
    for _ in range(2):
        save_lambda(at, "pilot")
    assert [s.name for s in store.calibrations.list(project_id)] == ["pilot"]
    assert "pilot" in words(at)
    assert at.error, "a taken name is refused"


def save_lambda(at: AppTest, name: str) -> None:
    next(t for t in at.text_input if t.label.startswith("Name for")).set_value(name)
    next(b for b in at.button if b.label == "Save λ").click()
    at.run()
    assert not at.exception


def test_where_the_curve_is_flat_even_weights_are_offered_first(store, monkeypatch) -> None:
    for flat in (True, False):
        st.cache_resource.clear()
        project_id = filled(store)
        real = lambda_work_fit(monkeypatch, flat)
        at = opened(project_id)
        (found,) = real
        if flat:
            assert "Recommended: λ = 1" in words(at)
            assert "not significantly better" in words(at)
            assert at.radio(key="lambda-to-save").value == 1.0
        else:
            assert f"Recommended: λ = {found.lam:.3g}" in words(at)
            assert not [r for r in at.radio if r.key == "lambda-to-save"]
        save_lambda(at, "pilot")
        (saved,) = store.calibrations.list(project_id)
        assert saved.value == (1.0 if flat else found.lam)
        assert service.saved_agreement(saved) == pytest.approx(found.at["1"] if flat else found.agreement)
        assert (service.origin(saved).interval is None) is flat


def lambda_work_fit(monkeypatch, flat: bool):
    """Fits as they are, with an interval of the gain over λ = 1 that holds 0, or does not."""
    found = []

    def fit(data, available, **options):
        made = calibrate(data, **options)
        assert made.lam != 1.0
        gain = (-0.1, 0.2) if flat else (0.1, 0.2)
        made = replace(made, advice=advice(made.lam, made.agreement, made.at["1"], gain))
        found[:] = [made]
        return made

    monkeypatch.setattr(calibration_result, "calibrate", fit)
    return found


SYSTEMS = ("A", "B", "C", "D")


def labelled(store, *, scored: int = 40) -> int:
    """Four systems on ten segments; Ann labelled all of it, Bo two segments: eight outputs."""
    project = store.projects.get(new_project(store, "labelled"))
    segments = tuple(Segment("d", str(i), None, ("a reference",)) for i in range(10))
    outputs = tuple(Output(s, "d", str(i), f"{s} bad words {i}") for i in range(10) for s in SYSTEMS)
    store.projects.add(project.id, Dataset(segments, outputs))
    values = {o.key: refined_value(0.1 * (7 * k % 11), 0.1 * (5 * k % 13)) for k, o in enumerate(outputs[:scored])}
    put_scores(store, project.id, "bartscore++", values)
    for rater, n in (("Ann", 10), ("Bo", 2)):
        for i in range(n):
            actions = [mark(rater, s, i, k) for k, s in enumerate(SYSTEMS)]
            store.labels.append(
                project.id, rater, SegmentKey("d", str(i)), [*actions, Action(f"s{rater}{i}", "submit", None, {})]
            )
    return int(project.id)


def mark(rater: str, system: str, i: int, k: int) -> Action:
    if (i + k) % 3 == 0:
        return Action(f"v{rater}{system}{i}", "verdict", system, {"value": "no_error"})
    payload = {
        "mark": f"m{rater}{system}{i}", "side": "output", "start": 2, "end": 5, "quote": "bad", "note": "",
        "severity": "Major" if (i * k) % 2 else "Minor", "category": "Fluency/Punctuation" if k == 1 else "Accuracy/Mistranslation",
    }  # fmt: skip
    return Action(f"a{rater}{system}{i}", "add", system, payload)


def section(at: AppTest, name: str) -> AppTest:
    at.segmented_control(key="lambda-section").set_value(name)
    at.run()
    assert not at.exception
    assert not at.error
    return at


def table(at: AppTest, column: str):
    return next(d.value for d in at.dataframe if column in d.value.columns)


def test_sections_follow_scores_that_come_later(store) -> None:
    project_id = labelled(store, scored=24)
    at = opened(project_id)
    assert list(table(section(at, "Annotators"), "annotator")["outputs"]) == [24, 24, 8]
    assert set(table(section(at, "Severity weights"), "weights")["outputs"]) == {24}
    rest = store.projects.dataset(project_id).outputs[24:]
    put_scores(store, project_id, "bartscore++", {o.key: refined_value(0.5, 0.25) for o in rest})
    rows = table(section(opened(project_id), "Annotators"), "annotator")
    assert list(rows["annotator"]) == ["all together", "Ann", "Bo"]
    assert list(rows["outputs"]) == [40, 40, 8]
    assert rows["undefined because"][2] == "8 scored outputs; at least 20 are needed"
    assert rows["λ"][1] != "–"
    assert rows["λ"][2] == "–"
    assert set(table(section(opened(project_id), "Severity weights"), "weights")["outputs"]) == {40}


def test_a_new_scheme_is_saved_with_its_lambda_which_is_used(store) -> None:
    project_id = labelled(store)
    at = section(opened(project_id), "Severity weights")
    assert list(table(at, "weights")["weights"]) == ["Google MQM weights", "Marot weights", "severity-only weights"]
    next(b for b in at.button if b.label == "Add scheme").click()
    at.run()
    assert "needs a name of its own" in at.error[0].value
    next(t for t in at.text_input if t.label == "Name of the scheme").set_value("mine")
    next(b for b in at.button if b.label == "Add scheme").click()
    at.run()
    assert not at.error
    rows = table(at, "weights")
    assert list(rows["weights"]) == ["Google MQM weights", "Marot weights", "severity-only weights", "mine v1"]
    assert rows["λ"][3] == rows["λ"][0]  # its weights are those of google
    assert {"Google MQM weights", "Marot weights", "severity-only weights", "mine v1"} <= set(
        table(at, "system").columns
    )
    at.selectbox(key="lambda-scheme").set_value("mine v1")
    at.run()
    save_lambda(at, "with mine")
    assert not at.error
    (saved,) = store.calibrations.list(project_id)
    assert "scheme:mine;v:1;rules:" in saved.signature
    assert "severity weights: mine v1" in words(at).replace("\\", "")
    later = opened(project_id)
    assert "mine v1" in later.selectbox(key="lambda-scheme").options

    project_id = labelled(store)
    at = opened(project_id)
    save_lambda(at, "pilot")
    (saved,) = store.calibrations.list(project_id)
    text = words(at).replace("\\", "")
    assert "40 outputs, 10 segments, 4 systems" in text
    assert "Ann, Bo (1.2 per output)" in text  # (40 + 8) ratings of 40 outputs
    assert "severity weights: Google MQM (major 5, minor 1)" in text
    assert "Kendall τ-b" in text
    assert "not among the scores" not in text
    at.button(key=f"use-{saved.id}").click().run()
    assert not at.exception
    assert at.session_state["errorscope_lambdas"][project_id] == pytest.approx(saved.value, rel=1e-4)
    assert at.session_state["errorscope_refinements"][project_id] == "bartscore++"
    at = opened(project_id)
    at.button(key=f"delete-{saved.id}").click().run()
    assert store.calibrations.list(project_id) == []


def test_best_systems_shows_both_figures_and_new_scores(store) -> None:
    project_id = labelled(store)
    at = section(opened(project_id), "Best systems")
    text = words(at)
    assert "Lu et al. 2023, Figure 2" in text
    assert "Lu et al. 2023, Figure 3" in text
    assert "for K = 3 to 4" in text.replace("\\", "")
    at.segmented_control(key="lambda-top-grid").set_value("0.5 to 1.7, as in Lu et al. (2023)")
    at.segmented_control(key="lambda-top-colour").set_value("loss against the best λ")
    at.run()
    assert not at.exception
    outputs = store.projects.dataset(project_id).outputs

    def compared(first: int, last: int) -> str:
        put_scores(store, project_id, "chrf", {outputs[i].key: Value(float(i)) for i in range(first, last)})
        at = section(opened(project_id), "Best systems")
        return str(at.get("vega_lite_chart")[-1].proto)

    assert compared(0, 24) != compared(24, 40), "the figure of metrics stays as it was when scores come"


@pytest.mark.extended
def test_every_measure_and_grouping_has_all_sections(store) -> None:
    at = opened(labelled(store))
    text = words(section(at, "More labels"))
    assert ("A forecast extrapolates the curve" in text) != ("No forecast" in text)
    for measure, group in (("spearman", "segment"), ("pearson", "system"), ("acc_eq", "pooled")):
        at.selectbox(key="lambda-measure").set_value(measure)
        at.selectbox(key="lambda-group").set_value(group)
        for name in ("More labels", "Annotators", "Severity weights", "Best systems"):
            section(at, name)
