"""What is kept for people comes back exactly, belongs to its project and goes with it: λs, batches, cases, stress test runs, settings, span layers."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from core.data import OutputKey, SegmentKey, Value
from core.errors import UserError
from core.ports.calibration import Chosen, SavedBatch, SavedLambda
from core.ports.robustness import KeptCase, SavedScore
from core.ports.store import Store
from core.progress import Cancelled
from core.signature import content_key
from db.imports.slices import remove_interrupted
from tests.builders import stop_when
from tests.db.raw import scalar
from tests.db.test_contract import FIRST, no_error


def refused(*calls: Callable[[], object]) -> None:
    for number, call in enumerate(calls):
        with pytest.raises(UserError):
            pytest.fail(f"call {number} gave {call()}")


def test_a_saved_lambda_is_kept_exactly(store: Store, project: int) -> None:
    report = {"plateau": [1.0, math.inf], "warnings": ["few raters"], "tau": None}
    for value in [0.0, 1.7, 0.1 + 0.2, math.inf]:
        fitted = SavedLambda("mine", value, "sig", "ref", report)
        saved = store.calibrations.save(project, fitted)
        assert saved.id is not None
        assert store.calibrations.list(project) == [saved]
        assert (saved.value, saved.result) == (value, report)
        refused(lambda fitted=fitted: store.calibrations.save(project, fitted))
        store.calibrations.delete(project, "mine")
        assert store.calibrations.list(project) == []
        refused(lambda: store.calibrations.delete(project, "mine"))


def batch(name: str = "first", *chosen: tuple[OutputKey, float]) -> SavedBatch:
    outputs = tuple(
        Chosen(*c) for c in chosen or ((OutputKey("B", "doc", "1"), 0.1 + 0.2), (OutputKey("A", "doc", "0"), 1.0))
    )
    return SavedBatch(name, "stratified", 7, "batch|seed:7", outputs, 6, {"metric": "chrf", "to": None})


def test_a_batch_is_kept_exactly_archived_and_deleted_without_its_labels(store: Store, project: int) -> None:
    store.labels.append(project, "ann", FIRST, [no_error("1", "A")])
    saved = store.batches.save(project, batch())
    assert saved == replace(batch(), created=saved.created, id=saved.id)
    assert saved.created is not None
    assert saved.created.tzinfo is not None
    second = store.batches.save(project, batch("second"))
    assert store.batches.list(project) == [saved, second]
    store.batches.archive(project, "first")
    kept, other = store.batches.list(project)
    assert (kept.archived, kept.outputs, kept.id, other.archived) == (True, saved.outputs, saved.id, False)
    assert dict(kept.options) == {**saved.options, "archived": True}
    refused(
        lambda: store.batches.archive(project, "third"),
        lambda: store.batches.save(project, batch()),
        lambda: store.batches.save(project, batch(" ")),
        lambda: store.batches.save(project, batch("x", (OutputKey("Z", "doc", "0"), 0.5))),
        lambda: store.batches.save(project + 1000, batch("z")),
    )
    for p in (0.0, 1.5, math.nan):
        with pytest.raises(ValueError, match="probability"):
            store.batches.save(project, batch("y", (OutputKey("A", "doc", "0"), p)))
    store.batches.delete(project, "first")
    refused(lambda: store.batches.delete(project, "first"))
    assert (store.batches.list(project), len(store.labels.events(project))) == ([second], 1)


def kept_case(collection: str = "demo", changed: str = "It costs 9 €.") -> KeptCase:
    scores = (
        SavedScore("chrf", "chrf|v:1", True, 0.1 + 0.2, 71.0),
        SavedScore("nli", "nli|v:1", True, None, None, "a *reason*"),
    )
    return KeptCase(collection, "number error", None, "It costs 5 €.", "It is 5 €. 😀", changed, "5 → 9", scores)


def test_a_kept_case_comes_back_exactly_once_per_collection(store: Store, project: int) -> None:
    saved = store.cases.keep(project, kept_case())
    assert (saved.texts, saved.what, saved.scores) == (kept_case().texts, "5 → 9", kept_case().scores)
    assert saved.created is not None
    assert saved.created.tzinfo is not None
    others = [store.cases.keep(project, case) for case in (kept_case("other"), kept_case(changed="It costs 8 €."))]
    assert store.cases.list(project) == [saved, *others]
    assert saved.id is not None
    mine = saved.id
    store.cases.remove(project, mine)
    refused(
        lambda: store.cases.remove(project, mine),
        lambda: store.cases.keep(project, kept_case("other")),
        lambda: store.cases.keep(project, kept_case(" ")),
        lambda: store.cases.keep(project + 1000, kept_case()),
    )
    assert store.cases.list(project) == others


REPORT = '{"name": "R", "text": "a 😀 \\ud800"}\ud800'


def test_a_stress_test_run_is_read_back_exactly_renamed_deleted_and_put_back(store: Store, project: int) -> None:
    asked = {"tests": ["truncation"], "seeds": 3, "fails": 1, "gold": "reference"}
    run = store.stress.save(project, " R ", REPORT, asked)
    second = store.stress.save(project, "R", "other", {})
    assert (run.name, run.settings, run.created.tzinfo is not None) == ("R", asked, True)
    assert store.stress.list(project) == [run, second]
    assert store.stress.report(project, run.id) == REPORT  # even where a lone surrogate stands in a text
    store.stress.rename(project, run.id, "S")
    assert [r.name for r in store.stress.list(project)] == ["S", "R"]
    for name in ("", " "):
        refused(
            lambda name=name: store.stress.rename(project, run.id, name),
            lambda name=name: store.stress.save(project, name, REPORT, {}),
        )
    store.stress.delete(project, run.id)
    back = store.stress.save(project, "S", REPORT, {}, run.created)
    assert (back.created, back.id != run.id) == (run.created, True)  # a link to what was deleted opens nothing else
    refused(
        lambda: store.stress.report(project, run.id),
        lambda: store.stress.delete(project, run.id),
        lambda: store.stress.rename(project, run.id, "T"),
        lambda: store.stress.save(project + 1000, "R", REPORT, {}),
    )


def test_a_setting_is_kept_exactly_and_replaced(store: Store, project: int) -> None:
    assert store.settings.get(project, "typology") is None
    store.settings.put(project, "typology", {"name": "mqm", "rows": ["Länge", None, 1.5]})
    store.settings.put(project, "other", 1)
    store.settings.put(project, "typology", {"name": "own 😀", "rows": []})
    assert store.settings.get(project, "typology") == {"name": "own 😀", "rows": []}
    assert store.settings.get(project + 1, "typology") is None
    refused(lambda: store.settings.put(project + 1, "typology", {}))


def test_all_of_it_belongs_to_its_project_and_goes_with_it(store: Store, project: int) -> None:
    other = store.projects.create("another").id
    case, run = store.cases.keep(project, kept_case()), store.stress.save(project, "R", REPORT, {})
    store.batches.save(project, batch())
    store.settings.put(project, "typology", {})
    refused(
        lambda: store.cases.remove(other, case.id or 0),
        lambda: store.stress.report(other, run.id),
        lambda: store.stress.delete(other, run.id),
    )
    for of in (store.batches, store.cases, store.stress):
        assert (of.list(other), len(of.list(project))) == ([], 1)
    store.projects.delete(project)
    assert [of.list(project) for of in (store.batches, store.cases, store.stress)] == [[], [], []]
    assert store.settings.get(project, "typology") is None


A0, B0, A1 = OutputKey("A", "doc", "0"), OutputKey("B", "doc", "0"), OutputKey("A", "doc", "1")
SPAN = {"side": "output", "start": 0, "end": 1, "quote": "A", "severity": "Major", "category": "x/é 😀", "confidence": 0.1 + 0.2}  # fmt: skip


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
        refused(lambda name=name, spans=spans: store.spans.add(project, name, spans, {}, {}))
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
