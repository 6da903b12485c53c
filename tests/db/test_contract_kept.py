"""What is kept for people comes back exactly: λs, batches, cases, stress test runs."""

import math

import pytest

from core.data import OutputKey
from core.errors import UserError
from core.ports.calibration import Chosen, SavedBatch, SavedLambda
from core.ports.robustness import KeptCase, SavedScore
from core.ports.store import Store
from tests.db.test_contract import FIRST, no_error, project

__all__ = ["project"]


def test_a_saved_lambda_is_kept_exactly(store: Store, project: int) -> None:
    for value in [0.0, 1.7, 0.1 + 0.2, math.inf]:
        fitted = SavedLambda(
            "mine", value, "sig", "ref", {"plateau": [1.0, math.inf], "warnings": ["few raters"], "tau": None}
        )
        saved = store.calibrations.save(project, fitted)
        assert saved.id is not None
        assert store.calibrations.list(project) == [saved]
        assert (saved.value, saved.result) == (value, fitted.result)
        with pytest.raises(UserError):
            store.calibrations.save(project, fitted)
        store.calibrations.delete(project, "mine")
        assert store.calibrations.list(project) == []
        with pytest.raises(UserError):
            store.calibrations.delete(project, "mine")


def batch(name: str = "first", *chosen: tuple[OutputKey, float]) -> SavedBatch:
    outputs = chosen or ((OutputKey("B", "doc", "1"), 0.1 + 0.2), (OutputKey("A", "doc", "0"), 1.0))
    return SavedBatch(
        name, "stratified", 7, "batch|seed:7", tuple(Chosen(*c) for c in outputs), 6, {"metric": "chrf", "to": None}
    )


def test_a_batch_is_kept_exactly_and_in_its_order(store: Store, project: int) -> None:
    saved = store.batches.save(project, batch())
    assert store.batches.list(project) == [saved]
    assert (saved.outputs, saved.options, saved.population) == (batch().outputs, batch().options, 6)
    assert (saved.name, saved.method, saved.seed, saved.signature) == ("first", "stratified", 7, "batch|seed:7")
    assert saved.id is not None
    assert saved.created is not None
    assert saved.created.tzinfo is not None
    second = store.batches.save(project, batch("second"))
    assert store.batches.list(project) == [saved, second]
    store.batches.delete(project, "first")
    assert store.batches.list(project) == [second]
    with pytest.raises(UserError):
        store.batches.delete(project, "first")


def test_an_archived_batch_keeps_its_probabilities(store: Store, project: int) -> None:
    saved = store.batches.save(project, batch())
    store.batches.save(project, batch("second"))
    store.batches.archive(project, "first")
    kept, other = store.batches.list(project)
    assert (kept.archived, kept.outputs, kept.id) == (True, saved.outputs, saved.id)
    assert dict(kept.options) == {**saved.options, "archived": True}
    assert not other.archived
    with pytest.raises(UserError):
        store.batches.archive(project, "third")


def test_a_batch_that_cannot_be_worked_through_is_refused(store: Store, project: int) -> None:
    store.batches.save(project, batch())
    for wrong in (batch(), batch(" "), batch("x", (OutputKey("Z", "doc", "0"), 0.5))):
        with pytest.raises(UserError):
            store.batches.save(project, wrong)
    for p in (0.0, 1.5, math.nan):
        with pytest.raises(ValueError, match="probability"):
            store.batches.save(project, batch("y", (OutputKey("A", "doc", "0"), p)))
    with pytest.raises(UserError):
        store.batches.save(project + 1000, batch("z"))
    assert [b.name for b in store.batches.list(project)] == ["first"]


def test_a_batch_goes_with_its_project_and_leaves_labels_behind(store: Store, project: int) -> None:
    store.labels.append(project, "ann", FIRST, [no_error("1", "A")])
    store.batches.save(project, batch())
    store.batches.delete(project, "first")
    assert len(store.labels.events(project)) == 1
    store.batches.save(project, batch())
    store.projects.delete(project)
    assert store.batches.list(project) == []


def kept(collection: str = "demo", changed: str = "It costs 9 €.") -> KeptCase:
    scores = (
        SavedScore("chrf", "chrf|v:1", True, 0.1 + 0.2, 71.0),
        SavedScore("nli", "nli|v:1", True, None, None, "a *reason*"),
    )
    return KeptCase(collection, "number error", None, "It costs 5 €.", "It is 5 €. 😀", changed, "5 → 9", scores)


def test_a_kept_case_comes_back_exactly_with_its_scores(store: Store, project: int) -> None:
    saved = store.cases.keep(project, kept())
    assert store.cases.list(project) == [saved]
    assert (saved.texts, saved.what, saved.scores) == (kept().texts, "5 → 9", kept().scores)
    assert saved.created is not None
    assert saved.created.tzinfo is not None
    second = store.cases.keep(project, kept("other"))
    assert store.cases.list(project) == [saved, second]
    assert saved.id is not None
    store.cases.remove(project, saved.id)
    assert store.cases.list(project) == [second]
    with pytest.raises(UserError):
        store.cases.remove(project, saved.id)


def test_a_collection_has_a_name_and_every_case_once(store: Store, project: int) -> None:
    store.cases.keep(project, kept())
    for wrong in (kept(), kept(" ")):
        with pytest.raises(UserError):
            store.cases.keep(project, wrong)
    store.cases.keep(project, kept(changed="It costs 8 €."))
    with pytest.raises(UserError):
        store.cases.keep(project + 1000, kept())
    assert len(store.cases.list(project)) == 2


def test_kept_cases_belong_to_their_project_and_go_with_it(store: Store, project: int) -> None:
    other = store.projects.create("another").id
    saved = store.cases.keep(project, kept())
    assert saved.id is not None
    assert store.cases.list(other) == []
    with pytest.raises(UserError):
        store.cases.remove(other, saved.id)
    store.projects.delete(project)
    assert store.cases.list(project) == []


REPORT = '{"name": "R", "text": "a 😀 \\ud800"}\ud800'


def test_a_stress_test_run_is_read_back_exactly(store: Store, project: int) -> None:
    asked = {"tests": ["truncation"], "seeds": 3, "fails": 1, "gold": "reference"}
    first = store.stress.save(project, " R ", REPORT, asked)
    second = store.stress.save(project, "R", "other", {})
    assert (first.name, first.settings) == ("R", asked)
    assert first.created.tzinfo is not None
    assert store.stress.list(project) == [first, second]
    assert store.stress.report(project, first.id) == REPORT  # even where a lone surrogate stands in a text
    assert store.stress.report(project, second.id) == "other"


def test_a_stress_run_is_renamed_deleted_and_put_back(store: Store, project: int) -> None:
    run = store.stress.save(project, "R", REPORT, {})
    store.stress.rename(project, run.id, "S")
    assert [r.name for r in store.stress.list(project)] == ["S"]
    for name in ("", " "):
        with pytest.raises(UserError):
            store.stress.rename(project, run.id, name)
        with pytest.raises(UserError):
            store.stress.save(project, name, REPORT, {})
    store.stress.delete(project, run.id)
    assert store.stress.list(project) == []
    back = store.stress.save(project, "S", REPORT, {}, run.created)
    assert back.created == run.created
    assert back.id != run.id  # a link to what was deleted opens nothing else
    for ask in (
        lambda: store.stress.report(project, run.id), lambda: store.stress.delete(project, run.id),
        lambda: store.stress.rename(project, run.id, "T"),
    ):  # fmt: skip
        with pytest.raises(UserError):
            ask()


def test_stress_runs_belong_to_their_project_and_go_with_it(store: Store, project: int) -> None:
    other = store.projects.create("another").id
    run = store.stress.save(project, "R", REPORT, {})
    assert store.stress.list(other) == []
    for ask in (store.stress.report, store.stress.delete):
        with pytest.raises(UserError):
            ask(other, run.id)
    with pytest.raises(UserError):
        store.stress.save(project + 1000, "R", REPORT, {})
    store.projects.delete(project)
    assert store.stress.list(project) == []


def test_a_setting_is_kept_exactly_and_replaced(store: Store, project: int) -> None:
    assert store.settings.get(project, "typology") is None
    store.settings.put(project, "typology", {"name": "mqm", "rows": ["Länge", None, 1.5]})
    store.settings.put(project, "other", 1)
    store.settings.put(project, "typology", {"name": "own 😀", "rows": []})
    assert store.settings.get(project, "typology") == {"name": "own 😀", "rows": []}
    assert store.settings.get(project + 1, "typology") is None
    with pytest.raises(UserError):
        store.settings.put(project + 1, "typology", {})
    store.projects.delete(project)
    assert store.settings.get(project, "typology") is None
