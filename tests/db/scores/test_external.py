"""External scores: metrics like any other, which belong to outputs."""

import hashlib
import subprocess
import sys
import textwrap

import pytest
from sqlalchemy import Engine

from core.data import Dataset, ExternalScores, Output, OutputKey, Segment, SegmentKey, SourceFile, Value
from core.errors import ImportProblems, UserError
from core.ports.projects import ImportReport
from core.ports.store import Store
from core.signature import content_key
from db.store import open_store, store_over
from tests.builders import small_dataset
from tests.db.raw import counts, scalar
from tests.paths import ROOT

FIRST = SegmentKey("doc", "0")
A0, A1, B0 = OutputKey("A", "doc", "0"), OutputKey("A", "doc", "1"), OutputKey("B", "doc", "0")
FILE, OTHER = SourceFile("comet.seg.score", "ab" * 32), SourceFile("more.csv", "cd" * 32)
NONE = Value(None, "undefined", "comet.seg.score gives no score here")
SIGNATURE = f"external|name:COMET|direction:higher|file:comet.seg.score|sha256:{'ab' * 32}"


def comet(values: dict[OutputKey, Value] | None = None, file: SourceFile = FILE, higher: bool = True) -> ExternalScores:
    return ExternalScores("COMET", higher, (file,), values or {A0: Value(0.75), A1: NONE, B0: Value(-0.25)})


@pytest.fixture
def project(store: Store) -> int:
    made = store.projects.create("news")
    store.projects.add(made.id, small_dataset())
    return made.id


def add(store: Store, project: int, *given: ExternalScores, replace: tuple[str, ...] = ()) -> ImportReport:
    return store.projects.add(project, Dataset((), ()), external=given, replace=replace)


def test_scores_from_elsewhere_are_one_more_metric_of_the_project(store: Store, project: int) -> None:
    store.scores.put("chrf", "chrf|v:1", {content_key(*small_dataset().items()[0][1]): Value(50.0)}, 0.1)
    assert add(store, project, comet()) == ImportReport(0, 0, 0, 0, 0, metric_scores=3)
    ours, theirs = store.scores.signatures(project)
    assert (ours.metric, theirs.metric, theirs.signature, theirs.n) == ("chrf", "external:COMET", SIGNATURE, 3)
    assert store.scores.table(project, SIGNATURE) == {A0: Value(0.75), B0: Value(-0.25), A1: NONE}
    assert list(store.scores.table(project, SIGNATURE)) == [A0, B0, A1]
    assert store.scores.detail(project, SIGNATURE, FIRST) == {"A": Value(0.75), "B": Value(-0.25)}
    assert store.scores.known(SIGNATURE, [content_key(*small_dataset().items()[0][1])]) == set()
    assert store.projects.dataset(project).human_scores == ()


def test_equal_texts_of_two_systems_have_their_own_scores(store: Store) -> None:
    made = store.projects.create("twins")
    same = Dataset((Segment("d", "1", None),), (Output("A", "d", "1", "x"), Output("B", "d", "1", "x")))
    values = {OutputKey("A", "d", "1"): Value(1.0), OutputKey("B", "d", "1"): Value(2.0)}
    store.projects.add(made.id, same, external=[comet(values)])
    assert store.scores.table(made.id, SIGNATURE) == values


def test_another_project_with_the_same_texts_has_none(store: Store, project: int) -> None:
    add(store, project, comet())
    second = store.projects.create("second")
    store.projects.add(second.id, small_dataset())
    assert store.scores.signatures(second.id) == []
    assert store.scores.table(second.id, SIGNATURE) == {}


def test_a_new_reference_leaves_them_where_they_are(store: Store, project: int) -> None:
    add(store, project, comet())
    store.projects.add(project, Dataset((Segment("doc", "0", None, ("second reference",)),), ()))
    assert store.scores.table(project, SIGNATURE)[A0] == Value(0.75)


def test_the_same_file_again_changes_nothing(store: Store, project: int) -> None:
    add(store, project, comet())
    before = store.scores.external(project)
    assert add(store, project, comet()) == ImportReport(0, 0, 0, 0, unchanged=3)
    assert add(store, project, comet(), replace=("COMET",)).metric_scores == 0
    assert store.scores.external(project) == before


def test_further_external_scores_are_merged(store: Store, project: int) -> None:
    add(store, project, comet())
    b1 = OutputKey("B", "doc", "1")
    report = add(store, project, comet({A0: Value(0.75), A1: Value(0.5), b1: Value(0.0)}, OTHER))
    assert (report.metric_scores, report.unchanged) == (2, 1)
    [metric] = store.scores.external(project)
    assert (metric.files, metric.n) == ((FILE, OTHER), 4)
    digest = hashlib.sha256(f"{FILE.sha256}\n{OTHER.sha256}".encode()).hexdigest()
    assert metric.signature == f"external|name:COMET|direction:higher|file:comet.seg.score + more.csv|sha256:{digest}"
    values = {A0: Value(0.75), B0: Value(-0.25), A1: Value(0.5), b1: Value(0.0)}
    assert store.scores.table(project, metric.signature) == values


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
    assert store.scores.table(project, SIGNATURE)[B0] == Value(-0.25)


def test_replaced_on_purpose_nothing_of_the_old_stays(store: Store, project: int) -> None:
    add(store, project, comet())
    assert add(store, project, comet({B0: Value(3.0)}, OTHER, higher=False), replace=("COMET",)).metric_scores == 1
    [metric] = store.scores.external(project)
    assert (metric.higher_is_better, metric.files, metric.n) == (False, (OTHER,), 1)
    assert store.scores.table(project, metric.signature) == {B0: Value(3.0)}
    assert store.scores.table(project, SIGNATURE) == {}


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


def test_a_deleted_project_takes_them_along(engine: Engine) -> None:
    store = store_over(engine)
    made = store.projects.create("p")
    store.projects.add(made.id, small_dataset(), external=[comet()])
    assert scalar(engine, "SELECT count(*) FROM external_scores") == 3
    store.projects.delete(made.id)
    assert scalar(engine, "SELECT count(*) FROM external_scores") == 0
    assert scalar(engine, "SELECT count(*) FROM external_metrics") == 0


def test_texts_and_scores_come_together_or_not_at_all(engine: Engine) -> None:
    store = store_over(engine)
    made = store.projects.create("p")
    before = counts(engine)
    with pytest.raises(ValueError, match="cannot be None"):
        store.projects.add(made.id, small_dataset(), external=[comet({A0: Value(None)})])
    with pytest.raises(ValueError, match="cannot be nan"):
        store.projects.add(made.id, small_dataset(), external=[comet({A0: Value(float("nan"))})])
    assert counts(engine) == before


@pytest.mark.extended
def test_a_process_killed_in_the_middle_leaves_nothing_behind(url: str) -> None:
    made = open_store(url).projects.create("p")
    script = f"""
        import os, signal
        from sqlalchemy import event
        from core.data import ExternalScores, OutputKey, SourceFile, Value
        from db.engine import connect
        from db.store import store_over
        from tests.builders import small_dataset
        engine = connect({url!r})

        def strike(connection, cursor, statement, *rest):
            if statement.startswith("INSERT INTO external_scores"):
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(engine, "after_cursor_execute", strike)
        values = {{OutputKey("A", "doc", "0"): Value(1.0)}}
        given = ExternalScores("COMET", True, (SourceFile("f", "0"),), values)
        store_over(engine).projects.add({made.id}, small_dataset(), external=[given])
    """
    root = ROOT
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=root, check=False, capture_output=True)
    assert ended.returncode == -9, ended.stderr.decode()
    store = open_store(url)
    assert store.projects.get(made.id).n_outputs == 0
    assert store.scores.external(made.id) == []
    store.projects.add(made.id, small_dataset(), external=[comet()])
    assert len(store.scores.table(made.id, SIGNATURE)) == 3
