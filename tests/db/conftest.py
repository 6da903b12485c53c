from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from core.ports import Store
from db.engine import connect, migrate
from db.store import store_over


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'home' / 'errorscope.db'}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = connect(url)
    migrate(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def store(engine: Engine) -> Store:
    return store_over(engine)
