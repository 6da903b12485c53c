"""The next step of a project."""

from dataclasses import replace

import pytest

from core.data import Dataset, HumanScore, Value
from core.ports.calibration import SavedLambda
from core.ports.labels import Action
from core.ports.store import Store
from core.services.projects.next_step import NextStep, next_step
from core.signature import content_key
from tests.builders import small_dataset
from tests.core.services.campaigns.filled import completed
from tests.stores import new_store

DATA = small_dataset(3)  # 3 segments × 2 systems


@pytest.fixture
def store() -> Store:
    empty = new_store()
    empty.projects.create("p")
    return empty


def step(store: Store, **options: bool) -> NextStep:
    return next_step(store, store.projects.list()[0], **options)


def fill(store: Store, data: Dataset = DATA) -> None:
    store.projects.add(store.projects.list()[0].id, data)


def score(store: Store, metric: str = "chrf", data: Dataset = DATA) -> None:
    values = {content_key(*item): Value(1.0) for _, item in data.items()}
    store.scores.put(metric, f"{metric}|v:1", values, 1.0)


def label(store: Store, data: Dataset, rater: str = "ann") -> None:
    """Submit every segment without an error."""
    for segment in data.segments:
        given = [Action(f"{rater}-{segment.key}-{s}", "verdict", s, {"value": "no_error"}) for s in data.systems]
        given.append(Action(f"{rater}-{segment.key}", "submit", None, {}))
        store.labels.append(store.projects.list()[0].id, rater, segment.key, given)


def of(data: Dataset, n: int) -> Dataset:
    """Return the first segments only."""
    kept = {s.key for s in data.segments[:n]}
    return Dataset(data.segments[:n], tuple(o for o in data.outputs if o.key.segment in kept))


def test_each_step_follows_when_the_one_before_is_done(store: Store) -> None:
    assert step(store).step == "upload"
    fill(store)
    assert step(store) == NextStep("score", ("upload",), "No metric has been computed yet.")
    score(store, "bartscore++|k:5", of(DATA, 1))
    assert step(store) == NextStep("score", ("upload",), "Only 2 of 6 outputs have scores.")
    waiting = "Scores are being computed. There are no labels or human scores yet."
    assert step(store, scoring=True) == NextStep("label", ("upload",), waiting)
    score(store, "bartscore++|k:5")
    assert step(store) == NextStep("label", ("upload", "score"), "There are no labels or human scores yet.")
    label(store, DATA)
    assert step(store).step == "calibrate"
    store.calibrations.save(store.projects.list()[0].id, SavedLambda("pilot", 1.7, "s", "r"))
    assert step(store)[:2] == ("evaluate", ("upload", "score", "label", "calibrate"))


def test_labels_of_all_annotators_count_once_per_output(store: Store) -> None:
    fill(store)
    score(store)
    label(store, of(DATA, 2))
    label(store, of(DATA, 1), "bob")
    assert step(store).why == "4 outputs labelled and submitted; 6 are recommended."
    label(store, Dataset(DATA.segments[2:], DATA.outputs), "bob")
    assert step(store)[:2] == ("evaluate", ("upload", "score", "label"))  # no λ to fit without BARTScore++
    assert step(store).imported == ""


def test_imported_labels_are_told_from_own_ones(store: Store) -> None:
    fill(store)
    score(store)
    label(store, DATA, "import")
    assert (step(store).step, step(store).imported) == ("evaluate", "labels")
    own = [Action("own", "verdict", "A", {"value": "non_translation"}), Action("own-submit", "submit", None, {})]
    store.labels.append(store.projects.list()[0].id, "import", DATA.segments[0].key, own)
    assert (step(store).step, step(store).imported) == ("evaluate", "")


def test_a_hundred_scored_and_labelled_outputs_are_enough(store: Store) -> None:
    large = small_dataset(60)
    fill(store, large)
    score(store, data=of(large, 50))
    label(store, of(large, 49))
    assert step(store).why == "98 outputs labelled and submitted; 100 are recommended."
    label(store, of(large, 50))
    assert step(store).step == "evaluate"


def test_human_scores_and_finished_campaigns_need_no_labels(store: Store) -> None:
    fill(store, replace(DATA, human_scores=(HumanScore("A", "doc", "0", "adequacy", 4.0),)))
    assert step(store) == NextStep("score", ("upload", "label"), "No metric has been computed yet.", "human scores")
    assert step(store, scoring=True).why.startswith("Scores are being computed. See which metric")
    score(store)
    assert (step(store).step, step(store).imported) == ("evaluate", "human scores")

    other, campaign = completed()
    project = other.projects.list()[0]
    assert next_step(other, project, scoring=True).why.endswith("The campaign “pilot” is not finished yet.")
    other.campaigns.set_state(campaign.id, "finished")
    assert next_step(other, project, scoring=True)[:2] == ("evaluate", ("upload", "label"))
