"""Whole databases are copied between SQLite and PostgreSQL, with every row checked."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from core.data import SegmentKey
from core.errors import UserError
from core.ports.labels import Action
from db import database_copy
from db.database_copy import copy_database
from db.engine import connect, writing
from db.store import open_store
from tests.db.raw import counts, rows
from tests.db.test_migrations import full_at_version, past_versions
from tests.fakes import small_dataset
from tests.postgres import POSTGRES, on_both, on_postgres, postgres_database

FIRST = SegmentKey("doc", "0")


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[Any]:
    """Return a new URL of a kind: without tables, and on PostgreSQL an empty database."""
    numbers = count()
    with ExitStack() as stack:

        def new(kind: str) -> str:
            if kind == "sqlite":
                return f"sqlite:///{tmp_path / f'copy{next(numbers)}.db'}"
            return stack.enter_context(postgres_database(empty=True))

        yield new


@pytest.fixture
def full(url: str) -> Iterator[Engine]:
    """A database with a row in every table but timings, whose newest project was deleted."""
    engine = full_at_version(url, past_versions()[-1])
    store = open_store(url)
    store.projects.delete(store.projects.create("deleted").id)
    store.projects.add(store.projects.create("news").id, small_dataset(1200))
    with writing(engine) as connection:
        connection.execute(text("UPDATE scores SET value = :v, detail = :d"), {"v": 0.1 + 0.2, "d": b"\0\xff"})
        connection.execute(text("UPDATE human_scores SET value = 1e300"))
    yield engine
    engine.dispose()


def content(url: str) -> dict[str, list[tuple[object, ...]]]:
    engine = connect(url)
    tables = [*counts(engine), "signatures", "runs"]
    found = {name: sorted((plain(row) for row in rows(engine, f"SELECT * FROM {name}")), key=repr) for name in tables}
    engine.dispose()
    return found


def plain(row: tuple[object, ...]) -> tuple[object, ...]:
    """Return a row of SQLite or PostgreSQL with times that are written alike."""
    return tuple(cell.removesuffix(".000000") if isinstance(cell, str) else cell for cell in row)


@pytest.mark.parametrize("kind", ["sqlite", POSTGRES])
def test_a_copy_has_every_row_and_goes_on_with_the_ids(full: Engine, url: str, kind: str, databases: Any) -> None:
    told: list[float] = []
    target = databases(kind)
    copied = copy_database(url, target, told.append)
    assert (copied.projects, copied.events, copied.rows["outputs"]) == (2, 1, 2401)
    assert told == sorted(told)
    assert told[-1] == 1.0
    old, new = open_store(url), open_store(target)
    for project in old.projects.list():
        assert new.projects.get(project.id) == project
        assert new.projects.dataset(project.id) == old.projects.dataset(project.id)
        assert new.labels.events(project.id) == old.labels.events(project.id)
        assert new.stress.list(project.id) == old.stress.list(project.id)
        assert new.calibrations.list(project.id) == old.calibrations.list(project.id)
    if old_kind(url) == kind:
        assert content(target) == content(url)
    assert new.campaigns.list(1) == old.campaigns.list(1) != []
    new.projects.delete(4)
    assert new.projects.create("next").id == old.projects.create("next").id == 5
    new.labels.append(1, "ann", SegmentKey("d", "1"), [Action("a2", "verdict", "A", {"value": "no_error"})])
    assert new.labels.newest(1) == 2


def old_kind(url: str) -> str:
    return "sqlite" if url.startswith("sqlite") else "postgresql"


@on_both
def test_only_an_empty_database_is_a_target(full: Engine, url: str, databases: Any, database: str) -> None:
    target = databases(database)
    open_store(target).projects.create("mine")
    before = content(target)
    with pytest.raises(UserError, match="the target is not empty.*1 in projects"):
        copy_database(url, target)
    with pytest.raises(UserError, match="the target is not empty"):
        copy_database(url, url)
    assert content(target) == before


@on_both
def test_a_copy_that_differs_is_not_kept(
    full: Engine, url: str, databases: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = databases(database)
    insert = database_copy._insert

    def lossy(copy: Connection, rows: Any, some: Any) -> None:
        insert(copy, rows, some)
        if rows.name == "outputs":
            copy.execute(text("UPDATE outputs SET text = 'x' WHERE text = 'output'"))

    with monkeypatch.context() as patched:
        patched.setattr(database_copy, "_insert", lossy)
        with pytest.raises(UserError, match=r"table outputs: the copy differs.*other values"):
            copy_database(url, target)
    engine = connect(target)
    assert set(counts(engine).values()) == {0}
    engine.dispose()
    assert copy_database(url, target).projects == 2


@on_postgres
def test_a_text_that_the_target_cannot_store_is_named(url: str, databases: Any) -> None:
    source = databases("sqlite")
    store = open_store(source)
    store.projects.add(store.projects.create("p").id, small_dataset())
    engine = connect(source)
    with writing(engine) as connection:
        connection.execute(text("UPDATE outputs SET text = :t WHERE id = 2"), {"t": "nul \0"})
    engine.dispose()
    with pytest.raises(UserError, match="table outputs.*cannot store this table.*NUL"):
        copy_database(source, url)
    assert open_store(url).projects.list() == []


@on_both
def test_a_database_of_another_version_is_not_copied(url: str, databases: Any, database: str) -> None:
    full_at_version(url, "0005").dispose()
    with pytest.raises(UserError, match="another version.*0005"):
        copy_database(url, databases(database))
    with pytest.raises(UserError, match="no tables|there is no database"):
        copy_database(databases(database), url)
