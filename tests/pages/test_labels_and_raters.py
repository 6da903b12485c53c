"""Labels and raters: what it says before there are labels, what it shows of them, whose marks it keeps hidden, and that a batch is built."""

from collections.abc import Hashable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Item, Judgement, Output, OutputKey, RatedOutput, Segment, SegmentKey, Span, Value
from core.mqm.actions import label_actions
from core.ports.labels import Action
from core.ports.store import Store
from core.services.labels import agreement as service
from core.services.labels import batches
from core.services.labels.agreement import agreement
from core.services.labels.protocols import typology_of
from core.services.projects.view import View
from pages._ui.labels_and_raters import agreement as agreement_part
from pages._ui.shared import long_jobs, wiring
from tests.labels import submitted
from tests.pages.opened_page import field, new_project, press, run
from tests.pages.said import words
from tests.stores import put_scores

N = 6
SYSTEMS = ("A", "B")


def text(system: str, i: int) -> str:
    return f"{system} wrote <b>words</b> {i}"


def filled(store: Store, *raters: str, scored: bool = True) -> int:
    """A project in which rater number k marks the first k characters of every output, the first rater nothing."""
    project = new_project(store)
    segments = tuple(Segment("d", str(i), None, ("a reference",)) for i in range(N))
    outputs = tuple(Output(s, "d", str(i), text(s, i)) for i in range(N) for s in SYSTEMS)
    store.projects.add(project, Dataset(segments, outputs))
    rated = [
        RatedOutput(
            o.key, rater, (Span("output", 0, k, o.text[:k], "Major", "Accuracy/Addition"),) if k and i % 3 else ()
        )
        for k, rater in enumerate(raters)
        for i, o in enumerate(outputs)
    ]
    for (rater, segment), actions in label_actions(rated).actions.items():
        store.labels.append(project, rater, segment, actions)
    if scored:
        put_scores(store, project, "chrf", lambda number, item: Value(float(number)))
    return project


opened = partial(run, "labels_and_raters")


def test_agreement_is_that_of_the_service_or_of_one_rater(store: Store) -> None:
    project = filled(store, "ann")
    at = opened(project)
    assert "Only one annotator has labelled" in words(at)
    assert "No output has labels by two annotators yet" in words(at)
    table = at.dataframe[0].value.set_index("annotator")
    assert table.loc["ann", "outputs"] == 12
    assert table.loc["ann", "no error, %"] == 100
    assert "time, h:min:s" not in table.columns  # labels of a file: nobody knows
    at = build(at, "all of it")
    (batch,) = store.batches.list(project)
    assert "of this set are labelled" in words(at)
    press(at, "Delete this set")
    (kept,) = store.batches.list(project)
    assert (kept.archived, kept.outputs) == (True, batch.outputs), "a set with labels is archived"
    assert "sampling probabilities are kept" in words(at)
    assert not [b for b in at.button if b.label == "Delete this set"]

    project = filled(store, "ann", "bob", "cid")
    at = opened(project)
    found = agreement(store, project, submitted(store, project))
    assert f"{abs(found.alpha.value or 0):.3f}"[1:] in words(at)
    assert "agree no more than by chance" in words(at) or "average several" in words(at)
    place = at.table[0].value
    assert list(place["errors agree in"])[0] == "same characters"
    at.selectbox(key="people-pair").set_value("bob and cid").run()
    # bob marks one character of 8 outputs, cid two: 2·8/(8 + 16)
    assert at.table[0].value["all outputs together"].iloc[0].replace("\\", "") == ".667"
    assert "both found no error in 4, only one of them found errors in 0" in words(at)
    assert {"non-translation", "mean MQM score ↑", "Neutral per output"} <= set(at.dataframe[0].value)

    given = [
        Judgement(OutputKey(s, "d", str(i)), r, "ESA", 10.0 * i)
        for s in SYSTEMS
        for i in range(N)
        for r in ("ann", "bob", "cid")
    ]
    store.projects.add(project, Dataset((), ()), judgements=given)
    wiring.changed(project)
    at = opened(project)
    said = words(at)
    assert said.index("Agreement of the scores “ESA”: α = 1.000") < said.index(
        "Agreement of the MQM scores of the error spans"
    )
    assert "average several" not in said
    spans = next(t.value for t in at.dataframe if "Major per output" in t.value)
    assert not {"non-translation", "mean MQM score ↑", "Neutral per output"} & set(spans)


def test_marks_are_hidden_until_submitted_or_asked_for(store: Store) -> None:
    project = filled(store, "ann", "bob")
    at = opened(project)
    (table,) = (t for t in at.dataframe if "segments" in t.value)
    shown = pa.ipc.open_stream(table.proto.arrow_data.styler.display_values).read_pandas()
    columns = [list(table.value).index(name) for name in ("outputs", "segments")]
    assert shown.iloc[:, columns].to_numpy().tolist() == [["12", "6"]] * 2, "counts have no decimals"
    assert "8 disagreements are hidden until you submit" in words(at)
    assert "average difference between annotators" not in words(at)
    at.toggle(key=f"people-marks-{project}").set_value(True).run()
    assert "it would bias your labels" in words(at)
    assert words(at).count("average difference between annotators") == 5
    press(at, "Show 3 more of 8")
    assert words(at).count("average difference between annotators") == 8

    project = filled(store, "ann", "bob")
    key = SegmentKey("d", "2")
    own = [Action(f"v{s}", "verdict", s, {"value": "no_error"}) for s in SYSTEMS]
    store.labels.append(project, "zoe", key, [*own, Action("s", "submit", None, {})])
    at = opened(project, {"errorscope_annotator": "zoe"})
    found = agreement(store, project, submitted(store, project)).disputes
    mine = sum(d.key.segment == key for d in found)
    assert mine
    assert words(at).count("average difference between annotators") == mine
    assert f"{len(found) - mine} disagreements are hidden until you submit" in words(at)


def build(at: AppTest, name: str) -> AppTest:
    field(at, "Name of the set").set_value(name)
    return press(at, "Make the set")


def test_a_batch_is_built_with_its_probabilities_and_listed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    guess, views = batches.languages, list[View]()

    def counted(view: View) -> dict[str, list[str]]:
        views.append(view)
        return guess(view)

    monkeypatch.setattr(batches, "languages", counted)
    project = filled(store)
    at = opened(project)
    at.number_input(key="batch-n").set_value(4)
    at.radio(key="batch-whole").set_value(False)
    at.number_input(key="batch-strata").set_value(2)
    build(at.run(), "pilot *1*")
    assert len(views) == 1, "languages are guessed once per version of a project"
    (batch,) = store.batches.list(project)
    assert (batch.name, len(batch.outputs), batch.population) == ("pilot *1*", 4, 12)
    assert {c.probability for c in batch.outputs} == {4 / 12}
    assert "0 / 4 outputs labelled" in words(at)
    assert any("pilot \\*1\\*" in str(m.value) for m in at.markdown)
    build(at, "pilot *1*")
    assert "already" in words(at)
    assert len(store.batches.list(project)) == 1
    press(at, "Delete this set")
    assert store.batches.list(project) == []
    at.selectbox(key=f"typology-{project}").set_value("data_to_text").run()
    press(at, "Use this typology")
    assert typology_of(store, project).title == "Data-to-text"
    assert "(in use)" in at.selectbox(key=f"typology-{project}").format_func("data_to_text")


def test_labels_of_a_batch_are_corrected_for_the_sampling(store: Store) -> None:
    project = filled(store, "ann", "bob")
    at = build(opened(project), "more")
    assert "no outputs to choose from" in words(at).lower(), "everything has enough labels"
    assert store.batches.list(project) == []
    at.number_input(key="batch-enough").set_value(3)
    build(at.run(), "all of it")
    assert "12 / 12 outputs labelled, 12 by two or more" in words(at)
    rows = next(d.value for d in at.dataframe if "corrected for the sampling ↑" in d.value.columns)
    # bob marks a Major error (−5) in 8 of 12 outputs, ann none: −5·8/(12·2); everything was chosen for certain
    assert list(rows.iloc[0]) == ["all systems", 12, "−1.667", "−1.667", "[−1.667, −1.667]"]


def test_what_a_set_needs_is_named_until_it_is_there(store: Store) -> None:
    project = filled(store, scored=False)
    at = opened(project)
    assert "Outputs are selected by their scores" in words(at)
    put_scores(store, project, "chrf")
    at = opened(project)
    at.radio(key="batch-method").set_value("informative").run()
    assert "needs BARTScore++" in words(at)

    def refined(number: int, item: Item) -> Value:
        i = number // len(SYSTEMS)
        return Value(-1.0, parts={"dist_exp": 0.1 * (i % 3), "dist_imp": 0.1 * (i % 4), "score_hyp": -1.0})

    put_scores(store, project, "bartscore++", refined)
    at = opened(project)
    at.radio(key="batch-method").set_value("informative").run()
    at.number_input(key="batch-n").set_value(4)
    build(at.run(), "narrow")
    (batch,) = store.batches.list(project)
    assert (batch.method, len(batch.outputs)) == ("informative", 4)
    assert "interval:0-inf" in batch.signature
    assert len({c.key.segment for c in batch.outputs}) == 2

    at = opened(filled(store))
    assert "This project has no labels yet" in words(at)
    assert "Still needed: 12 outputs" in words(at)
    at = opened(store.projects.create("empty").id)
    assert "This project has no outputs yet" in words(at)


def test_a_comparison_is_cancelled_repeated_or_of_a_sample(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = filled(store, "ann", "bob")

    def cancelled(key: tuple[Hashable, ...], *rest: Any) -> Any:
        st.session_state.setdefault("errorscope_stopped", set()).add(str(hash(key)))
        return long_jobs.run_cached(key, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(agreement_part, "run_cached", cancelled)
        at = opened(project)
    assert "Cancelled: Comparing labels" in words(at)
    assert "The labels were not compared: see the tab Agreement." in words(at)
    press(at, "Run again")
    assert "Agreement of the MQM scores of the error spans: α" in words(at)

    project = filled(store, "ann", "bob")
    monkeypatch.setattr(service, "MOST_DISPUTES", 1)
    at = opened(project)
    found = service.agreement(store, project, submitted(store, project))
    assert len(found.disputes) == 1
    assert f"The 1 largest of {found.n_disputes} disagreements." in words(at)
    monkeypatch.setattr(service, "MOST_COMPARISONS", 2)
    st.cache_resource.clear()
    at = opened(project)
    assert "Error spans were compared on a random sample of 2 of these 12 outputs. α and τ-b cover all." in words(at)
    assert "on a random sample of 2 of the 12 outputs labelled by two annotators or more." in words(at)
