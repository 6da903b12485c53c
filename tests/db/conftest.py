from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from core.ports.store import Store
from db.engine import connect
from db.store import store_over
from tests.postgres import POSTGRES, postgres_database
from tests.stores import project_with
from tests.templates import empty_database


@pytest.fixture(params=["sqlite", POSTGRES])
def database(request: pytest.FixtureRequest) -> str:
    """The kind of database. Tests about one kind are marked with `on_sqlite` or `on_postgres` of tests/postgres.py."""
    return str(request.param)


@pytest.fixture
def url(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """An address without tables, unless the test asks for the engine or the store too."""
    if database == "sqlite":
        yield f"sqlite:///{tmp_path / 'home' / 'errorscope.db'}"
        return
    with postgres_database(empty="engine" not in request.fixturenames) as made:
        yield made


@pytest.fixture
def engine(database: str, url: str, tmp_path: Path) -> Iterator[Engine]:
    """A database with its tables: a copy of one that `migrate` made."""
    if database == "sqlite":
        assert empty_database(tmp_path / "home" / "errorscope.db") == url
    engine = connect(url)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> Store:
    return store_over(engine)


@pytest.fixture
def project(store: Store) -> int:
    """A project with 3 segments and 2 systems."""
    return project_with(store)
