"""Imports in parts store the same rows as imports from memory, all or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from core.data import OutputKey, SegmentKey
from core.errors import ImportProblems, UserError
from core.formats.build import Builder
from core.formats.parsing.cells import FileTable, TableRow
from core.formats.streams.staged import StagedImport
from core.ports.files import ImportReport
from core.ports.labels import Action
from core.ports.store import Store
from core.progress import Cancelled, Progress, no_progress
from core.services.projects import adding as project_adding
from core.services.projects.adding import ImportTarget, StoredOutputs, add
from core.signature import content_key
from db.engine import reading
from db.imports import adding, slices
from db.lookup import outputs, segments
from db.store import open_store
from tests.builders import stop_when
from tests.core.formats.test_staged import COLUMNS, LONG
from tests.db.imports.test_imports_in_slices import age, killed, rows_of_transactions
from tests.db.raw import counts, scalar
from tests.paths import ROOT
from tests.stores import new_store, project_with

N = 60


def staged(rows: list[tuple[Any, ...]], mapping: Any = LONG, known: Any = None) -> StagedImport:
    builder = Builder(known)
    table = FileTable("t.csv", COLUMNS, [TableRow(i, row) for i, row in enumerate(rows, start=2)], (), "digest")
    builder.add(table, mapping)
    return builder.staged()


def many(n: int = N, systems: str = "AB", score: str = "0.5") -> list[tuple[Any, ...]]:
    return [("doc", f"{i}", f"s{i}", f"r{i}", None, s, f"{s}{i}", f"{i}", score) for i in range(n) for s in systems]


def content(store: Store, project: int) -> tuple[Any, ...]:
    d = store.projects.dataset(project)
    external = {
        m.name: (m[1], m.files, dict(store.scores.column(project, m.signature))) for m in store.scores.external(project)
    }
    read = (select(outputs.c.system, outputs.c.content_key, segments.c.doc_id, segments.c.segment_id)).join(segments)
    with reading(store.projects._engine) as connection:  # type: ignore[attr-defined]
        keys = {(row[0], *row[2:]): row[1] for row in connection.execute(read.where(segments.c.project_id == project))}
    texts = {s.key: s for s in d.segments}
    assert keys == {
        o.key: content_key(texts[o.key.segment].source, o.text, texts[o.key.segment].references) for o in d.outputs
    }
    return d.segments, d.outputs, set(d.human_scores), external


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "FIRST", 20)
    monkeypatch.setattr(slices, "MOST", 20)
    monkeypatch.setattr(adding, "SMALL", 50)


ROW = st.tuples(
    st.just("doc"), st.sampled_from("01234"), st.sampled_from(["s", None]), st.sampled_from(["r", ("r", "q"), None]), st.none(),
    st.sampled_from("AB"), st.sampled_from(["x", "x", "y", None]), st.sampled_from(["1", "2", None]),
    st.sampled_from(["0.5", "0.5", "1", None]),
)  # fmt: skip


@cache
def one_store() -> Store:
    return new_store()


class Model:
    """What a project should contain, as plain dictionaries."""

    def __init__(self) -> None:
        self.segments: dict[SegmentKey, tuple[str | None, tuple[str, ...]]] = {}
        self.outputs: dict[OutputKey, str] = {}
        self.scores: dict[tuple[OutputKey, str], float] = {}
        self.metric: dict[OutputKey, float | None] = {}

    def add(self, new: StagedImport, *, replace: bool) -> dict[str, int] | None:
        """Add an import; return the counts of what is new, or None if something contradicts what is there."""
        texts, external = new.dataset(), {k: v.value for s in new.external() for k, v in s.values.items()}
        n = dict.fromkeys(("segments", "sources", "references", "outputs", "human_scores", "metric_scores"), 0)
        segments, outputs, scores = dict(self.segments), dict(self.outputs), dict(self.scores)
        for s in texts.segments:
            source, references = segments.get(s.key, (None, ()))
            if None not in (source, s.source) and source != s.source:
                return None
            more = tuple((Counter(s.references) - Counter(references)).elements())
            n["segments"] += s.key not in segments
            n["sources"] += s.key in segments and source is None and s.source is not None
            n["references"] += len(more)
            segments[s.key] = (s.source if source is None else source), (*references, *more)
        for kind, stored, new_rows in (
            ("outputs", outputs, {o.key: o.text for o in texts.outputs}),
            ("human_scores", scores, {(OutputKey(*h[:3]), h.name): h.value for h in texts.human_scores}),
        ):
            if any(stored.get(key, value) != value for key, value in new_rows.items()):  # type: ignore[attr-defined]
                return None
            n[kind] = len(new_rows.keys() - stored.keys())  # type: ignore[attr-defined]
            stored |= new_rows  # type: ignore[operator]
        differ = any(None not in (v, self.metric.get(k)) and self.metric[k] != v for k, v in external.items())
        if differ and not replace:
            return None
        replaced = bool(external) and replace and (differ or external.keys() != self.metric.keys())
        before = {} if replaced else self.metric
        new_values = {k: v for k, v in external.items() if k not in before or (before[k] is None and v is not None)}
        n["metric_scores"] = len(new_values)
        self.segments, self.outputs, self.scores, self.metric = segments, outputs, scores, before | new_values
        return n


@settings(suppress_health_check=list(HealthCheck))
@given(
    files=st.lists(st.tuples(st.lists(ROW, min_size=1, max_size=8), st.booleans()), min_size=1, max_size=4),
    first=st.integers(1, 3),
    in_memory=st.booleans(),
)
def test_a_project_contains_all_that_was_imported(files: Any, first: int, in_memory: bool) -> None:
    store, model = one_store(), Model()
    project = store.projects.create(f"p{len(store.projects.list())}").id
    with pytest.MonkeyPatch.context() as monkey:
        monkey.setattr(adding, "SMALL", first)
        for rows, replaces in files:
            try:
                source = staged(rows)
            except ImportProblems:
                continue
            replace = ["COMET"] if replaces else []
            compared, expected = store.projects.compare(project, source, replace), model.add(source, replace=replaces)
            assert (compared.problems == ()) is (expected is not None)
            if expected is None:
                with pytest.raises(ImportProblems):
                    store.projects.add(project, source, replace=replace)
            elif in_memory:
                external = source.external()
                report = store.projects.add(project, source.dataset(), external=external, replace=replace)
                assert (report, expected.items()) == (compared.report, expected.items() & report._asdict().items())
            else:
                report = store.projects.add(project, source, replace=replace)
                assert (report, expected.items()) == (compared.report, expected.items() & report._asdict().items())
            segments, outputs, scores, external = content(store, project)
            assert {s.key: (s.source, s.references) for s in segments} == model.segments
            assert {o.key: o.text for o in outputs} == model.outputs
            assert {(OutputKey(*h[:3]), h.name): h.value for h in scores} == model.scores
            stored = {key: value.value for of in external.values() for key, value in of[2].items()}
            assert stored == model.metric


@pytest.mark.parametrize("known", [False, True], ids=["with outputs", "scores only"])
def test_a_large_import_is_complete(store: Store, engine: Engine, known: bool) -> None:
    project = store.projects.create("p").id
    report = store.projects.add(project, staged(many()))
    assert (report.segments, report.outputs, report.references, report.human_scores) == (N, 2 * N, N, 2 * N)
    assert (report.metric_scores, report.unchanged) == (2 * N, 0)
    again = store.projects.add(project, staged(many()))
    assert sum(again) == again.unchanged == 2 * N * 3 + 2 * N
    if known:
        mapping = LONG.with_(output=None, source=None, references=(), human_scores=())
        scores = staged(many(score="1"), mapping, StoredOutputs(store, store.projects.get(project)))
        with pytest.raises(ImportProblems, match=f"{2 * N} scores that differ"):
            store.projects.add(project, scores)
        assert store.projects.add(project, scores, replace=["COMET"]).metric_scores == 2 * N
    more = store.projects.add(project, staged(many(systems="ABC", score="1" if known else "0.5")))
    assert (more.outputs, more.human_scores, more.metric_scores) == (N, N, N)
    assert store.projects.get(project).systems == ("A", "B", "C")
    keys = [OutputKey(system, "doc", segment) for system in "AZ" for segment in ("7", "x")]
    assert store.projects.present(project, keys) == {keys[0]}


@pytest.mark.parametrize("there", [False, True], ids=["empty", "with outputs"])
def test_a_cancelled_import_leaves_nothing(store: Store, engine: Engine, there: bool) -> None:
    if there:
        store.projects.add(store.projects.create("p").id, staged(many(10)))
    before = counts(engine)
    target = ImportTarget("p", store.projects.list()[0].id if there else None)
    for share in (0.0, 0.3, 0.9):
        with pytest.raises(Cancelled):
            add(store, target, staged(many()), progress=stop_when(lambda at, share=share: at >= share))
        assert counts(engine) == before, share
        assert [p.n_outputs for p in store.projects.list()] == ([20] if there else []), share


def test_a_contradiction_in_the_last_part_changes_nothing(store: Store, engine: Engine) -> None:
    project = project_with(store, staged(many()))
    before = counts(engine)
    rows = many(systems="ABC")
    rows[-1] = (*rows[-1][:6], "another text", *rows[-1][7:])
    rows[-3] = (*rows[-3][:6], "another text", *rows[-3][7:])
    with pytest.raises(ImportProblems) as caught:
        store.projects.add(project, staged(rows))
    assert [p.column for p in caught.value.problems] == ["output of system “A”, document “doc”, segment “59”"]
    assert counts(engine) == before


def additions() -> tuple[StagedImport, StagedImport]:
    """What a project has; and what adds sources, references, a system and human scores, and replaces the values of a metric."""
    more = [(*row[:3], (row[3], "another"), *row[4:]) for row in many(systems="ABC", score="1")]
    return staged([(*row[:2], None, *row[3:]) for row in many()]), staged(more)


def add_more(store: Store, progress: Progress = no_progress) -> ImportReport:
    """Add to the first project in small slices."""
    slices.FIRST = slices.MOST = 20
    adding.SMALL = 50
    return store.projects.add(store.projects.list()[0].id, additions()[1], progress=progress, replace=["COMET"])


def test_what_is_added_in_slices_is_seen_when_all_is_written(store: Store, engine: Engine) -> None:
    project, whole = (store.projects.create(name).id for name in ("p", "whole"))
    first, more = additions()
    for one in (project, whole):
        store.projects.add(one, first)
    report = store.projects.add(whole, more.dataset(), external=more.external(), replace=["COMET"])
    before, n, rows_of = content(store, project), list[int](), rows_of_transactions(engine)

    def save(share: float) -> None:
        """Another reads, and saves a label in the same project."""
        assert content(store, project) == before
        store.labels.append(
            project, "ann", SegmentKey("doc", "7"), [Action(f"a{len(n)}", "verdict", "A", {"value": "no_error"})]
        )
        n.append(0)
        if share > 0.9:
            for refused in (
                lambda: store.projects.add(project, first),
                lambda: store.scores.remove_external(project, "COMET"),
            ):
                with pytest.raises(UserError, match="another import into the project “p” is running"):
                    refused()

    assert add_more(store, save) == report
    assert sum(rows_of) > 600
    assert max(rows_of) <= 50, "others wait for as many rows"
    assert content(store, project) == content(store, whole)
    assert scalar(engine, "SELECT count(*) FROM projects") == 2


@pytest.mark.extended
def test_an_interrupted_addition_leaves_a_project_as_it_was(url: str, engine: Engine, store: Store) -> None:
    project = project_with(store, additions()[0])
    before, seen = counts(engine), content(store, project)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    def interrupted(share: float) -> None:
        """Interrupt the import so that it cannot clean up; another process does that later."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(slices.SlicedWriter, "remove", stop)
            add_more(store, stop_when(lambda done: done > share))

    for share in (0.55, 0.65, 0.8, 0.97):
        with pytest.raises((Cancelled, KeyboardInterrupt)):
            interrupted(share)
        assert (counts(engine) != before) is (share > 0.6)
        assert content(store, project) == seen
        age(engine, slices.INTERRUPTED_SECONDS + 1)
        open_store(url)
        assert counts(engine) == before
        assert content(store, project) == seen
    acts = {(entry.act, *entry.details.values()) for entry in store.audit.entries(project)}
    assert acts == {("interrupted import removed", "p")}
    with pytest.raises(KeyboardInterrupt):  # when all is seen, and the values that were replaced are left
        interrupted(1.0)
    done = content(store, project)
    assert done != seen
    age(engine, slices.INTERRUPTED_SECONDS + 1)
    open_store(url)
    assert content(store, project) == done
    assert counts(engine)["external_scores"] == 3 * N


@pytest.mark.extended
def test_a_killed_addition_leaves_a_project_as_it_was(url: str) -> None:
    store = open_store(url)
    project = project_with(store, additions()[0])
    before = content(store, project)
    for nth, statement in (
        (2, "UPDATE outputs"),
        (3, "INSERT INTO external_scores"),
        (1, "UPDATE projects SET cleanup"),
    ):
        killed(url, add_more, statement, nth)
        assert content(store, project) == before
        with pytest.raises(UserError, match="another import into the project “p” is running"):
            add_more(store)
        age(store.projects._engine, slices.INTERRUPTED_SECONDS + 1)  # type: ignore[attr-defined]
    add_more(store)
    assert len(store.projects.dataset(project).outputs) == 3 * N


@pytest.mark.extended
def test_the_memory_of_an_import_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(n: int) -> int:
        path = tmp_path / f"{n}.csv"
        with path.open("w", encoding="utf-8") as file:
            file.write("doc_id,segment_id,source,reference,system,output\n")
            for i in range(n):
                file.write(
                    f"d,{i // 4},source {i // 4} {'x' * 400},reference {i // 4} {'y' * 400},S{i % 4},output {i} {'z' * 400}\n"
                )
        code = (
            "import resource, sys; from tests.cli.program import status_of; assert status_of('projects', *sys.argv[1:]) == 0; "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        command = [sys.executable, "-c", code, "--database", f"sqlite:///{tmp_path}/{n}.db", "import", str(path)]
        ended = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=os.environ)
        return int(ended.stdout.split()[-1])

    small, large = peak(400), peak(40_000)
    assert large - small < 80_000, "kB; the texts of the large file alone have 48 MB, and took 250 MB in memory"


def test_outputs_become_references_in_parts_all_or_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_adding, "OUTPUTS", 4)  # 30 parts of 10 segments
    project = add(store, ImportTarget("p"), staged(many())).project
    before = content(store, project.id)
    for share in (0.3, 0.8):  # while it is planned, and while it is written
        with pytest.raises(Cancelled):
            project_adding.use_as_references(store, project.id, "B", stop_when(lambda done, share=share: done >= share))
        assert content(store, project.id) == before
    done = project_adding.use_as_references(store, project.id, "B")
    assert done.report == ImportReport(segments=0, outputs=0, references=N, human_scores=0, unchanged=N)
    dataset = store.projects.dataset(project.id)
    assert [s.references for s in dataset.segments] == [(f"r{i}", f"B{i}") for i in range(N)]
    assert done.project.imports == project.imports + 1
