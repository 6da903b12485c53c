"""Building a calibration set: what is chosen, how far it is, what is missing, and what it says of all outputs."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.calibration.sampling import strata
from core.columns import ScoreColumn
from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, SegmentKey, Value
from core.errors import UserError
from core.metrics.registry import specs
from core.mqm.rated_by_output import RatedByOutput
from core.ports.calibration import Chosen, SavedBatch, SavedLambda
from core.ports.labels import Action
from core.ports.scores import ScoredBy
from core.ports.store import Store
from core.services.labels import batches, labels
from core.services.labels.batches import Plan, Shortfall
from core.services.projects.view import Column, View
from tests.builders import small_dataset
from tests.labels import by_output, submitted
from tests.stores import new_store
from tests.views import index_of, view_of

N = 12
TABLE = {
    OutputKey(system, "doc", str(i)): Value(
        float(i + 100 * (system == "B")), parts={"dist_exp": float(i % 5), "dist_imp": float(i % 3)}
    )
    for system in "AB"
    for i in range(N)
}


def project() -> tuple[Store, int]:
    store = new_store()
    made = store.projects.create("p").id
    store.projects.add(made, small_dataset(N))
    return store, made


def laid_out() -> tuple[View, Column]:
    scored = ScoredBy("chrf", "chrf|v:1", len(TABLE), datetime(2026, 1, 1, tzinfo=UTC))
    view = view_of(small_dataset(N), [scored], {"chrf|v:1": TABLE}, specs())
    return view, view.columns[0]


def label(store: Store, made: int, rater: str, segment: str, *systems: str, bad: bool = False) -> None:
    value = "non_translation" if bad else "no_error"
    acts = [Action(f"{rater}{segment}{s}", "verdict", s, {"value": value}) for s in systems]
    submit = Action(f"{rater}{segment}!", "submit", None, {"systems": list(systems)})
    store.labels.append(made, rater, SegmentKey("doc", segment), [*acts, submit])


def test_a_batch_says_how_it_was_drawn() -> None:
    batch = batches.build(*laid_out(), by_output([]), " pilot ", Plan(n=8, whole=False, n_strata=4, seed=3))
    assert (batch.name, batch.method, batch.seed, batch.population, len(batch.outputs)) == (
        "pilot",
        "stratified",
        3,
        24,
        8,
    )
    assert batch.signature == ("batch|method:stratified|strata:4|unit:output|n:8|below:2|seed:3|of:24|by:chrf;v:1|v:1")
    informative = batches.build(
        *laid_out(), by_output([]), "b", Plan(n=8, method="informative", interval=(0.5, math.inf))
    )
    assert informative.signature.startswith("batch|method:informative|interval:0.5-inf|evenly:0.2|unit:segment|n:8")
    assert len(informative.outputs) == 8


def test_all_qualities_are_in_a_stratified_batch() -> None:
    batch = batches.build(*laid_out(), by_output([]), "b", Plan(n=8, whole=False, n_strata=4))
    keys = list(TABLE)
    quality = dict(zip(keys, strata([TABLE[k].value or 0.0 for k in keys], 4).tolist(), strict=True))
    assert sorted(quality[c.key] for c in batch.outputs) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert {c.probability for c in batch.outputs} == {8 / 24}


def test_what_enough_people_have_rated_is_left_out() -> None:
    rated = by_output(RatedOutput(key, who, ()) for key in TABLE if key.system == "A" for who in ("ann", "bob"))
    batch = batches.build(*laid_out(), rated, "b", Plan(n=99))
    assert {c.key.system for c in batch.outputs} == {"B"}
    assert batch.population == N
    again = batches.build(*laid_out(), rated, "b", Plan(n=99, enough=3))
    assert len(again.outputs) == 24
    with pytest.raises(UserError, match="no outputs to choose from"):
        batches.build(*laid_out(), by_output(RatedOutput(key, "ann", ()) for key in TABLE), "b", Plan(enough=1))


def test_outputs_without_a_value_are_no_candidates() -> None:
    view, column = laid_out()
    table = {k: Value(None, "undefined", "empty") if k.segment_id == "0" else v for k, v in TABLE.items()}
    scored = ScoredBy("chrf", "chrf|v:1", len(TABLE), datetime(2026, 1, 1, tzinfo=UTC))
    view = view_of(small_dataset(N), [scored], {"chrf|v:1": table}, specs())
    assert len(batches.pool(view, column, view.present)) == 22


def test_only_the_outputs_of_a_batch_are_asked_for_in_its_order() -> None:
    outputs = (OutputKey("B", "doc", "7"), OutputKey("A", "doc", "2"), OutputKey("B", "doc", "2"))
    batch = SavedBatch("b", "stratified", 0, "s", tuple(Chosen(key, 0.5) for key in outputs), 24)
    asked = labels.outline_of(batch)
    assert list(asked.items()) == [(SegmentKey("doc", "7"), ("B",)), (SegmentKey("doc", "2"), ("A", "B"))]
    store, made = project()
    assert labels.next_unlabelled(asked, {}) == SegmentKey("doc", "7")
    label(store, made, "ann", "7", "B")
    mine = store.labels.of_rater(made, "ann")
    assert labels.next_unlabelled(asked, mine) == SegmentKey("doc", "2")
    assert labels.progress(asked, mine) == (1, 2)
    assert batches.outputs_done(asked, mine) == 1
    assert labels.progress(index_of(small_dataset(N)).outline, mine) == (0, N)  # A of that segment is not labelled yet
    label(store, made, "bob", "7", "B")
    assert batches.progress(batch, RatedByOutput(submitted(store, made))) == (3, 1, 1)


def test_what_is_missing_to_100_outputs_and_two_raters_is_said() -> None:
    store, made = project()
    assert batches.shortfall(RatedByOutput(submitted(store, made))) == Shortfall(0, 0, 0)
    label(store, made, "ann", "0", "A", "B")
    label(store, made, "bob", "0", "A")
    found = batches.shortfall(RatedByOutput(submitted(store, made)))
    assert found == Shortfall(2, 1, 2)
    assert (found.missing, found.missing_twice) == (98, 99)
    assert found.words() == (
        "2 outputs labelled and submitted, 1 of them by two or more of 2 annotators. "
        "Still needed: 99 outputs with labels by 2 annotators each."
    )
    assert "Still needed: 30 outputs with labels by 2 annotators" in Shortfall(120, 70, 2).words()
    assert "enough for all pages" in Shortfall(120, 100, 3).words()
    assert Shortfall(0, 0, 0, 36).words() == (
        "0 outputs labelled and submitted. Still needed: 36 outputs with labels by 2 annotators each (this project has 36; 100 are "
        "recommended for Calibrate λ)."
    )
    assert Shortfall(9, 0, 1, 400).words() == (
        "9 outputs labelled and submitted by 1 annotator. Still needed: 100 outputs with labels by 2 annotators each."
    )
    assert "all outputs of this project; 100 are" in Shortfall(36, 36, 2, 36).words()


def test_means_are_corrected_for_the_probabilities() -> None:
    store, made = project()
    label(store, made, "ann", "0", "A", "B", bad=True)
    label(store, made, "ann", "1", "A")
    chosen = (
        Chosen(OutputKey("A", "doc", "0"), 1.0),
        Chosen(OutputKey("B", "doc", "0"), 0.5),
        Chosen(OutputKey("A", "doc", "1"), 0.1),
        Chosen(OutputKey("B", "doc", "1"), 0.1),  # nobody has labelled it
    )
    batch = SavedBatch("b", "stratified", 0, "s", chosen, 24)
    everything, a, b = batches.estimates(RatedByOutput(submitted(store, made)), batch)
    # a non-translation costs 25. All: (25·1 + 25·2 + 0·10)/13; A: (25·1 + 0·10)/11
    assert (everything.system, everything.n) == ("", 3)
    assert everything.plain == pytest.approx(-50 / 3)
    assert everything.corrected == pytest.approx(-75 / 13)
    assert (a.system, a.plain, a.corrected) == ("A", -12.5, pytest.approx(-25 / 11))
    assert (b.plain, b.corrected) == (-25, pytest.approx(-25))
    assert (b.low, b.high) == (None, None)
    assert "two drawn units" in b.reason
    # three of four are labelled: probabilities .75, .375, .075; z = w(y − ȳ)/N̂ with w 4/3, 8/3, 40/3 of 52/3
    z = [(-25 + 75 / 13) / 13, (-25 + 75 / 13) * 2 / 13, (75 / 13) * 10 / 13]
    c = [0.25 * 1.5, 0.625 * 1.5, 0.925 * 1.5]
    middle = sum(x * y for x, y in zip(c, z, strict=True)) / sum(c)
    variance = sum(x * (y - middle) ** 2 for x, y in zip(c, z, strict=True))
    assert everything.high == pytest.approx(-75 / 13 + 4.302653 * variance**0.5, abs=1e-4)  # t of 2 degrees of freedom
    assert batches.estimates(RatedByOutput(submitted(store, made)), SavedBatch("c", "x", 0, "s", chosen[3:], 24)) == []


@pytest.mark.parametrize("whole", [True, False])
def test_a_stratified_batch_keeps_what_its_interval_needs(whole: bool) -> None:
    store, made = project()
    batch = batches.build(*laid_out(), by_output([]), "b", Plan(n=10, whole=whole, n_strata=3))
    assert len(batch.options["stratum"]) == len(batch.outputs)
    units = len({c.key.segment if whole else c.key for c in batch.outputs})
    assert sum(batch.options["places"]) == pytest.approx(units)
    for segment in {c.key.segment_id for c in batch.outputs}:
        label(store, made, "ann", segment, "A", "B", bad=int(segment) % 2 == 0)
    rated = RatedByOutput(submitted(store, made))
    found = batches.estimates(rated, batch)[0]
    assert found.low is not None
    assert found.low < found.corrected < (found.high or 0)
    # without what it keeps it is as a batch of one stratum
    bare = batches.estimates(rated, replace(batch, options={"whole": whole}))[0]
    assert bare.corrected == pytest.approx(found.corrected)
    assert bare.low != found.low


def test_intervals_are_of_lambdas_of_the_same_refinement() -> None:
    saved = [
        SavedLambda("old", 1.0, "s", "ref", {"ci": [0.5, 2.0]}),
        SavedLambda("other", 1.0, "s", "another", {"ci": [0.1, 0.2]}),
        SavedLambda("none", 1.0, "s", "ref", {"ci": None}),
        SavedLambda("new", 1.0, "s", "ref", {"ci": [1.0, "inf"]}),
    ]
    assert list(batches.intervals(saved, "ref").items()) == [("new", (1.0, math.inf)), ("old", (0.5, 2.0))]


def of_languages() -> View:
    german, arabic = "Der Rat hat das nicht beschlossen und ist zu.", "لحجز موعد يمكن الاتصال بالرقم"
    english = "The council decided that it is not the end of this."
    segments = (Segment("a", "1", german), Segment("b", "1", arabic), Segment("b", "2", None), Segment("c", "1", None))
    outputs = tuple(Output(system, *s.key, english) for s in segments for system in "AB")
    return view_of(Dataset(segments, outputs), [], {}, specs())


def test_documents_are_grouped_by_the_languages_of_source_and_outputs() -> None:
    assert batches.languages(of_languages()) == {
        "German → English": ["a"],
        "Arabic script → English": ["b"],
        "English": ["c"],
    }


def test_a_batch_of_some_documents_holds_only_these_and_says_so() -> None:
    of = of_languages()
    table = {key: Value(float(i)) for i, key in enumerate(of.index.keys())}
    column = Column("chrf", "chrf", "chrF", "chrf|v:1", True)
    view = View(of.index, (column,), of.texts, lambda _: ScoreColumn.of(of.index, table))
    plan = Plan(n=4, whole=False, n_strata=2, documents=("b", "a"))
    batch = batches.build(view, view.columns[0], by_output([]), "b", plan)
    assert (batch.population, {c.key.doc_id for c in batch.outputs}) == (6, {"a", "b"})
    assert batch.options["documents"] == ["b", "a"]
    assert "|documents:2-" in batch.signature
    assert (
        batch.signature
        == batches.build(view, view.columns[0], by_output([]), "b", replace(plan, documents=("a", "b"))).signature
    )
