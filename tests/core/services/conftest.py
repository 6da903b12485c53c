from collections.abc import Iterator

import pytest

from core.ports.store import Store
from db.engine import connect
from db.store import store_over
from tests.stores import close_stores, new_store
from tests.templates import empty_database


@pytest.fixture(autouse=True)
def _close_stores() -> Iterator[None]:
    yield
    close_stores()


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for all examples of a property, each of which has a project of its own."""
    engine = connect(empty_database(tmp_path_factory.mktemp("shared") / "errorscope.db"))
    yield store_over(engine)
    engine.dispose()


@pytest.fixture
def store() -> Store:
    return new_store()
