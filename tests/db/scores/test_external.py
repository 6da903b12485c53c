"""External scores: metrics like any other, which belong to outputs."""

import hashlib

import pytest
from sqlalchemy import Engine

from core.data import Dataset, ExternalScores, Output, OutputKey, Segment, SegmentKey, SourceFile, Value
from core.errors import ImportProblems, UserError
from core.ports.files import ImportReport
from core.ports.store import Store
from core.signature import content_key
from db.store import store_over
from tests.builders import small_dataset
from tests.db.imports.test_imports_in_slices import killed
from tests.db.raw import counts
from tests.stores import project_with

FIRST = SegmentKey("doc", "0")
A0, A1, B0 = OutputKey("A", "doc", "0"), OutputKey("A", "doc", "1"), OutputKey("B", "doc", "0")
FILE, OTHER = SourceFile("comet.seg.score", "ab" * 32), SourceFile("more.csv", "cd" * 32)
NONE = Value(None, "undefined", "comet.seg.score gives no score here")
SIGNATURE = f"external|name:COMET|direction:higher|file:comet.seg.score|sha256:{'ab' * 32}"


def comet(values: dict[OutputKey, Value] | None = None, file: SourceFile = FILE, higher: bool = True) -> ExternalScores:
    return ExternalScores("COMET", higher, (file,), values or {A0: Value(0.75), A1: NONE, B0: Value(-0.25)})


def add(store: Store, project: int, *given: ExternalScores, replace: tuple[str, ...] = ()) -> ImportReport:
    return store.projects.add(project, Dataset((), ()), external=given, replace=replace)


def test_scores_from_elsewhere_are_one_more_metric_of_the_project(store: Store, project: int) -> None:
    store.scores.put("chrf", "chrf|v:1", {content_key(*small_dataset().items()[0][1]): Value(50.0)}, 0.1)
    assert add(store, project, comet()) == ImportReport(0, 0, 0, 0, 0, metric_scores=3)
    ours, theirs = store.scores.signatures(project)
    assert (ours.metric, theirs.metric, theirs.signature, theirs.n) == ("chrf", "external:COMET", SIGNATURE, 3)
    assert dict(store.scores.column(project, SIGNATURE)) == {A0: Value(0.75), B0: Value(-0.25), A1: NONE}
    assert list(dict(store.scores.column(project, SIGNATURE))) == [A0, B0, A1]
    assert store.scores.detail(project, SIGNATURE, FIRST) == {"A": Value(0.75), "B": Value(-0.25)}
    assert store.scores.known(SIGNATURE, [content_key(*small_dataset().items()[0][1])]) == set()
    assert store.projects.dataset(project).human_scores == ()
    second = project_with(store, name="second")
    assert [s.metric for s in store.scores.signatures(second)] == ["chrf"]  # of the same texts


def test_equal_texts_of_two_systems_have_their_own_scores(store: Store) -> None:
    made = store.projects.create("twins")
    same = Dataset((Segment("d", "1", None),), (Output("A", "d", "1", "x"), Output("B", "d", "1", "x")))
    values = {OutputKey("A", "d", "1"): Value(1.0), OutputKey("B", "d", "1"): Value(2.0)}
    store.projects.add(made.id, same, external=[comet(values)])
    assert dict(store.scores.column(made.id, SIGNATURE)) == values


def test_further_external_scores_are_merged_and_those_that_are_known_change_nothing(store: Store, project: int) -> None:
    add(store, project, comet())
    before = store.scores.external(project)
    assert add(store, project, comet()) == ImportReport(0, 0, 0, 0, unchanged=3)
    assert add(store, project, comet(), replace=("COMET",)).metric_scores == 0
    assert store.scores.external(project) == before
    b1 = OutputKey("B", "doc", "1")
    report = add(store, project, comet({A0: Value(0.75), A1: Value(0.5), b1: Value(0.0)}, OTHER))
    assert (report.metric_scores, report.unchanged) == (2, 1)
    [metric] = store.scores.external(project)
    assert (metric.files, metric.n) == ((FILE, OTHER), 4)
    digest = hashlib.sha256(f"{FILE.sha256}\n{OTHER.sha256}".encode()).hexdigest()
    assert metric.signature == f"external|name:COMET|direction:higher|file:comet.seg.score + more.csv|sha256:{digest}"
    values = {A0: Value(0.75), B0: Value(-0.25), A1: Value(0.5), b1: Value(0.0)}
    assert dict(store.scores.column(project, metric.signature)) == values
    store.projects.add(project, Dataset((Segment("doc", "0", None, ("second reference",)),), ()))
    assert dict(store.scores.column(project, metric.signature)) == values, "they stay where they are"


@pytest.mark.parametrize(
    ("other", "found", "expected"),
    [
        (
            comet({A0: Value(0.75), B0: Value(0.5)}, OTHER),
            "1 score that differs: 0.5 for “B”, segment “0” of “doc”",
            "-0.25",
        ),
        (comet(higher=False), "lower is better", "higher is better, as in comet.seg.score"),
    ],
)
def test_conflicting_external_scores_change_nothing(
    store: Store, project: int, other: ExternalScores, found: str, expected: str
) -> None:
    add(store, project, comet())
    with pytest.raises(ImportProblems) as raised:
        store.projects.add(project, Dataset((Segment("new", "1", None),), ()), external=[other])
    [problem] = raised.value.problems
    assert (problem.got, problem.expected[: len(expected)]) == (found, expected)
    assert "replace" in problem.todo
    assert store.projects.get(project).n_segments == 3
    assert store.scores.column(project, SIGNATURE)[B0] == Value(-0.25)


def test_replaced_on_purpose_nothing_of_the_old_stays(store: Store, project: int) -> None:
    add(store, project, comet())
    assert add(store, project, comet({B0: Value(3.0)}, OTHER, higher=False), replace=("COMET",)).metric_scores == 1
    [metric] = store.scores.external(project)
    assert (metric.higher_is_better, metric.files, metric.n) == (False, (OTHER,), 1)
    assert dict(store.scores.column(project, metric.signature)) == {B0: Value(3.0)}
    assert dict(store.scores.column(project, SIGNATURE)) == {}


def test_a_score_of_an_output_that_is_not_there_is_refused(store: Store, project: int) -> None:
    with pytest.raises(ImportProblems, match="an output it belongs to"):
        add(store, project, comet({OutputKey("Z", "doc", "0"): Value(1.0)}))
    assert store.scores.external(project) == []


def test_a_metric_is_removed_by_name_and_only_it(store: Store, project: int) -> None:
    judge = ExternalScores("judge", True, (OTHER,), {A0: Value(4.0)})
    add(store, project, comet(), judge)
    store.scores.remove_external(project, "COMET")
    assert [by.metric for by in store.scores.signatures(project)] == ["external:judge"]
    with pytest.raises(UserError, match="no external metric"):
        store.scores.remove_external(project, "COMET")


def test_texts_and_scores_come_together_or_not_at_all(engine: Engine) -> None:
    store = store_over(engine)
    made = store.projects.create("p")
    before = counts(engine)
    with pytest.raises(ValueError, match="cannot be None"):
        store.projects.add(made.id, small_dataset(), external=[comet({A0: Value(None)})])
    with pytest.raises(ValueError, match="cannot be nan"):
        store.projects.add(made.id, small_dataset(), external=[comet({A0: Value(float("nan"))})])
    assert counts(engine) == before


def add_scored(store: Store) -> None:
    store.projects.add(1, small_dataset(), external=[comet()])


@pytest.mark.extended
def test_a_process_killed_in_the_middle_leaves_nothing_behind(url: str, engine: Engine, store: Store) -> None:
    store.projects.create("p")
    killed(url, add_scored, "INSERT INTO external_scores", 1)
    assert store.projects.get(1).n_outputs == 0
    assert store.scores.external(1) == []
    add_scored(store)
    assert len(store.scores.column(1, SIGNATURE)) == 3
