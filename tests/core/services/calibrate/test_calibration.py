"""From labels, or a score of the upload, to a saved λ."""

import math

import pytest

from core.calibration.calibrate import calibrate
from core.data import Dataset, HumanScore, Output, OutputKey, Segment, SegmentKey, Value
from core.errors import UserError
from core.mqm import schemes
from core.ports.calibration import SavedLambda
from core.ports.labels import Action
from core.refine.result import weighted
from core.services.calibrate import calibration as service
from tests.labels import submitted
from tests.stores import new_store

# Outputs whose people punish explicit errors three times as much as implicit ones: λ near 3 orders them all.
DISTANCES = [(0.1 * i, 0.05 * ((7 * i) % 11)) for i in range(12)]
TRUE_LAMBDA = 3.0


def project():
    store = new_store()
    made = store.projects.create("p")
    segments = tuple(Segment("d", str(i), "source", ("a reference",)) for i in range(12))
    outputs = tuple(Output("A", "d", str(i), f"bad words {i}") for i in range(12))
    human = tuple(HumanScore("A", "d", str(i), "da", weighted(*DISTANCES[i], TRUE_LAMBDA)) for i in range(12))
    store.projects.add(made.id, Dataset(segments, outputs, human))
    return store, store.projects.get(made.id)


def table() -> dict[OutputKey, Value]:
    return {
        OutputKey("A", "d", str(i)): Value(
            weighted(*d, 1.0), parts={"dist_exp": d[0], "dist_imp": d[1], "score_hyp": -d[0] - d[1]}
        )
        for i, d in enumerate(DISTANCES)
    }


def test_fit_recovers_the_lambda_of_a_made_score() -> None:
    store, made = project()
    people = service.from_score(store.projects.human_score(made.id, "da").finite(), "da", higher_is_better=True)
    found = calibrate(service.points(table(), people), draws=20)
    assert found.agreement == pytest.approx(1.0)
    assert found.plateau.low <= TRUE_LAMBDA <= found.plateau.high
    unscored = table() | {OutputKey("A", "d", "3"): Value(None, "needs", "no reference")}
    assert len(service.points(unscored, people)) == 11
    down = service.from_score(store.projects.human_score(made.id, "da").finite(), "da", higher_is_better=False)
    assert [v[0] for v in down.scores.values()] == [-v[0] for v in people.scores.values()]
    assert down.signature != people.signature


def mark(i: int, rater: str, severity: str) -> Action:
    payload = {
        "mark": f"m{i}{rater}", "side": "output", "start": 0, "end": 3, "quote": "bad", "severity": severity,
        "category": "Accuracy/Mistranslation", "note": "",
    }  # fmt: skip
    return Action(f"a{i}{rater}", "add", "A", payload)


def test_only_submitted_labels_of_the_chosen_raters_count() -> None:
    store, made = project()
    for rater, severity in (("Ann", "Major"), ("Bo", "Minor")):
        store.labels.append(
            made.id, rater, SegmentKey("d", "0"), [mark(0, rater, severity), Action(f"s{rater}", "submit", None, {})]
        )
    store.labels.append(made.id, "Ann", SegmentKey("d", "1"), [mark(1, "Ann", "Major")])
    # Major 5 and Minor 1: the mean of both raters is 3, of Ann alone 5; segment 1 was not submitted
    both = service.from_rated(submitted(store, made.id), ["Ann", "Bo"], "google")
    assert both.scores == {OutputKey("A", "d", "0"): (-3.0, 2)}
    assert service.from_rated(submitted(store, made.id), ["Ann"], "google").scores == {
        OutputKey("A", "d", "0"): (-5.0, 1)
    }
    assert both.words == "2 annotators"


def test_a_saved_lambda_keeps_name_and_fit() -> None:
    store, made = project()
    people = service.from_score(store.projects.human_score(made.id, "da").finite(), "da", higher_is_better=True)
    found = calibrate(service.points(table(), people), draws=20)
    saved = service.save(store, made, " pilot ", found, "refinement|v:1", people)
    assert (saved.name, saved.value) == ("pilot", found.lam)
    assert "people:human;name:da" in saved.signature
    assert saved.result["n"] == 12
    assert math.isfinite(saved.result["agreement"])
    with pytest.raises(UserError):
        service.save(store, made, "pilot", found, "refinement|v:1", people)


def test_origin_describes_a_fit_on_labels() -> None:
    store, made = project()
    for rater, severity in (("Ann", "Major"), ("Bo", "Minor")):
        for k in range(4):
            done = (
                [mark(k, rater, severity)] if k % 2 else [Action(f"v{k}{rater}", "verdict", "A", {"value": "no_error"})]
            )
            store.labels.append(
                made.id, rater, SegmentKey("d", str(k)), [*done, Action(f"s{k}{rater}", "submit", None, {})]
            )
    mine = schemes.made(
        "mine",
        [{"severity": s, "category": "any", "weight": w} for s, w in (("Major", 9), ("Minor", 1))],
        non_translation=None,
    )
    people = service.from_rated(submitted(store, made.id), ["Ann", "Bo"], mine)
    assert people.scores[OutputKey("A", "d", "1")] == (-5.0, 2)  # (9 + 1)/2
    found = calibrate(service.points(table(), people), measure="acc_eq", draws=20)
    refinement = "bartscore++|v:1|variant:f|model:bundled/bart-mini|rev:8f93"
    saved = service.save(store, made, "own", found, refinement, people)
    origin = service.origin(saved)
    assert origin.outputs == "4 outputs, 4 segments, 1 system"
    assert origin.human_scores == "Ann, Bo (2 per output)"
    assert origin.weights == "mine v1"
    assert (origin.measure, origin.group) == ("acc_eq", "pooled")
    assert origin.model == "direction f, bundled/bart-mini 8f93"
    assert origin.interval == found.ci
    assert service.saved_schemes(store, made) == [mine]


def test_origin_describes_a_fit_on_an_imported_score() -> None:
    store, made = project()
    people = service.from_score(store.projects.human_score(made.id, "da").finite(), "da", higher_is_better=False)
    found = calibrate(service.points(table(), people), draws=20)
    origin = service.origin(service.save(store, made, "da", found, "r|v:1", people))
    assert origin.human_scores == "imported score “da”, lower is better"
    assert origin.weights == ""
    assert service.saved_schemes(store, made) == []
    assert service.origin(SavedLambda("bare", 1.0, "lambda|v:1", "r")) == ("", "", "", "", "", "", None)
