"""Labels for a project with texts are written in slices: nobody sees them before all are written, and no reader misses one then."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from core.data import Dataset, Judgement, OutputKey, RatedOutput, SegmentKey, Span
from core.mqm.log import fold
from core.ports.labels import Action
from core.ports.store import Store
from core.progress import Cancelled, Progress, no_progress
from core.services.labels.kept_labels import KeptLabels
from core.services.projects.adding import ImportTarget
from core.services.projects.label_import import LabelFiles, import_labels
from db.engine import writing
from db.imports import adding, slices
from db.store import open_store
from tests.builders import small_dataset, stop_when
from tests.db.imports.test_imports_in_slices import age, rows_of_transactions
from tests.db.raw import rows
from tests.stores import project_with

N = 40
TEXTS = small_dataset(N)
SPAN = Span("output", 0, 1, "A", "Major", "Accuracy/Mistranslation")
LABELS = LabelFiles(
    Dataset(TEXTS.segments, TEXTS.outputs),
    tuple(RatedOutput(OutputKey("A", *s.key), rater, (SPAN,)) for s in TEXTS.segments for rater in ("ann", "new")),
    judgements=tuple(Judgement(o.key, "new", "fluency", 1.0) for o in TEXTS.outputs),
)


@pytest.fixture(autouse=True)
def many_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding, "SMALL", 20)
    monkeypatch.setattr(slices, "FIRST", 20)
    monkeypatch.setattr(slices, "MOST", 20)


def verdict(name: str) -> Action:
    return Action(name, "verdict", "B", {"value": "no_error"})


def key(number: int) -> SegmentKey:
    return TEXTS.segments[number].key


@pytest.fixture
def project(store: Store) -> int:
    """A project with labels of ann and bob."""
    made = project_with(store, TEXTS)
    store.labels.append(made, "ann", key(0), [verdict("first")])
    store.labels.append(made, "bob", key(1), [verdict("second")])
    return made


def add_labels(store: Store, project: int, progress: Progress = no_progress) -> Any:
    return import_labels(store, ImportTarget("p", project), LABELS, progress)


def test_readers_see_all_labels_of_an_import_at_once(store: Store, engine: Engine, url: str, project: int) -> None:
    reader, kept, seen, written = open_store(url), KeptLabels(project), list[int](), rows_of_transactions(engine)
    before = store.labels.events(project)

    def look(share: float) -> None:
        """Another saves a label, and readers keep what they have read."""
        saved = verdict(f"saved {len(seen)}")
        store.labels.append(project, "bob", key(len(seen) % N), [saved])
        events = reader.labels.events(project)
        assert [e.action.id for e in events] == [
            *(e.action.id for e in before),
            *(f"saved {i}" for i in range(len(seen) + 1)),
        ]
        assert reader.labels.raters(project) == ["ann", "bob"]
        assert reader.labels.judgements(project) == []
        assert reader.projects.get(project).judged == ()
        kept.read(reader, [])
        for rater in ("ann", "new"):
            reader.labels.of_rater(project, rater)
        seen.append(events[-1].number)
        assert reader.labels.newest(project) == seen[-1]

    done = add_labels(store, project, look)
    assert (done.labelled, done.report.judgements, done.notes) == (2 * N, 2 * N, ())
    assert len(seen) > 10
    assert max(written) <= 50, "others wait for as many rows"
    everything = store.labels.events(project)
    assert len(everything) == len(before) + len(seen) + 4 * N
    assert reader.labels.newest(project) == everything[-1].number > seen[-1]
    for number in seen:
        later = reader.labels.events(project, after=number)
        assert {e.action.id for e in later} == {
            e.action.id for e in everything if e.number > number or e.action.id.startswith("import-")
        }
    assert reader.labels.events(project, after=everything[-1].number) == []
    known, fresh = (sorted(map(repr, of.read(reader, [])[0])) for of in (kept, KeptLabels(project)))
    assert known == fresh
    assert len(fresh) == 2 * N
    for rater in ("ann", "bob", "new"):
        by_segment, labels = reader.labels.of_rater(project, rater), fold(everything)
        assert {key: of.labels for key, of in by_segment.items()} == {
            place[1]: of for place, of in labels.items() if place[0] == rater
        }
    assert reader.labels.judgements(project) == list(LABELS.judgements)
    assert add_labels(store, project).labelled == 0


def test_a_rater_at_work_during_the_import_keeps_own_labels(store: Store, project: int) -> None:
    done: list[float] = []

    def save(share: float) -> None:
        if share > 0.9 and not done:
            done.append(share)
            store.labels.append(project, "ann", key(5), [verdict("own")])

    imported = add_labels(store, project, save)
    assert imported.labelled == imported.report.labelled == 2 * N - 1
    assert [note for note in imported.notes if "during the import" in note] == [imported.notes[-1]]
    assert [e.action.id for e in store.labels.events(project, rater="ann", segment=key(5))] == ["own"]
    store.labels.append(project, "ann", key(5), [verdict("more")])
    assert add_labels(store, project).labelled == 1


def test_an_interrupted_import_of_labels_leaves_no_trace(
    store: Store, engine: Engine, url: str, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recorded() -> tuple[object, ...]:
        return (
            rows(engine, "SELECT * FROM events ORDER BY number"),
            rows(engine, "SELECT * FROM judgements"),
            len(rows(engine, "SELECT id FROM projects")),
        )

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = recorded()
    with pytest.raises(Cancelled):
        add_labels(store, project, stop_when(lambda share: share > 0.9))
    assert recorded() == before
    with monkeypatch.context() as patched:
        patched.setattr(slices.SlicedWriter, "remove", stop)
        with pytest.raises(KeyboardInterrupt):
            add_labels(store, project, stop_when(lambda share: share > 0.9))
    assert recorded() != before
    age(engine, slices.INTERRUPTED_SECONDS + 1)
    open_store(url)
    assert recorded() == before
    add_labels(store, project)
    for statement in ("DELETE FROM events WHERE added_by IS NOT NULL", "UPDATE events SET added_by = NULL"):
        with pytest.raises(DBAPIError, match="append-only"), writing(engine) as connection:
            connection.execute(text(statement))
