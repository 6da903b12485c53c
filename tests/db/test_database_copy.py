"""Whole databases are copied between SQLite and PostgreSQL, with every row checked."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from core.data import SegmentKey
from core.errors import UserError
from core.ports.labels import Action
from db.database_copy import copy_database
from db.engine import connect, migrate, writing
from db.store import open_store, store_over
from tests.builders import small_dataset
from tests.db.raw import counts, load_frozen, rows
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
    """A database with a row in every table, whose newest project was deleted."""
    load_frozen(url)
    engine = connect(url)
    migrate(engine)
    store = store_over(engine)
    store.projects.add(store.projects.create("news").id, small_dataset(1200))  # more rows than are copied at once
    store.projects.delete(store.projects.create("deleted").id)
    with writing(engine) as connection:
        connection.execute(text("UPDATE human_scores SET value = 1e300"))
    yield engine
    engine.dispose()


def content(url: str) -> dict[str, list[tuple[object, ...]]]:
    engine = connect(url)
    tables = [*counts(engine), "signatures", "runs"]
    tables_rows = {
        name: sorted((plain(row) for row in rows(engine, f"SELECT * FROM {name}")), key=repr) for name in tables
    }
    engine.dispose()
    return tables_rows


def plain(row: tuple[object, ...]) -> tuple[object, ...]:
    """Return a row of SQLite or PostgreSQL with times that are written alike."""
    return tuple(cell.removesuffix(".000000") if isinstance(cell, str) else cell for cell in row)


@pytest.mark.parametrize("kind", ["sqlite", POSTGRES])
def test_a_copy_has_every_row_and_goes_on_with_the_ids(full: Engine, url: str, kind: str, databases: Any) -> None:
    shares: list[float] = []
    target = databases(kind)
    copied = copy_database(url, target, shares.append)
    assert (copied.projects, copied.events, copied.rows["outputs"]) == (3, 12, 2413)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
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
    new.projects.delete(6)
    assert new.projects.create("next").id == old.projects.create("next").id == 8
    new.labels.append(1, "ann", SegmentKey("d", "1"), [Action("a2", "verdict", "A", {"value": "no_error"})])
    assert new.labels.newest(1) == 13


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


LOSSY = {
    "sqlite": [
        "CREATE TRIGGER lossy AFTER INSERT ON outputs WHEN NEW.text = 'output' "
        "BEGIN UPDATE outputs SET text = 'x' WHERE id = NEW.id; END"
    ],
    "postgresql": [
        "CREATE FUNCTION lossy() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF NEW.text = 'output' THEN NEW.text := 'x'; END IF; RETURN NEW; END $$",
        "CREATE TRIGGER lossy BEFORE INSERT ON outputs FOR EACH ROW EXECUTE FUNCTION lossy()",
    ],
}
"""Statements after which a database stores another text than it is given."""


@on_both
def test_a_copy_that_differs_is_not_kept(full: Engine, url: str, databases: Any, database: str) -> None:
    target = databases(database)
    engine = connect(target)
    migrate(engine)
    with writing(engine) as connection:
        for statement in LOSSY[database]:
            connection.exec_driver_sql(statement)
    with pytest.raises(UserError, match=r"table outputs: the copy differs.*other values"):
        copy_database(url, target)
    assert set(counts(engine).values()) == {0}
    with writing(engine) as connection:
        connection.exec_driver_sql("DROP TRIGGER lossy" + (" ON outputs" if database == "postgresql" else ""))
    engine.dispose()
    assert copy_database(url, target).projects == 3


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
    load_frozen(url)
    engine = connect(url)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0005'"))
    engine.dispose()
    with pytest.raises(UserError, match="another version.*0005"):
        copy_database(url, databases(database))
    with pytest.raises(UserError, match="no tables|there is no database"):
        copy_database(databases(database), url)
