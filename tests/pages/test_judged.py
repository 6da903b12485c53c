"""Scores and ranks by annotator: human scores to calibrate on and to evaluate with, agreement, an export."""

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Judgement, Output, OutputKey, Segment
from core.ports.calibration import Chosen, SavedBatch
from core.ports.store import Store
from pages._ui.shared import wiring
from tests.builders import refined_value
from tests.pages.opened_page import button, field, new_project, opened, press
from tests.pages.said import words
from tests.pages.test_projects import uploaded
from tests.stores import put_scores

N, SYSTEMS = 8, ("A", "B", "C")


def filled(store: Store, *, upset: bool = True) -> int:
    """Two raters score (one 40 points below the other) and rank; with `upset` every system loses now and then."""
    project = new_project(store)
    segments = tuple(Segment("d", str(i), None, ("a reference",)) for i in range(N))
    outputs = tuple(Output(s, "d", str(i), f"{s} wrote {i}") for i in range(N) for s in SYSTEMS)
    judged = []
    for n, o in enumerate(outputs):
        i, place = int(o.segment_id), SYSTEMS.index(o.system)
        rank = (place + (i % 3 if upset else 0)) % 3 + 1
        for rater, less in (("ann", 0), ("bob", 40)):
            judged += [
                Judgement(o.key, rater, "score", float(90 - 5 * n % 47 - less)),
                Judgement(o.key, rater, "rank", float(rank)),
            ]
    store.projects.add(project, Dataset(segments, outputs), judgements=judged)
    distances = [(0.1 * (n % 7), 0.03 * (11 * n % 17)) for n in range(len(outputs))]
    values = {o.key: refined_value(*d, -d[0] - 0.2) for o, d in zip(outputs, distances, strict=True)}
    put_scores(store, project, "bartscore++", values)
    return project


def choose(at: AppTest, project: int, option: tuple[str, str, str]) -> AppTest:
    at.selectbox(key=f"lambda-people-{project}").set_value(option).run()
    return at


@pytest.mark.usefixtures("few_resamples")
def test_calibrate_fits_on_numbers_and_ranks_of_raters(store: Store) -> None:
    project = filled(store)
    chosen = tuple(Chosen(OutputKey(s, "d", str(i)), (1 + i) / 10) for i in range(5) for s in SYSTEMS)
    store.batches.save(project, SavedBatch("pilot", "informative", 0, "s", chosen, 24, {"whole": True}))
    at = opened("calibrate", project)
    assert at.selectbox(key=f"lambda-people-{project}").options == [
        "score: mean over raters", "score: mean of z-scores by rater", "rank: share of the others ranked below",
        "rank: Bradley–Terry strengths of the systems",
    ]  # fmt: skip
    assert "agrees best with 2 annotators (“score”) on 24 outputs" in words(at)
    at = choose(at, project, ("numbers", "score", "z"))
    assert "judgements|name:score|by:z|raters:2|higher:yes" in words(at)
    at.selectbox(key=f"lambda-batch-{project}").set_value("pilot").run()
    assert "on 15 outputs" in words(at)
    assert "weights:1/probability" in words(at)
    assert at.segmented_control(key="lambda-section").options == ["Agreement", "More labels"]
    assert "only with all labelled outputs, not with a calibration set" in words(at)
    at.selectbox(key="lambda-measure").set_value("acc_eq").run()
    assert "The sampling weights are not used" in words(at)

    at = choose(opened("calibrate", project := filled(store)), project, ("numbers", "rank", "strengths"))
    assert at.selectbox(key="lambda-group").options == ["system means"]
    assert "held fixed" in words(at)
    at = opened("meta_evaluation", project)
    at.button_group(key="evaluate-section").set_value("Disagreements").run()
    at = choose(at, project, ("numbers", "rank", "strengths"))
    assert at.button_group(key="evaluate-section").value == "Scatter plot", "the section that was open is not possible"
    assert "Disagreements, Systems, Parts of the data, Judge card: these human scores belong to whole systems" in words(
        at
    )
    assert at.selectbox(key="evaluate-level").options == ["system means"]
    assert "whole systems" in words(at) or "held fixed" in words(at)

    at = choose(opened("calibrate", project := filled(store, upset=False)), project, ("numbers", "rank", "strengths"))
    assert "never lost to the others" in words(at)
    assert "share of the others ranked below" in words(at)


def test_meta_evaluation_and_compare_take_the_numbers_of_raters(store: Store) -> None:
    at = choose(opened("meta_evaluation", project := filled(store)), project, ("numbers", "score", "mean"))
    assert "agrees with 2 annotators (“score”) on 24 outputs" in words(at)
    at.button_group(key="evaluate-section").set_value("Length and bias").run()
    assert field(at, "Average with").options == ["score z", "rank wins"]
    at = opened("compare", project)
    assert any("score (human score)" in str(s.options) for s in [*at.selectbox, *at.multiselect])


def test_the_agreement_of_numbers_is_shown_and_follows_an_import(store: Store) -> None:
    at = opened("labels_and_raters", project := filled(store))
    assert "Scores and ranks by annotator" in words(at)
    tables = [d.value for d in at.dataframe]
    alphas = next(t for t in tables if "α ↑" in t.columns)
    # bob gives 40 less to every output: by z-scores they agree perfectly, as given hardly at all
    of = dict(zip(alphas["Krippendorff’s α of"], alphas["α ↑"], strict=True))
    assert of["z-scores by rater, interval level"] == "1.000"
    assert float(of["scores as given, interval level"].replace("−", "-")) < 0
    assert next(t for t in tables if "standard deviation" in t.columns)["mean"].round(6).diff().iloc[1] == -40
    at.selectbox(key="people-numbers").set_value("rank").run()
    assert "within each segment, averaged: 1.000" in words(at)
    more = [Judgement(OutputKey("A", "d", "0"), "eve", "score", 1.0)]
    store.projects.add(project, Dataset((), ()), judgements=more)
    wiring.changed(project)
    tables = [d.value for d in opened("labels_and_raters", project).dataframe]
    assert "eve" in set(next(t for t in tables if "standard deviation" in t.columns)["annotator"])


def test_other_numbers_of_a_rater_replace_old_ones_on_request(store: Store) -> None:
    project = filled(store)
    wrong = "system,document,segment,rater,score\nA,d,0,ann,3\nB,d,0,ann,4\n"
    at = uploaded(("p.csv", wrong), at=opened("projects", project), what="labels")
    assert button(at, "Add to “p”").disabled
    [box] = at.checkbox
    assert (
        box.label.replace("\\", "")
        == "Replace the existing scores of these annotators in “p”: 24 judgements by 1 rater (score)"
    )
    press(box.check().run(), "Add 2 judgements to “p”")
    left = [j for j in store.labels.judgements(project) if j.name == "score"]
    assert [j.value for j in left if j.rater == "ann"] == [3, 4]
    assert len([j for j in left if j.rater == "bob"]) == 24
