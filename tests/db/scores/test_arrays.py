"""Arrays that are kept in the database: when they are read again, and how much memory they take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import psutil
import pytest
from sqlalchemy import Connection, Engine, event, text

from core.columns import Scale, ScoreColumn
from core.data import Dataset, HumanScore, Output, OutputKey, Segment, Value
from core.errors import Unavailable
from core.ports.store import Store
from core.signature import content_key
from db.engine import connect, reading
from db.scores import arrays, repository
from db.scores.arrays import Kept, Places, ProjectArrays, cut_keys
from db.store import store_over
from tests.builders import small_dataset
from tests.stores import project_with
from tests.views import index_of

DATA = small_dataset(40)
SIGNATURE = "chrf|v:1"


@pytest.fixture(autouse=True)
def keep_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "FEW", 0)
    monkeypatch.setattr("db.scores.repository.FEW", 0)


@pytest.fixture
def project(store: Store) -> int:
    made = project_with(store, DATA)
    return made


@pytest.fixture
def another(engine: Engine) -> Iterator[Engine]:
    """The same database in an engine that has read nothing yet, as that of another process."""
    made = connect(engine.url.render_as_string(hide_password=False))
    yield made
    made.dispose()


def score(store: Store, first: int, last: int) -> None:
    items = [item for _, item in DATA.items()][first:last]
    store.scores.put(
        "chrf", SIGNATURE, {content_key(*item): Value(float(i)) for i, item in enumerate(items, first)}, 1.0
    )


def statements(engine: Engine) -> list[str]:
    run: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *a: run.append(a[2]))
    return run


def test_another_process_reads_the_kept_arrays_and_only_newer_runs(store: Store, project: int, another: Engine) -> None:
    score(store, 0, 30)
    first = store.scores.column(project, SIGNATURE)
    counted = store.scores.signatures(project)
    score(store, 30, 50)
    fresh, run = store_over(another), statements(another)
    assert fresh.projects.index(project) is not first.index
    assert not [sql for sql in run if "FROM outputs" in sql]
    both = fresh.scores.column(project, SIGNATURE)
    assert list(both.finite().values()) == [float(i) for i in range(50)]
    assert [s.n for s in fresh.scores.signatures(project)] == [counted[0].n + 20]


def test_a_kept_array_of_an_earlier_import_is_not_used(store: Store, project: int, another: Engine) -> None:
    score(store, 0, 80)
    assert store.scores.column(project, SIGNATURE).n == 80
    store.projects.add(project, small_dataset(45))
    fresh = store_over(another)
    column = fresh.scores.column(project, SIGNATURE)
    assert (column.n, column.index.n_outputs) == (80, 90)
    assert dict(column) == dict(fresh.scores.column(project, SIGNATURE))


def held_of(engine: Engine, held: ProjectArrays, *names: tuple[int, str]) -> list[tuple[int, str]]:
    """Those that are still in memory: none is in the database."""
    with reading(engine) as connection:
        return [name for name in names if held.kept(connection, *name, 0, lambda _: None) is not None]


def test_memory_is_bounded_over_all_arrays(engine: Engine) -> None:
    held = ProjectArrays(engine, memory=1000)
    for number in range(10):
        held.hold(number, "x", Kept(0, 0, number, nbytes=300))
    assert held_of(engine, held, *((n, "x") for n in range(10))) == [(7, "x"), (8, "x"), (9, "x")]


def test_places_are_forgotten_first(engine: Engine) -> None:
    held, places = ProjectArrays(engine, memory=1000), Places(np.zeros((1, 1)), np.zeros(1, dtype=np.int64))
    for name, value in (("a", 0), ("keys", places), ("b", 0), ("keys", places), ("c", 0)):
        held.hold(1, name, Kept(0, 0, value, nbytes=300))
    assert held_of(engine, held, (1, "keys"), (1, "a"), (1, "b"), (1, "c")) == [(1, "a"), (1, "b"), (1, "c")]
    held.hold(1, "d", Kept(0, 0, 0, nbytes=300))
    assert held_of(engine, held, (1, "a"), (1, "b"), (1, "c"), (1, "d")) == [(1, "b"), (1, "c"), (1, "d")]


def test_places_are_read_once_for_a_column_even_if_they_are_not_held(
    store: Store, project: int, another: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    human = [HumanScore(*output.key, "adequacy", float(i)) for i, output in enumerate(DATA.outputs)]
    store.projects.add(project, Dataset((), (), tuple(human)))
    monkeypatch.setattr(arrays, "AT_ONCE", 10)
    read: list[str] = []
    places, made = ProjectArrays.places, ProjectArrays.__init__
    monkeypatch.setattr(ProjectArrays, "__init__", lambda self, engine: made(self, engine, memory=1))

    def counted(self: ProjectArrays, connection: Connection, project_id: int, name: Literal["ids", "keys"]) -> Places:
        read.append(name)
        return places(self, connection, project_id, name)

    monkeypatch.setattr(ProjectArrays, "places", counted)
    assert store_over(another).projects.human_score(project, "adequacy").n == len(human) > 30
    assert read == ["ids"]


def test_a_kept_array_is_not_held_by_the_connection_that_wrote_it(engine: Engine, project: int) -> None:
    held, process = ProjectArrays(engine), psutil.Process()
    before = process.memory_info().rss
    held.keep(project, "x", Kept(0, 0, bytes(64 << 20)))
    assert process.memory_info().rss - before < 32 << 20
    with reading(engine) as connection:
        assert held.kept(connection, project, "x", 0, len) == Kept(0, 0, 64 << 20)


def test_an_index_counts_with_its_size_in_memory(project: int, engine: Engine) -> None:
    for _ in range(2):  # the second one is read from the database
        held = ProjectArrays(engine)
        index = held.index(project)
        with reading(engine) as connection:
            kept = held.kept(connection, project, "index", 1, lambda _: None)
        assert kept is not None
        assert kept.nbytes > index.lengths.nbytes + 100 * len(index.segments)


def test_kept_arrays_are_deleted_with_their_project(store: Store, project: int, engine: Engine) -> None:
    score(store, 0, 10)
    store.scores.column(project, SIGNATURE)
    store.projects.delete(project)
    with reading(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM project_arrays")).scalar() == 0


def test_storage_that_cannot_be_written_still_reads(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise Unavailable("the disk is full")

    monkeypatch.setattr(arrays, "writing", refuse)
    score(store, 0, 10)
    assert store.scores.column(project, SIGNATURE).n == 10


def test_a_column_is_stored_as_it_is() -> None:
    index, keys = index_of(DATA), [output.key for output in DATA.outputs]
    values = {keys[0]: Value(1.5, parts={"x": 2.0}), keys[3]: Value(None, "undefined", "empty 😀"), keys[4]: Value(0.0)}
    column = ScoreColumn.from_bytes(index, ScoreColumn.of(index, values).to_bytes())
    assert dict(column) == values
    assert (column.scale, column.n) == (Scale(1.5, False, ("x",)), 3)


@pytest.mark.parametrize("many", [0, 1000], ids=["joined in the database", "matched in memory"])
def test_new_scores_of_equal_texts_and_of_other_projects(
    store: Store, another: Engine, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "MANY", many)
    twice = Dataset(
        (Segment("d", "1", None, ("r",)),),
        (Output("a", "d", "1", "x"), Output("b", "d", "1", "x"), Output("c", "d", "1", "y")),
    )
    project, other = store.projects.create("p").id, store.projects.create("q").id
    store.projects.add(project, twice)
    store.projects.add(other, DATA)
    x, y = content_key(None, "x", ("r",)), content_key(None, "y", ("r",))
    store.scores.put("chrf", SIGNATURE, {x: Value(1.0, parts={"n": 2.0}), y: Value(None, "error", "no")}, 1.0)
    score(store, 0, 80)
    assert [(s.metric, s.n) for s in store.scores.signatures(project)] == [("chrf", 2)]
    assert dict(store.scores.column(project, SIGNATURE)) == dict(store.scores.column(project, SIGNATURE))
    store.scores.put("chrf", SIGNATURE, {y: Value(3.0)}, 1.0)
    fresh = store_over(another)
    assert [(s.metric, s.n) for s in fresh.scores.signatures(project)] == [("chrf", 3)]
    column = fresh.scores.column(project, SIGNATURE)
    assert dict(column) == dict(fresh.scores.column(project, SIGNATURE))
    assert column.finite()[OutputKey("c", "d", "1")] == 3.0


def test_new_scores_of_others_are_not_looked_up_in_the_outputs(store: Store, project: int, engine: Engine) -> None:
    score(store, 0, 80)
    store.scores.column(project, SIGNATURE)
    store.scores.signatures(project)
    store.scores.put("chrf", SIGNATURE, {"0" * 64: Value(1.0)}, 1.0)
    run = statements(engine)
    assert store.scores.column(project, SIGNATURE).n == 80
    assert [s.n for s in store.scores.signatures(project)] == [80]
    assert not [sql for sql in run if "outputs" in sql]


def test_names_are_found_wherever_they_stand_and_unknown_ones_left_out() -> None:
    names = np.array([[7, 3, 5, 3], [0, 1, 0, 2]])
    places = Places.of(names, np.array([10, 11, 12, 13]))
    at, which = places.find(np.array([[5, 3, 9, 3], [0, 2, 0, 9]]))
    assert sorted(zip(which.tolist(), at.tolist(), strict=True)) == [(0, 12), (1, 13)]


def test_equal_names_have_several_places() -> None:
    places = Places.of(np.array([[4, 4, 1]]), np.array([0, 1, 2]))
    at, which = places.find(np.array([[4, 1, 4]]))
    assert sorted(zip(which.tolist(), at.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 2), (2, 0), (2, 1)]
    assert [found.tolist() for found in places.find(np.zeros((1, 0), dtype=np.int64))] == [[], []]


def test_cut_keys_differ_in_any_of_their_first_32_digits() -> None:
    key = "0123456789abcdef" * 4
    others = [key[:i] + ("e" if key[i] == "f" else "f") + key[i + 1 :] for i in (0, 15, 16, 31)]
    names = cut_keys([key, *others, key[:63] + "0"])
    assert names.shape == (2, 6)
    assert len({tuple(name) for name in names.T.tolist()}) == 5
    assert cut_keys(()).shape == (2, 0)
