from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from core.ports.store import Store
from db.engine import connect
from db.store import store_over
from tests.templates import empty_database


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'home' / 'errorscope.db'}"


@pytest.fixture
def engine(tmp_path: Path, url: str) -> Iterator[Engine]:
    """A database with its tables: a copy of one that `migrate` made."""
    engine = connect(empty_database(tmp_path / "home" / "errorscope.db"))
    assert engine.url.render_as_string() == url
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> Store:
    return store_over(engine)
